//! The sequence of keys that become complete.

use std::fmt;
use std::sync::Arc;

use machinery_objects::{EditNumber, Object};

use super::informers::KeyedInformers;
use super::shared::{KeyedShared, SelectorKey};

/// The keys that become complete, including empty ones, and those that are completed again after a
/// restore of the source.
pub struct Completions<F: SelectorKey, T: Send + Sync + 'static> {
    shared: Arc<KeyedShared<F, T>>,
    last_number: EditNumber,
}

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    /// Returns the keys that are complete now, and then each that becomes so: from then on all its
    /// objects can be read. Costs nothing between calls; a late caller receives the keys that are
    /// complete by then.
    #[must_use]
    pub fn completions(&self) -> Completions<F, T> {
        Completions { shared: self.shared().clone(), last_number: EditNumber::FIRST }
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Completions<F, T> {
    /// Waits for the next keys, in order, each with its [number](super::Interest::completed).
    /// Returns `None` once the informers have stopped.
    ///
    /// Cancel safe: dropping the future loses no key.
    pub async fn next(&mut self) -> Option<Vec<(EditNumber, F)>> {
        loop {
            let keyed_cache = &self.shared.keyed_cache;
            let listener = keyed_cache.listen();
            let complete = keyed_cache.complete_since(self.last_number);
            if let Some((last, _)) = complete.last() {
                self.last_number = *last;
                return Some(complete);
            }
            if keyed_cache.is_closed() {
                return None;
            }
            listener.await;
        }
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> fmt::Debug for Completions<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions").field("last_number", &self.last_number).finish_non_exhaustive()
    }
}
