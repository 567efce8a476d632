//! Rapid reset: a budget of cancelled HTTP/2 requests for each user.
//!
//! A cancelled request costs its client almost nothing and the server a request. A client that
//! cancels more than its budget is read more slowly: its connections pause after each cancellation.
//! The budget is the user's, so that further connections do not renew it.

use std::collections::BTreeMap;
use std::time::Duration;

use machinery_sync::Mutex;
use tokio::time::Instant;

/// Cancellations at once.
const BURST: u32 = 1000;
/// Time in which the budget regains one: a started watch costs about a fifth of it.
const INTERVAL: Duration = Duration::from_millis(2);
/// Maximum pause of a connection: shorter than the stall timeout of its watches, whose flow control
/// pauses, too.
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// Users with a budget in use, before those with a whole one are forgotten.
const MOST_USERS: usize = 1024;

/// The cancellations of a listener's clients.
#[derive(Default)]
pub(super) struct Cancellations(Mutex<UsedBudgets>);

/// The time at which each user's budget is whole again.
#[derive(Default)]
struct UsedBudgets(BTreeMap<String, Instant>);

impl Cancellations {
    /// Counts a cancellation. Returns the end of the connection's pause if the budget is used up.
    pub(super) fn count(&self, user: &str, now: Instant) -> Option<Instant> {
        self.0.lock().count(user, now)
    }
}

impl UsedBudgets {
    fn count(&mut self, user: &str, now: Instant) -> Option<Instant> {
        if self.0.len() >= MOST_USERS && !self.0.contains_key(user) {
            self.0.retain(|_, whole| *whole > now);
        }
        let whole = match self.0.get_mut(user) {
            Some(whole) => whole,
            None => self.0.entry(user.to_owned()).or_insert(now),
        };
        // A debt beyond the longest pause would never be paid.
        let most = now + INTERVAL * BURST + MAX_PAUSE;
        *whole = ((*whole).max(now) + INTERVAL).min(most);
        let resumes = whole.checked_sub(INTERVAL * BURST)?;
        (resumes > now).then_some(resumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cancels `count` times at `now`, and returns the pause after the last one.
    fn cancel(budgets: &mut UsedBudgets, user: &str, count: u32, now: Instant) -> Duration {
        let pauses = (0..count).map(|_| budgets.count(user, now));
        pauses.last().flatten().map_or(Duration::ZERO, |until| until - now)
    }

    #[test]
    fn a_user_pauses_after_its_budget_and_regains_it() {
        let (mut budgets, now) = (UsedBudgets::default(), Instant::now());
        assert_eq!(cancel(&mut budgets, "ann", BURST, now), Duration::ZERO);
        assert_eq!(cancel(&mut budgets, "ann", 1, now), INTERVAL);
        assert_eq!(cancel(&mut budgets, "ann", 9, now), INTERVAL * 10);
        assert_eq!(cancel(&mut budgets, "bob", BURST, now), Duration::ZERO, "a budget of his own");
        let later = now + INTERVAL * (BURST - 90);
        assert_eq!(cancel(&mut budgets, "ann", BURST - 100, later), Duration::ZERO);
        assert_eq!(cancel(&mut budgets, "ann", 1, later), INTERVAL);
    }

    #[test]
    fn pauses_are_bounded() {
        let (mut budgets, now) = (UsedBudgets::default(), Instant::now());
        assert_eq!(cancel(&mut budgets, "ann", 100_000, now), MAX_PAUSE);
        let later = now + MAX_PAUSE + INTERVAL * 2;
        assert_eq!(cancel(&mut budgets, "ann", 1, later), Duration::ZERO);
    }

    #[test]
    fn users_with_a_whole_budget_are_forgotten() {
        let (mut budgets, now) = (UsedBudgets::default(), Instant::now());
        for number in 0..MOST_USERS {
            budgets.count(&format!("user {number}"), now);
        }
        budgets.count("last", now + INTERVAL * 2);
        assert_eq!(budgets.0.len(), 1);
    }
}
