//! Keys, orders and delays, equal to those of `bench/peers/go/keys.go`.

use crate::random::SplitMix;
use std::sync::Arc;
use std::time::Duration;

pub(super) type QueueKey = Arc<str>;

/// Returns `n` distinct keys of 24 bytes.
pub(super) fn make(n: usize) -> Vec<QueueKey> {
    (0..n).map(|i| format!("ns-{:04}/object-{i:09}", i % 1000).into()).collect()
}

/// Returns the number in a key.
pub(super) fn index_of(key: &str) -> usize {
    key.as_bytes()[key.len() - 9..].iter().fold(0, |n, digit| n * 10 + usize::from(digit - b'0'))
}

/// Number of keys from which the order is random: a small queue is in the cache anyway.
const SHUFFLED_FROM: usize = 100_000;

/// Returns the order of visiting `n` keys.
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

/// Returns delays of two to two and a quarter hours, so that none expires during a shape.
pub(super) fn delays(n: usize) -> Vec<Duration> {
    let mut chance = SplitMix(2);
    (0..n).map(|_| Duration::from_secs(7200) + Duration::from_millis(chance.next() % 900_000)).collect()
}

/// Returns the delay of the re-add of key `i` in pass `pass`: later than its current one, so that
/// the add merges, or with `sooner`, for every second key sooner, so that its entry moves.
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
