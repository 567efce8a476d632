//! Turns of callers, by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_sync::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Mutual exclusion by key. Callers of different keys proceed concurrently.
pub(super) struct KeyTurns<K>(Mutex<BTreeMap<K, Arc<AsyncMutex<()>>>>);

/// The turn of a key, until it is dropped. Turns of one key are granted in the order of the calls.
pub struct KeyTurn<'a, K: Ord> {
    turns: &'a KeyTurns<K>,
    key: K,
    held: Option<OwnedMutexGuard<()>>,
}

impl<K: Ord + Clone> KeyTurns<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Waits for the turn of a key.
    pub(super) async fn of(&self, key: &K) -> KeyTurn<'_, K> {
        // Before the wait, so that a dropped future leaves no entry.
        let mut turn = KeyTurn { turns: self, key: key.clone(), held: None };
        let lock = self.0.lock().entry(key.clone()).or_default().clone();
        turn.held = Some(lock.lock_owned().await);
        turn
    }
}

impl<K: Ord> Drop for KeyTurn<'_, K> {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut turns = self.turns.0.lock();
        // Clones are made under this mutex: without one, nobody waits.
        if turns.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            turns.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn p43_turns_of_one_key_exclude_each_other() {
        let turns = KeyTurns::new();
        let held = turns.of(&1).await;
        assert!(turns.of(&2).now_or_never().is_some());
        assert!(turns.of(&1).now_or_never().is_none());
        drop(held);
        assert!(turns.of(&1).now_or_never().is_some());
        assert!(turns.0.lock().is_empty(), "unused turns are dropped");
    }
}
