//! Metric families: one name with its label values.

use std::fmt;

use machinery::prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use machinery::prometheus_client::metrics::counter::Counter;
use machinery::prometheus_client::metrics::family::{Family, MetricConstructor};
use machinery::prometheus_client::metrics::gauge::Gauge;
use machinery::prometheus_client::metrics::histogram::Histogram;
use machinery::prometheus_client::metrics::{MetricType, TypedMetric};
use machinery::prometheus_client::registry::Metric;

/// The description of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDescription {
    /// Name without prefix and without `_total`.
    pub name: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Type and buckets.
    pub shape: MetricShape,
    /// Label names.
    pub labels: &'static [&'static str],
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricShape {
    /// Histogram of seconds with these bounds.
    Seconds(&'static [f64]),
    /// Histogram of sizes with these bounds.
    Sizes(&'static [f64]),
    /// Counter.
    Counter,
    /// Gauge.
    Gauge,
}

/// Bounds for a call to a server or a switch.
pub(super) const CALL: &[f64] = &[-0.125, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Bounds for end-to-end latencies. Negative values reveal clock skew.
pub(super) const END_TO_END: &[f64] =
    &[-0.125, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// Bounds for the time until an address is assigned.
pub(super) const ADDRESS: &[f64] =
    &[-1.0, 0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0];
/// Bounds for the time until a subnet is validated.
pub(super) const VALIDATED: &[f64] = &[-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0];

/// A description with its metric.
pub(super) type MetricEntry = (MetricDescription, AnyMetric);

/// A metric of any type, for a registry.
#[derive(Debug)]
pub(super) struct AnyMetric(Box<dyn Metric>);

type LabelSet<const N: usize> = [(&'static str, Box<str>); N];

/// A metric family. Cheap to clone.
pub(super) struct Series<M, const N: usize> {
    what: MetricDescription,
    family: Family<LabelSet<N>, M, SeriesConstructor<M>>,
}

/// Creates the metric of new label values.
pub(super) struct SeriesConstructor<M>(fn(MetricShape) -> M, MetricShape);

pub(super) type HistogramSeries<const N: usize> = Series<Histogram, N>;
pub(super) type CounterSeries<const N: usize> = Series<Counter, N>;
pub(super) type GaugeSeries<const N: usize> = Series<Gauge, N>;

impl<M, const N: usize> Series<M, N> {
    fn new(
        make: fn(MetricShape) -> M,
        shape: MetricShape,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; N],
    ) -> Self {
        let what = MetricDescription { name, help, shape, labels };
        Self { what, family: Family::new_with_constructor(SeriesConstructor(make, shape)) }
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
    pub(super) fn listed(&self) -> MetricEntry {
        (self.what, AnyMetric(Box::new(self.family.clone())))
    }
}

impl EncodeMetric for AnyMetric {
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

impl<M> MetricConstructor<M> for SeriesConstructor<M> {
    fn new_metric(&self) -> M {
        self.0(self.1)
    }
}

impl<M> Clone for SeriesConstructor<M> {
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

impl<const N: usize> HistogramSeries<N> {
    pub(super) fn seconds(
        name: &'static str,
        help: &'static str,
        bounds: &'static [f64],
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(histogram, MetricShape::Seconds(bounds), name, help, labels)
    }

    pub(super) fn sizes(
        name: &'static str,
        help: &'static str,
        bounds: &'static [f64],
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(histogram, MetricShape::Sizes(bounds), name, help, labels)
    }

    pub(super) fn observe(&self, values: [&str; N], value: f64) {
        self.of(values, |histogram| histogram.observe(value));
    }
}

impl<const N: usize> CounterSeries<N> {
    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str; N],
    ) -> Self {
        Self::new(|_| Counter::default(), MetricShape::Counter, name, help, labels)
    }

    pub(super) fn count(&self, values: [&str; N]) {
        self.of(values, Counter::inc);
    }

    pub(super) fn add(&self, values: [&str; N], number: u64) {
        self.of(values, |counter| counter.inc_by(number));
    }
}

impl<const N: usize> GaugeSeries<N> {
    pub(super) fn gauge(name: &'static str, help: &'static str, labels: &'static [&'static str; N]) -> Self {
        Self::new(|_| Gauge::default(), MetricShape::Gauge, name, help, labels)
    }

    pub(super) fn add(&self, values: [&str; N], change: i64) {
        self.of(values, |gauge| gauge.inc_by(change));
    }

    pub(super) fn set(&self, values: [&str; N], level: usize) {
        self.of(values, |gauge| gauge.set(i64::try_from(level).unwrap_or(i64::MAX)));
    }
}

fn histogram(shape: MetricShape) -> Histogram {
    match shape {
        MetricShape::Seconds(bounds) | MetricShape::Sizes(bounds) => Histogram::new(bounds.iter().copied()),
        MetricShape::Counter | MetricShape::Gauge => Histogram::new([]),
    }
}
