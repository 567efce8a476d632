//! One name, and the numbers under it by label.

use std::fmt;

use machinery::prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use machinery::prometheus_client::metrics::counter::Counter;
use machinery::prometheus_client::metrics::family::{Family, MetricConstructor};
use machinery::prometheus_client::metrics::gauge::Gauge;
use machinery::prometheus_client::metrics::histogram::Histogram;
use machinery::prometheus_client::metrics::{MetricType, TypedMetric};
use machinery::prometheus_client::registry::Metric;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Described {
    /// Its name, without what all begin with, and without `_total`.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// How it is shown.
    pub shape: Shape,
    /// By what it is told apart.
    pub labels: &'static [&'static str],
}

/// How a metric is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Times, in seconds, with these bounds.
    Seconds(&'static [f64]),
    /// Sizes of something, with these bounds.
    Sizes(&'static [f64]),
    /// What only grows.
    Counter,
    /// What comes and goes.
    Gauge,
}

/// Bounds for a call to a server or a switch.
pub(super) const CALL: &[f64] = &[-0.125, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// From a client's write until something is there. Those below zero show clocks that differ.
pub(super) const END_TO_END: &[f64] =
    &[-0.125, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// Until there is an address.
pub(super) const ADDRESS: &[f64] =
    &[-1.0, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0];
/// Until a subnet counts.
pub(super) const VALIDATED: &[f64] = &[-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0];

/// A description and what it is of.
pub(super) type Listed = (Described, Any);

/// A metric of whatever type, for a registry.
#[derive(Debug)]
pub(super) struct Any(Box<dyn Metric>);

type Labels<const N: usize> = [(&'static str, Box<str>); N];

/// Numbers of one name. Cheap to clone.
pub(super) struct Series<M, const N: usize> {
    what: Described,
    family: Family<Labels<N>, M, Make<M>>,
}

/// Makes the number of labels that were not seen before.
pub(super) struct Make<M>(fn(Shape) -> M, Shape);

pub(super) type Times<const N: usize> = Series<Histogram, N>;
pub(super) type Counts<const N: usize> = Series<Counter, N>;
pub(super) type Levels<const N: usize> = Series<Gauge, N>;

impl<M, const N: usize> Series<M, N> {
    fn new(
        make: fn(Shape) -> M,
        shape: Shape,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; N],
    ) -> Self {
        let what = Described { name, help, shape, labels };
        Self { what, family: Family::new_with_constructor(Make(make, shape)) }
    }

    fn of<R>(&self, values: [&str; N], see: impl FnOnce(&M) -> R) -> R
    where
        M: Clone,
    {
        let labels = std::array::from_fn(|at| (self.what.labels[at], Box::from(values[at])));
        see(&self.family.get_or_create(&labels))
    }
}

impl<M, const N: usize> Series<M, N>
where
    M: EncodeMetric + TypedMetric + fmt::Debug + Send + Sync + 'static,
{
    pub(super) fn listed(&self) -> Listed {
        (self.what, Any(Box::new(self.family.clone())))
    }
}

impl EncodeMetric for Any {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        self.0.metric_type()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<M> MetricConstructor<M> for Make<M> {
    fn new_metric(&self) -> M {
        self.0(self.1)
    }
}

impl<M> Clone for Make<M> {
    fn clone(&self) -> Self {
        Self(self.0, self.1)
    }
}

impl<M, const N: usize> Clone for Series<M, N> {
    fn clone(&self) -> Self {
        Self { what: self.what, family: self.family.clone() }
    }
}

impl<M, const N: usize> fmt::Debug for Series<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Series").field(&self.what.name).finish()
    }
}

impl<const N: usize> Times<N> {
    pub(super) fn seconds(
        name: &'static str,
        help: &'static str,
        bounds: &'static [f64],
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(histogram, Shape::Seconds(bounds), name, help, labels)
    }

    pub(super) fn sizes(
        name: &'static str,
        help: &'static str,
        bounds: &'static [f64],
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(histogram, Shape::Sizes(bounds), name, help, labels)
    }

    pub(super) fn saw(&self, values: [&str; N], value: f64) {
        self.of(values, |histogram| histogram.observe(value));
    }
}

impl<const N: usize> Counts<N> {
    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(|_| Counter::default(), Shape::Counter, name, help, labels)
    }

    pub(super) fn count(&self, values: [&str; N]) {
        self.of(values, Counter::inc);
    }
}

impl<const N: usize> Levels<N> {
    pub(super) fn gauge(name: &'static str, help: &'static str, labels: &'static [&'static str; N]) -> Self {
        Self::new(|_| Gauge::default(), Shape::Gauge, name, help, labels)
    }

    pub(super) fn add(&self, values: [&str; N], change: i64) {
        self.of(values, |gauge| gauge.inc_by(change));
    }
}

fn histogram(shape: Shape) -> Histogram {
    match shape {
        Shape::Seconds(bounds) | Shape::Sizes(bounds) => Histogram::new(bounds.iter().copied()),
        Shape::Counter | Shape::Gauge => Histogram::new([]),
    }
}
