//! Metrics that are read from components at each scrape.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::{Description, MetricShape, Unit};

/// Metrics of components of one type, each read from a sample `S` of its component.
///
/// A component is exposed under its name, as the label `name`.
pub struct SampledFamilies<S: 'static> {
    /// The metrics.
    pub families: &'static [Sampled<S>],
    /// The row of their panels in a dashboard.
    pub row: &'static str,
}

/// A metric that is read from a sample. A component for which it returns `None` has no series.
pub struct Sampled<S: 'static> {
    description: Description,
    read: Read<S>,
}

/// A histogram at the time of its sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledHistogram {
    /// Sum of all values.
    pub sum: f64,
    /// Number of all values.
    pub count: u64,
    /// Bounds, each with the number of values up to it and above the bound before.
    pub buckets: Vec<(f64, u64)>,
}

enum Read<S: 'static> {
    Whole(fn(&S) -> Option<u64>),
    Fraction(fn(&S) -> Option<f64>),
    ByResult(&'static [(&'static str, fn(&S) -> u64)]),
    Histogram(fn(&S) -> SampledHistogram),
}

const NAME: &[&str] = &["name"];

impl<S> Sampled<S> {
    const fn new(description: Description, read: Read<S>) -> Self {
        Self { description: description.labels(NAME), read }
    }

    /// Declares a counter.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str, read: fn(&S) -> Option<u64>) -> Self {
        Self::new(Description::counter(name, help), Read::Whole(read))
    }

    /// Declares a gauge.
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str, read: fn(&S) -> Option<u64>) -> Self {
        Self::new(Description::gauge(name, help), Read::Whole(read))
    }

    /// Declares a gauge of 0 or 1.
    #[must_use]
    pub const fn flag(name: &'static str, help: &'static str, read: fn(&S) -> Option<u64>) -> Self {
        Self::new(Description::gauge(name, help).unit(Unit::Flag), Read::Whole(read))
    }

    /// Declares a gauge of seconds.
    #[must_use]
    pub const fn age(name: &'static str, help: &'static str, read: fn(&S) -> Option<f64>) -> Self {
        Self::new(Description::gauge(name, help).unit(Unit::Seconds), Read::Fraction(read))
    }

    /// Declares counters with the label `result`, zeros included.
    #[must_use]
    pub const fn by_result(
        name: &'static str,
        help: &'static str,
        results: &'static [(&'static str, fn(&S) -> u64)],
    ) -> Self {
        let description = Description::counter(name, help).labels(&["name", "result"]);
        Self { description, read: Read::ByResult(results) }
    }

    /// Declares a histogram of seconds.
    #[must_use]
    pub const fn histogram(name: &'static str, help: &'static str, read: fn(&S) -> SampledHistogram) -> Self {
        Self::new(Description::seconds(name, help, &[]), Read::Histogram(read))
    }

    /// Sets the title of the panel.
    #[must_use]
    pub const fn titled(self, title: &'static str) -> Self {
        Self { description: self.description.titled(title), read: self.read }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>, samples: &[(String, S)]) -> fmt::Result {
        let Description { help, shape, .. } = self.description;
        let series = self.series(samples);
        if series.is_empty() {
            return Ok(());
        }
        let (name, unit) = self.description.name_and_unit();
        let kind = match shape {
            MetricShape::Counter => MetricType::Counter,
            MetricShape::Gauge | MetricShape::Info => MetricType::Gauge,
            MetricShape::Histogram(_) => MetricType::Histogram,
        };
        let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
        for (name, result, value) in series {
            match result {
                Some(result) => {
                    encode_value(&mut family, &[("name", name), ("result", result)], &value, shape)?
                }
                None => encode_value(&mut family, &[("name", name)], &value, shape)?,
            }
        }
        Ok(())
    }

    fn series<'s>(&self, samples: &'s [(String, S)]) -> Vec<(&'s str, Option<&'static str>, Value)> {
        let mut series = Vec::new();
        for (name, sample) in samples {
            match &self.read {
                Read::Whole(read) => {
                    series.extend(read(sample).map(|value| (&**name, None, Value::Whole(value))))
                }
                Read::Fraction(read) => {
                    series.extend(read(sample).map(|value| (&**name, None, Value::Fraction(value))));
                }
                Read::ByResult(results) => series.extend(
                    results.iter().map(|(result, read)| (&**name, Some(*result), Value::Whole(read(sample)))),
                ),
                Read::Histogram(read) => series.push((name, None, Value::Histogram(read(sample)))),
            }
        }
        series
    }
}

impl<S> SampledFamilies<S> {
    /// Returns the descriptions of all metrics.
    pub fn descriptions(&self) -> impl Iterator<Item = Description> + use<S> {
        let row = self.row;
        self.families.iter().map(move |family| family.description.row(row))
    }

    /// Writes the metrics of named components.
    ///
    /// # Errors
    /// The encoder fails.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>, samples: &[(String, S)]) -> fmt::Result {
        self.families.iter().try_for_each(|family| family.encode(encoder, samples))
    }
}

enum Value {
    Whole(u64),
    Fraction(f64),
    Histogram(SampledHistogram),
}

fn encode_value(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    value: &Value,
    shape: MetricShape,
) -> fmt::Result {
    let mut encoder = family.encode_family(labels)?;
    match value {
        Value::Whole(value) if shape == MetricShape::Counter => {
            encoder.encode_counter::<NoLabelSet, _, u64>(value, None)
        }
        Value::Whole(value) => encoder.encode_gauge(&i64::try_from(*value).unwrap_or(i64::MAX)),
        Value::Fraction(value) => encoder.encode_gauge(value),
        Value::Histogram(SampledHistogram { sum, count, buckets }) => {
            // Only infinity is exposed as `+Inf`, without which Prometheus computes no percentile.
            let bound = |bound: f64| if bound == f64::MAX { f64::INFINITY } else { bound };
            let buckets: Vec<(f64, u64)> = buckets.iter().map(|(end, count)| (bound(*end), *count)).collect();
            encoder.encode_histogram::<NoLabelSet>(*sum, *count, &buckets, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::collector::Collector;

    use super::*;
    use crate::MetricSet;

    #[derive(Debug)]
    struct Pump {
        strokes: u64,
        idle: Option<f64>,
    }

    const PUMPS: SampledFamilies<Pump> = SampledFamilies {
        row: "Pumps",
        families: &[
            Sampled::<Pump>::counter("pump_strokes", "Strokes", |pump| Some(pump.strokes)).titled("Strokes"),
            Sampled::age("pump_idle_seconds", "Idle time", |pump| pump.idle),
            Sampled::by_result("pump_ends", "Ends", &[("done", |pump| pump.strokes), ("failed", |_| 0)]),
            Sampled::histogram("pump_stroke_seconds", "Strokes", |pump| SampledHistogram {
                sum: 0.5,
                count: pump.strokes,
                buckets: vec![(0.25, 1), (f64::MAX, 1)],
            }),
            Sampled::flag("pump_never", "Nothing", |_| None),
        ],
    };

    #[derive(Debug)]
    struct Pumps;

    impl Collector for Pumps {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let pump = |name: &str, idle| (name.to_owned(), Pump { strokes: 2, idle });
            PUMPS.encode(&mut encoder, &[pump("a", None), pump("b", Some(1.5))])
        }
    }

    #[test]
    fn p01_samples_are_exposed_as_declared() {
        let mut set = MetricSet::default();
        set.collect(Pumps, PUMPS.descriptions());
        let expected = "# HELP pump_strokes Strokes\n# TYPE pump_strokes counter\n\
            pump_strokes_total{name=\"a\"} 2\npump_strokes_total{name=\"b\"} 2\n\
            # HELP pump_idle_seconds Idle time\n# TYPE pump_idle_seconds gauge\n# UNIT pump_idle_seconds seconds\n\
            pump_idle_seconds{name=\"b\"} 1.5\n\
            # HELP pump_ends Ends\n# TYPE pump_ends counter\n\
            pump_ends_total{name=\"a\",result=\"done\"} 2\npump_ends_total{name=\"a\",result=\"failed\"} 0\n\
            pump_ends_total{name=\"b\",result=\"done\"} 2\npump_ends_total{name=\"b\",result=\"failed\"} 0\n";
        let page = set.page();
        assert!(page.starts_with(expected), "{page}");
        assert!(page.contains("pump_stroke_seconds_bucket{le=\"0.25\",name=\"a\"} 1\n"), "{page}");
        assert!(page.contains("pump_stroke_seconds_bucket{le=\"+Inf\",name=\"a\"} 2\n"), "{page}");
        assert!(!page.contains("pump_never"), "{page}");
        let described: Vec<_> =
            PUMPS.descriptions().map(|one| (one.name, one.labels, one.panel.row)).collect();
        assert_eq!(described.len(), 5);
        assert_eq!(described[2], ("pump_ends", &["name", "result"][..], "Pumps"));
    }
}
