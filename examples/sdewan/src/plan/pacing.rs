//! The times of runs: pushes per second, retries and the drift timer.

use std::time::Duration;

use tokio::time::Instant;

/// The least time between two pushes to a CNF: five a second.
const PUSH_INTERVAL: Duration = Duration::from_millis(200);
/// The delay of the first retry, which is the original's.
const FIRST_RETRY: Duration = Duration::from_secs(5);
/// The longest delay of a retry.
const LAST_RETRY: Duration = Duration::from_secs(300);

/// Paces the pushes to one CNF: a lone change goes at once, and changes of a burst share pushes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    last_push: Option<Instant>,
}

impl Pacing {
    /// Returns how long a push has to wait; zero for at once.
    #[must_use]
    pub fn wait(&self, now: Instant) -> Duration {
        let since = self.last_push.map(|last| now.saturating_duration_since(last));
        since.map_or(Duration::ZERO, |since| PUSH_INTERVAL.saturating_sub(since))
    }

    /// Notes a push.
    pub const fn pushed(&mut self, now: Instant) {
        self.last_push = Some(now);
    }
}

/// Returns the delay of a retry after consecutive failures: 5 s, doubled up to 5 min.
#[must_use]
pub fn retry_delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(8);
    LAST_RETRY.min(FIRST_RETRY * 2_u32.saturating_pow(doublings))
}

/// Shortens a delay by up to a fifth, by a number that differs between CNFs and runs.
#[must_use]
pub fn jittered(delay: Duration, number: u64) -> Duration {
    let mixed = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    let share = u32::try_from(mixed % 1000).unwrap_or(0);
    delay.saturating_sub(delay * share / 5000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lone_push_goes_at_once_and_a_burst_gets_five_a_second() {
        let mut pacing = Pacing::default();
        let mut pushes = 0;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            let wait = pacing.wait(Instant::now());
            if wait.is_zero() {
                pacing.pushed(Instant::now());
                pushes += 1;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(pushes, 50);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(pacing.wait(Instant::now()).is_zero());
    }

    #[test]
    fn delays_grow_and_jitter_only_shortens_them() {
        assert_eq!(retry_delay(1), Duration::from_secs(5));
        assert_eq!(retry_delay(3), Duration::from_secs(20));
        assert_eq!(retry_delay(u32::MAX), Duration::from_secs(300));
        let minute = Duration::from_secs(60);
        let delays: Vec<_> = (0..1000).map(|number| jittered(minute, number * 7919)).collect();
        assert!(delays.iter().all(|delay| *delay <= minute && *delay >= Duration::from_secs(48)));
        assert!(delays.iter().collect::<std::collections::BTreeSet<_>>().len() > 100);
    }
}
