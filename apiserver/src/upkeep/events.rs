//! Events expire: an hour after they were last written.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinery_store::Range;
use serde_json::Value;
use tokio::time::sleep;

use super::writes::{self, How};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::meta_text;
use crate::verbs::output::read;

const LASTS: SignedDuration = SignedDuration::from_hours(1);
const LOOK: Duration = Duration::from_secs(60);

/// Looks until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        sleep(LOOK).await;
        let _ = pass(&shared).await;
    }
}

pub(super) async fn pass(shared: &Shared) -> Result<(), Refusal> {
    let now = shared.world.now();
    for kind in native::kinds().filter(|kind| kind.names.kind == "Event" && kind.stored.is_none()) {
        let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
        for entry in listed.entries {
            let Ok(object) = read(&kind, &entry, entry.modified) else { continue };
            if written(&object, now).is_some_and(|time| now.duration_since(time) > LASTS) {
                writes::delete(shared, &kind, &entry, How { unchanged: true, ..How::default() }).await?;
            }
        }
    }
    Ok(())
}

/// When an event was last written, by all the times in it. Those that are yet to come say nothing: with them an event would
/// never expire.
fn written(event: &Value, now: Timestamp) -> Option<Timestamp> {
    let fields = ["lastTimestamp", "eventTime", "firstTimestamp", "deprecatedLastTimestamp"];
    let own = fields.iter().filter_map(|field| event[*field].as_str());
    let series = event["series"]["lastObservedTime"].as_str();
    let managers = event["metadata"]["managedFields"].as_array().into_iter().flatten();
    let managed = managers.filter_map(|entry| entry["time"].as_str());
    let all = own.chain(series).chain(managed).chain([meta_text(event, "creationTimestamp")]);
    all.filter_map(|text| text.parse().ok()).filter(|time| *time <= now).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_all_times_counts() {
        let event = json!({
            "metadata": {"creationTimestamp": "2026-11-21T09:00:00Z", "managedFields": [{"time": "2026-11-21T09:05:00Z"}]},
            "lastTimestamp": "2026-11-21T09:30:38Z", "series": {"lastObservedTime": "2026-11-21T09:40:00.000000Z"},
        });
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        assert_eq!(written(&event, at("2026-11-21T10:00:00Z")), Some(at("2026-11-21T09:40:00Z")));
        assert_eq!(written(&event, at("2026-11-21T09:35:00Z")), Some(at("2026-11-21T09:30:38Z")));
        assert_eq!(written(&json!({}), at("2026-11-21T10:00:00Z")), None);
    }
}
