//! The compaction policy as a state machine.

use std::collections::VecDeque;
use std::time::Duration;

use machinery_objects::Revision;
use tokio::time::Instant;

use crate::options::Retention;

/// Samples per retention age; history is kept for up to a sixteenth longer.
const MOMENTS: u32 = 16;

/// Applies a [`Retention`]. Pure: the caller passes the time.
#[derive(Debug)]
pub(crate) struct RetentionTracker {
    policy: Retention,
    /// The newest revision at each sampled time.
    moments: VecDeque<(Instant, Revision)>,
}

impl RetentionTracker {
    pub(crate) fn new(policy: Retention) -> Self {
        Self { policy, moments: VecDeque::new() }
    }

    /// Returns whether the policy never compacts, so that the caller need not read the clock.
    pub(crate) fn is_manual(&self) -> bool {
        self.policy == Retention::MANUAL
    }

    /// Returns how many bytes of history are to be compacted now; zero if it is short enough.
    pub(crate) fn excess(&self, history_bytes: u64) -> u64 {
        self.policy.bytes.map_or(0, |keep| excess(keep, history_bytes))
    }

    /// Returns the revision to compact to now by age and count, if any.
    pub(crate) fn step(&mut self, now: Instant, current: Revision, compacted: Revision) -> Option<Revision> {
        let by_age = self.policy.age.and_then(|age| self.by_age(age, now, current));
        let by_count = self.policy.revisions.and_then(|keep| by_count(keep, current, compacted));
        by_age.max(by_count).filter(|to| *to > compacted)
    }

    fn by_age(&mut self, age: Duration, now: Instant, current: Revision) -> Option<Revision> {
        if self.moments.back().is_none_or(|(moment, _)| *moment + age / MOMENTS <= now) {
            self.moments.push_back((now, current));
        }
        let mut old = None;
        while self.moments.front().is_some_and(|(moment, _)| *moment + age <= now) {
            old = self.moments.pop_front().map(|(_, revision)| revision);
        }
        old
    }
}

/// Lets somewhat more than `keep` accumulate: many small compactions cost more than one.
fn by_count(keep: u64, current: Revision, compacted: Revision) -> Option<Revision> {
    let slack = (keep / 8).min(1024);
    (current.0 - compacted.0 > keep + slack).then(|| Revision(current.0 - keep))
}

/// Frees somewhat more than is necessary, for the same reason, and not so much that readers notice.
fn excess(keep: u64, bytes: u64) -> u64 {
    const MOST_SLACK: u64 = 4 << 20;
    if bytes <= keep { 0 } else { bytes - keep + (keep / 8).min(MOST_SLACK) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_bytes_frees_an_eighth_more_than_the_excess() {
        let retaining = RetentionTracker::new(Retention { bytes: Some(800), ..Retention::MANUAL });
        assert_eq!([0, 800, 801, 1600].map(|bytes| retaining.excess(bytes)), [0, 0, 101, 900]);
        assert_eq!(RetentionTracker::new(Retention::MANUAL).excess(u64::MAX), 0);
    }

    #[test]
    fn by_count_keeps_the_configured_revisions() {
        let mut retaining = RetentionTracker::new(Retention { revisions: Some(80), ..Retention::MANUAL });
        let now = Instant::now();
        assert_eq!(retaining.step(now, Revision(91), Revision(1)), None);
        assert_eq!(retaining.step(now, Revision(92), Revision(1)), Some(Revision(12)));
        assert_eq!(retaining.step(now, Revision(93), Revision(12)), None);
    }

    #[test]
    fn by_age_keeps_at_most_a_sixteenth_longer() {
        let mut retaining =
            RetentionTracker::new(Retention { age: Some(Duration::from_secs(16)), ..Retention::MANUAL });
        let start = Instant::now();
        let mut compacted = Revision(1);
        for second in 0..100 {
            let current = Revision(second + 2);
            if let Some(to) = retaining.step(start + Duration::from_secs(second), current, compacted) {
                compacted = to;
            }
            let oldest_second = compacted.0.saturating_sub(1);
            assert!(second < 16 || second - oldest_second <= 17, "second {second}: {compacted}");
            assert!(
                second - oldest_second.min(second) >= 15 || oldest_second <= 1,
                "second {second}: {compacted}"
            );
        }
        assert!(compacted.0 > 80);
    }
}
