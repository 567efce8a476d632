//! Keys, orders and delays: the same as `bench/peers/go/keys.go` makes.

use crate::random::SplitMix;
use std::sync::Arc;
use std::time::Duration;

pub(super) type QueueKey = Arc<str>;

/// `n` distinct texts of 24 bytes.
pub(super) fn make(n: usize) -> Vec<QueueKey> {
    (0..n).map(|i| format!("ns-{:04}/object-{i:09}", i % 1000).into()).collect()
}

/// A key's number, read back out of its text.
pub(super) fn index_of(key: &str) -> usize {
    key.as_bytes()[key.len() - 9..].iter().fold(0, |n, digit| n * 10 + usize::from(digit - b'0'))
}

/// From this many keys on, they are visited in a random order: a small queue sits in the cache anyway.
const SHUFFLED_FROM: usize = 100_000;

/// In which order `n` keys are visited.
pub(super) fn order(n: usize) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..n).collect();
    if n >= SHUFFLED_FROM {
        let mut chance = SplitMix(1);
        for i in (1..n).rev() {
            indexes.swap(i, chance.below(i + 1));
        }
    }
    indexes
}

/// Two to two and a quarter hours, so that nothing falls due while a shape runs.
pub(super) fn delays(n: usize) -> Vec<Duration> {
    let mut chance = SplitMix(2);
    (0..n).map(|_| Duration::from_secs(7200) + Duration::from_millis(chance.next() % 900_000)).collect()
}

/// The delay with which pass `pass` adds key `i` again: later than it waits (the add merges into what is there), or,
/// if `sooner`, for every second key sooner (its entry moves).
pub(super) fn readd(wait: Duration, sooner: bool, pass: usize, i: usize) -> Duration {
    let step = Duration::from_secs(10) * u32::try_from(pass + 1).unwrap_or(u32::MAX);
    if sooner && (pass + i).is_multiple_of(2) { wait.saturating_sub(step) } else { wait.saturating_add(step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_24_bytes_and_know_their_number() {
        let keys = make(1001);
        assert!(keys.iter().all(|key| key.len() == 24));
        assert!(keys.iter().enumerate().all(|(i, key)| index_of(key) == i));
    }

    #[test]
    fn an_order_visits_every_key_once() {
        let mut order = order(SHUFFLED_FROM);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..SHUFFLED_FROM));
    }
}
