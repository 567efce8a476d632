//! Rates of write fights.

use std::collections::BTreeMap;
use std::fmt;

use machinery_metrics::Description;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use crate::controller::ControllerSample;

pub(super) const FIGHT_RATE: Description =
    Description::gauge("machinery_controller_write_fight_rate", "Undone writes per second, by field")
        .labels(&["name", "manager", "field"])
        .row("Controllers");

/// Limit of the series of a controller.
const SERIES: usize = 100;

/// Encodes the rates of the fights that are going on.
pub(super) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[(String, ControllerSample)],
) -> fmt::Result {
    if samples.iter().all(|(_, sample)| sample.fights.is_empty()) {
        return Ok(());
    }
    let Description { name, help, .. } = FIGHT_RATE;
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (name, sample) in samples {
        // Fights of one manager over one field are one series, whatever their objects.
        let mut rates = BTreeMap::new();
        for fight in &sample.fights {
            let manager = fight.manager.as_deref().unwrap_or("unknown");
            *rates.entry((manager, fight.field.as_str())).or_insert(0.0) += fight.per_second;
        }
        for ((manager, field), rate) in rates.into_iter().take(SERIES) {
            let labels = [("name", name.as_str()), ("manager", manager), ("field", field)];
            family.encode_family(&labels)?.encode_gauge(&rate)?;
        }
    }
    Ok(())
}
