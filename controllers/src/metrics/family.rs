//! Encoding of metric families.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// A metric: name, help text and accessor.
pub(super) struct Family<S>(pub(super) &'static str, pub(super) &'static str, pub(super) fn(&S) -> u64);

/// A value of the label `result`, and its accessor.
pub(super) struct ResultCounter<S>(pub(super) &'static str, pub(super) fn(&S) -> u64);

pub(super) fn counters<S>(
    encoder: &mut DescriptorEncoder<'_>,
    families: &[Family<S>],
    seen: &[(String, S)],
) -> fmt::Result {
    for Family(name, help, of) in families {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (name, seen) in seen {
            let labels = [("name", name.as_str())];
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_counter::<NoLabelSet, _, u64>(&of(seen), None)?;
        }
    }
    Ok(())
}

pub(super) fn gauges<S>(
    encoder: &mut DescriptorEncoder<'_>,
    families: &[Family<S>],
    seen: &[(String, S)],
) -> fmt::Result {
    for Family(name, help, of) in families {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (name, seen) in seen {
            let labels = [("name", name.as_str())];
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_gauge(&i64::try_from(of(seen)).unwrap_or(i64::MAX))?;
        }
    }
    Ok(())
}

/// Encodes a counter family with the label `result`, including zeros.
pub(super) fn by_result<S>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    results: &[ResultCounter<S>],
    seen: &[(String, S)],
) -> fmt::Result {
    if seen.is_empty() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (name, seen) in seen {
        for ResultCounter(result, of) in results {
            let labels = [("name", name.as_str()), ("result", result)];
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_counter::<NoLabelSet, _, u64>(&of(seen), None)?;
        }
    }
    Ok(())
}
