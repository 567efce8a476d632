//! The wall clock, as far as the monotonic clock confirms it.
//!
//! A wall clock may jump for seconds: a wrong time source, a restored virtual machine. Certificates
//! renewed meanwhile would be of another year, and every Event would have expired.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A larger difference between the clocks is a jump.
const TOLERANCE: SignedDuration = SignedDuration::from_hours(1);

/// A jump is believed when it has lasted this long: the computer was suspended, or its clock set.
const BELIEVED_AFTER: Duration = Duration::from_secs(3600);

/// 2025-01-01, before this program was written. An earlier time is wrong.
const EARLIEST: i64 = 1_735_689_600;

/// A wall clock without short jumps.
#[derive(Debug)]
pub(crate) struct SteadyClock {
    /// The last time that was believed, and when.
    wall: Timestamp,
    at: Instant,
    jump: Option<Jump>,
}

#[derive(Clone, Copy, Debug)]
struct Jump {
    by: SignedDuration,
    since: Instant,
}

impl SteadyClock {
    pub(crate) fn new(wall: Timestamp, at: Instant) -> Self {
        Self { wall, at, jump: None }
    }

    /// Returns the time, given both clocks: `wall`, or during a jump the time without it.
    pub(crate) fn now(&mut self, wall: Timestamp, at: Instant) -> Timestamp {
        let passed = SignedDuration::try_from(at.duration_since(self.at)).unwrap_or(SignedDuration::MAX);
        let expected = self.wall.checked_add(passed).unwrap_or(Timestamp::MAX);
        let by = wall.duration_since(expected);
        if self.is_believed(wall, by, at) {
            (self.wall, self.at, self.jump) = (wall, at, None);
            return wall;
        }
        if self.jump.is_none_or(|jump| is_large(by - jump.by)) {
            self.jump = Some(Jump { by, since: at });
        }
        expected
    }

    fn is_believed(&self, wall: Timestamp, by: SignedDuration, at: Instant) -> bool {
        if !is_large(by) || self.wall.as_second() < EARLIEST {
            return true;
        }
        let lasts = |jump: Jump| !is_large(by - jump.by) && at.duration_since(jump.since) >= BELIEVED_AFTER;
        wall.as_second() >= EARLIEST && self.jump.is_some_and(lasts)
    }
}

fn is_large(difference: SignedDuration) -> bool {
    difference.abs() > TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR: i64 = 365 * 24 * 3600;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    /// A clock that began at 2026, and a function that reads it after some seconds, when the wall
    /// clock is ahead by others.
    fn clock(begin: i64) -> impl FnMut(u64, i64) -> i64 {
        let start = Instant::now();
        let mut clock = SteadyClock::new(second(begin), start);
        move |after, ahead| {
            let wall = second(begin + i64::try_from(after).expect("small") + ahead);
            clock.now(wall, start + Duration::from_secs(after)).as_second() - begin
        }
    }

    #[tokio::test]
    async fn a_jump_of_the_wall_clock_is_not_believed_at_once() {
        for year in [YEAR, -YEAR / 2] {
            let mut now = clock(EARLIEST + YEAR);
            assert_eq!(now(10, 0), 10);
            assert_eq!([now(20, year), now(30, year + 5)], [20, 30]);
            assert_eq!(now(40, 2), 42, "it is over");
            assert_eq!(now(50, year), 52, "another one, after the last time that was believed");
            assert_eq!(now(50 + 3599, year), 52 + 3599);
            assert_eq!(now(50 + 3600, year), 50 + 3600 + year, "it has lasted");
            assert_eq!(now(50 + 3601, year), 50 + 3601 + year);
        }
    }

    #[tokio::test]
    async fn a_clock_that_jumps_again_and_again_is_not_believed() {
        let mut now = clock(EARLIEST + YEAR);
        for count in 0..10 {
            let ahead = i64::try_from(count).expect("small") * YEAR + YEAR;
            assert_eq!(now(count * 1800, ahead), i64::try_from(count).expect("small") * 1800);
        }
    }

    #[tokio::test]
    async fn small_corrections_are_followed() {
        let mut now = clock(EARLIEST + YEAR);
        assert_eq!([now(10, 3000), now(20, -600), now(30, 2900)], [3010, -580, 2930]);
    }

    #[tokio::test]
    async fn a_time_before_the_program_was_written_is_never_believed() {
        let mut now = clock(EARLIEST + YEAR);
        for after in [10, 4000, 90_000] {
            assert_eq!(now(after, -2 * YEAR), i64::try_from(after).expect("small"));
        }
        // A computer without a clock of its own starts in 1970, and learns the time soon.
        let mut now = clock(0);
        assert_eq!(now(10, EARLIEST + YEAR), 10 + EARLIEST + YEAR);
    }
}
