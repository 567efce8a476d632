//! A bounded map of the last run of each key.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::RunRecord;

/// The last run of each key; the least recently run key is evicted first.
pub(super) struct RunHistory<K> {
    limit: usize,
    of: HashMap<K, (u64, RunRecord), FixedState>,
    /// Keys in the order of their runs, including outdated entries.
    order: VecDeque<(u64, K)>,
    next: u64,
}

impl<K: Eq + Hash + Clone> RunHistory<K> {
    pub(super) fn new(limit: usize, seed: u64) -> Self {
        let of = HashMap::with_hasher(FixedState::with_seed(seed));
        Self { limit, of, order: VecDeque::new(), next: 0 }
    }

    pub(super) fn get(&self, key: &K) -> Option<&RunRecord> {
        self.of.get(key).map(|(_, record)| record)
    }

    /// Returns all recorded keys.
    pub(super) fn keys(&self) -> Vec<K> {
        self.of.keys().cloned().collect()
    }

    /// Returns the keys that ran last, the latest first, at most `limit`.
    pub(super) fn recent(&self, limit: usize) -> Vec<K> {
        let last = |(number, key): &&(u64, K)| self.of.get(key).is_some_and(|(at, _)| at == number);
        self.order.iter().rev().filter(last).take(limit).map(|(_, key)| key.clone()).collect()
    }

    pub(super) fn put(&mut self, key: &K, mut record: RunRecord) {
        if self.limit == 0 {
            return;
        }
        let number = self.next;
        self.next += 1;
        match self.of.get_mut(key) {
            Some((at, last)) => {
                record.runs = last.runs + 1;
                (*at, *last) = (number, record);
            }
            None => {
                record.runs = 1;
                self.of.insert(key.clone(), (number, record));
            }
        }
        self.order.push_back((number, key.clone()));
        while self.of.len() > self.limit {
            let Some((number, key)) = self.order.pop_front() else { break };
            if self.of.get(&key).is_some_and(|(at, _)| *at == number) {
                self.of.remove(&key);
            }
        }
        // Compacted at twice the limit: bounded memory, and constant cost per run on average.
        if self.order.len() > self.limit.saturating_mul(2) {
            self.order.retain(|(number, key)| self.of.get(key).is_some_and(|(at, _)| at == number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;
    use machinery_workqueue::Causes;
    use std::time::Duration;
    use tokio::time::Instant;

    fn record() -> RunRecord {
        let (began, took) = (Instant::now(), Duration::ZERO);
        RunRecord { began, took, attempts: 0, causes: Causes::default(), outcome: Outcome::Done, runs: 0 }
    }

    #[test]
    fn the_least_recently_run_key_is_evicted_first() {
        let mut records = RunHistory::new(3, 7);
        for key in [1, 2, 3, 1, 4] {
            records.put(&key, record());
        }
        assert!(records.get(&2).is_none());
        assert_eq!(
            [1, 3, 4].map(|key| records.get(&key).map(|record| record.runs)),
            [Some(2), Some(1), Some(1)]
        );
        assert_eq!(records.recent(2), [4, 1]);
    }

    #[test]
    fn repeated_runs_of_a_key_occupy_one_entry() {
        let mut records = RunHistory::new(4, 7);
        records.put(&0, record());
        for _ in 0..1000 {
            records.put(&1, record());
        }
        assert!(records.order.len() <= 8 && records.of.len() == 2);
        assert_eq!(records.get(&1).map(|record| record.runs), Some(1000));
        assert!(records.get(&0).is_some());
    }
}
