//! A log of the events of all watches.

use super::publisher::WriteTimes;
use anyhow::{Context, bail, ensure};
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Interval of checks for completeness. Readers record the times of events.
const LOOK: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(crate) struct EventLog(Mutex<State>);

/// The state under the lock, which is held across no await.
#[derive(Default)]
struct State {
    events: Vec<(u64, Instant)>,
    /// Ended stalled watches.
    stalled: BTreeMap<usize, EndedWatch>,
    wrong: Option<String>,
}

/// The time at which a stalled watch was ended, and its last complete event.
#[derive(Clone, Copy)]
pub(crate) struct EndedWatch {
    pub(crate) at: Instant,
    pub(crate) last: Option<u64>,
}

/// Latencies from the answer to a write until its events were read.
#[derive(Default)]
pub(crate) struct Lags(Vec<Duration>);

impl EventLog {
    /// Records an event. Events of stalled watches do not count.
    pub(super) fn event(&self, number: u64, stalled: bool) {
        if !stalled {
            self.0.lock().events.push((number, Instant::now()));
        }
    }

    pub(super) fn wrong(&self, what: String) {
        self.0.lock().wrong.get_or_insert(what);
    }

    pub(super) fn ended(&self, watch: usize, ended: EndedWatch) {
        self.0.lock().stalled.insert(watch, ended);
    }

    /// Waits until each write was received by exactly `each` reading watches. Removes the events.
    pub(crate) async fn all(
        &self,
        times: &WriteTimes,
        each: usize,
        timeout: Duration,
    ) -> anyhow::Result<Lags> {
        let (expected, end) = (times.len() * each, Instant::now() + timeout);
        loop {
            let (got, wrong) = {
                let state = self.0.lock();
                (state.events.len(), state.wrong.clone())
            };
            if let Some(wrong) = wrong {
                bail!(wrong);
            }
            if got >= expected {
                break;
            }
            ensure!(Instant::now() < end, "{got} events came, where {expected} were due");
            tokio::time::sleep(LOOK).await;
        }
        let events = std::mem::take(&mut self.0.lock().events);
        lags(&events, times, each)
    }

    /// Returns the stalled watches that were ended, by number.
    pub(crate) fn stalled(&self) -> BTreeMap<usize, EndedWatch> {
        self.0.lock().stalled.clone()
    }
}

fn lags(events: &[(u64, Instant)], times: &WriteTimes, each: usize) -> anyhow::Result<Lags> {
    let (mut lags, mut counts) = (Vec::with_capacity(events.len()), BTreeMap::new());
    for (number, read) in events {
        let answered = times.answered(*number).with_context(|| format!("nobody wrote {number}"))?;
        lags.push(read.saturating_duration_since(answered));
        *counts.entry(*number).or_insert(0) += 1;
    }
    let odd = counts.iter().find(|(_, count)| **count != each);
    ensure!(odd.is_none(), "{odd:?}: an event that {each} watches select came to others");
    lags.sort_unstable();
    Ok(Lags(lags))
}

impl Lags {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns a percentile in milliseconds.
    pub(crate) fn ms(&self, hundredth: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * hundredth / 100).map_or(0.0, |lag| lag.as_secs_f64() * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_reach_all_selecting_watches() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let times = WriteTimes::of(7, vec![(0, at(10)), (1, at(20))]);
        let check = |events: &[(u64, u64)], expected: Option<f64>| {
            let events: Vec<_> = events.iter().map(|(number, ms)| (*number, at(*ms))).collect();
            let got = lags(&events, &times, 2).ok().map(|lags| lags.ms(100));
            assert_eq!(got, expected, "{events:?}");
        };
        check(&[(7, 11), (7, 15), (8, 21), (8, 22)], Some(5.0));
        check(&[(7, 9), (7, 10), (8, 20), (8, 20)], Some(0.0)); // an event may be there before its write is answered
        check(&[(7, 11), (7, 15), (7, 16), (8, 22)], None);
        check(&[(7, 11), (7, 15), (9, 21), (9, 22)], None);
    }
}
