//! Deletes Events an hour after their last write.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinery_objects::Revision;
use machinery_store::Range;
use serde_json::Value;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use super::writes::{self, DeleteMode};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::steady_clock::SteadyClock;
use crate::storage::Moment;
use crate::strategy::meta_text;
use crate::verbs::output::read;

const TTL: SignedDuration = SignedDuration::from_hours(1);
const INTERVAL: Duration = Duration::from_secs(60);
/// Events parsed before the task yields.
const AT_ONCE: usize = 64;

/// Runs until the server stops. The clock is trusted at the call.
pub(super) fn run(shared: Arc<Shared>) -> impl Future<Output = ()> {
    let mut passed = ExpiryMarks::default();
    let mut clock = SteadyClock::new(shared.environment.now(), Instant::now());
    async move {
        loop {
            sleep(INTERVAL).await;
            let now = clock.now(shared.environment.now(), Instant::now());
            let _ = reconcile(&shared, &mut passed, now).await;
        }
    }
}

/// Excludes events written within the last hour, which cannot have expired. Most are.
#[derive(Debug, Default)]
pub(super) struct ExpiryMarks {
    /// Newest revisions by time, within the last hour.
    marks: VecDeque<(Timestamp, Revision)>,
}

impl ExpiryMarks {
    /// Records the newest revision, and returns that of an hour ago: only Events up to it can have
    /// expired.
    fn at(&mut self, now: Timestamp, newest: Revision) -> Revision {
        self.marks.push_back((now, newest));
        let is_old = |mark: &(Timestamp, Revision)| now.duration_since(mark.0) > TTL;
        while self.marks.front().is_some_and(is_old) {
            self.marks.pop_front();
        }
        self.marks.front().map_or(newest, |(_, revision)| *revision)
    }
}

async fn reconcile(shared: &Shared, passed: &mut ExpiryMarks, now: Timestamp) -> Result<(), Refusal> {
    let mut until = None;
    for kind in native::kinds().filter(|kind| kind.names.kind == "Event" && kind.stored.is_none()) {
        let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
        let until = *until.get_or_insert_with(|| passed.at(now, listed.at));
        for (number, entry) in listed.entries.into_iter().filter(|entry| entry.modified <= until).enumerate()
        {
            if number % AT_ONCE == AT_ONCE - 1 {
                yield_now().await;
            }
            let Ok(object) = read(&kind, &entry, entry.modified) else { continue };
            if written(&object, now).is_some_and(|time| now.duration_since(time) > TTL) {
                writes::delete(
                    shared,
                    &kind,
                    &entry,
                    DeleteMode { unchanged: true, ..DeleteMode::default() },
                )
                .await?;
            }
        }
    }
    Ok(())
}

/// Returns the latest of all times in an event. Times in the future are ignored, since they would
/// keep the event forever.
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
    fn recent_events_are_not_parsed() {
        let (mut passed, begin) = (ExpiryMarks::default(), Timestamp::UNIX_EPOCH);
        let mut at = |minute: i64, newest: u64| {
            let now = begin + SignedDuration::from_mins(minute);
            passed.at(now, Revision(newest)).0
        };
        assert_eq!(at(0, 10), 10, "what was there before may be of any age");
        assert_eq!([at(1, 20), at(59, 30), at(60, 40)], [10, 10, 10]);
        assert_eq!(
            [at(61, 50), at(62, 60)],
            [20, 30],
            "what was there at the first look within the hour may be older"
        );
        assert_eq!(at(200, 70), 70);
        assert_eq!(passed.marks.len(), 1);
    }

    #[test]
    fn the_latest_timestamp_of_an_event_counts() {
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
