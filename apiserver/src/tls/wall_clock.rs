//! The time at which certificates are verified.

use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The wall clock. Before 1970 it has no time, and handshakes fail; the one of rustls panics.
#[derive(Debug)]
pub(crate) struct WallClock;

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        unix_time(Timestamp::now())
    }
}

fn unix_time(now: Timestamp) -> Option<UnixTime> {
    let seconds = u64::try_from(now.as_second()).ok()?;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_has_no_time() {
        let at =
            |second| unix_time(Timestamp::from_second(second).expect("a time")).map(|time| time.as_secs());
        assert_eq!([at(-1), at(0), at(1_800_000_000)], [None, Some(0), Some(1_800_000_000)]);
        assert!(WallClock.current_time().is_some());
    }
}
