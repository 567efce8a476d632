//! Families: a metric per combination of label values.

use std::fmt;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family as InnerFamily, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Metric;

use crate::{Description, MetricShape};

/// The metrics of one name, by the values of `N` labels. Cheap to clone.
pub struct Family<M, const N: usize> {
    description: Description,
    family: InnerFamily<LabelSet<N>, M, ShapeConstructor<M>>,
}

/// A family of histograms.
pub type HistogramFamily<const N: usize> = Family<Histogram, N>;
/// A family of counters.
pub type CounterFamily<const N: usize> = Family<Counter, N>;
/// A family of gauges.
pub type GaugeFamily<const N: usize> = Family<Gauge, N>;

type LabelSet<const N: usize> = [(&'static str, Box<str>); N];

/// A metric of any type, for a registry.
#[derive(Debug)]
pub struct AnyMetric(Box<dyn Metric>);

/// Creates the metric of new label values.
struct ShapeConstructor<M>(fn(MetricShape) -> M, MetricShape);

impl<M: Clone, const N: usize> Family<M, N> {
    fn new(description: Description, create: fn(MetricShape) -> M) -> Self {
        let family = InnerFamily::new_with_constructor(ShapeConstructor(create, description.shape));
        Self { description, family }
    }

    /// Returns the metric of these label values, in the order of the declaration. A caller on a hot
    /// path keeps it.
    #[must_use]
    pub fn with(&self, values: [&str; N]) -> M {
        let names = self.description.labels;
        let label = |at: usize| (names.get(at).copied().unwrap_or_default(), values.get(at).copied());
        let labels = std::array::from_fn(|at| {
            let (name, value) = label(at);
            (name, Box::from(value.unwrap_or_default()))
        });
        self.family.get_or_create(&labels).clone()
    }

    /// Returns the declaration.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }
}

impl<M, const N: usize> Family<M, N>
where
    M: EncodeMetric + TypedMetric + Clone + fmt::Debug + Send + Sync + 'static,
{
    /// Returns the family for a registry. A metric without labels is exposed from the start.
    #[must_use]
    pub fn to_metric(&self) -> AnyMetric {
        match N {
            0 => AnyMetric(Box::new(self.with([""; N]))),
            _ => AnyMetric(Box::new(self.family.clone())),
        }
    }
}

impl<const N: usize> HistogramFamily<N> {
    pub(crate) fn histogram(description: Description) -> Self {
        Self::new(description, |shape| match shape {
            MetricShape::Histogram(bounds) => Histogram::new(bounds.iter().copied()),
            MetricShape::Counter | MetricShape::Gauge | MetricShape::Info => Histogram::new([]),
        })
    }

    /// Records a value.
    pub fn observe(&self, labels: [&str; N], value: f64) {
        self.with(labels).observe(value);
    }
}

impl<const N: usize> CounterFamily<N> {
    pub(crate) fn counter(description: Description) -> Self {
        Self::new(description, |_| Counter::default())
    }

    /// Adds one.
    pub fn count(&self, labels: [&str; N]) {
        self.with(labels).inc();
    }

    /// Adds a number.
    pub fn add(&self, labels: [&str; N], number: u64) {
        self.with(labels).inc_by(number);
    }
}

impl<const N: usize> GaugeFamily<N> {
    pub(crate) fn gauge(description: Description) -> Self {
        Self::new(description, |_| Gauge::default())
    }

    /// Adds a number, which may be negative.
    pub fn add(&self, labels: [&str; N], change: i64) {
        self.with(labels).inc_by(change);
    }

    /// Sets the level.
    pub fn set(&self, labels: [&str; N], level: usize) {
        self.with(labels).set(i64::try_from(level).unwrap_or(i64::MAX));
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

impl<M> MetricConstructor<M> for ShapeConstructor<M> {
    fn new_metric(&self) -> M {
        self.0(self.1)
    }
}

impl<M> Clone for ShapeConstructor<M> {
    fn clone(&self) -> Self {
        Self(self.0, self.1)
    }
}

impl<M, const N: usize> Clone for Family<M, N> {
    fn clone(&self) -> Self {
        Self { description: self.description, family: self.family.clone() }
    }
}

impl<M, const N: usize> fmt::Debug for Family<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Family").field(&self.description.name).finish()
    }
}
