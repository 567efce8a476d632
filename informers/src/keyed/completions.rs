//! Keys that become complete, one after another.

use std::fmt;
use std::sync::Arc;

use machinery_objects::{EditNumber, Object};

use super::informers::KeyedInformers;
use super::shared::{KeyedShared, SelectorKey};

/// Keys that become complete, also those of which nothing is there, and those that do once more where a source was restored.
pub struct Completions<F: SelectorKey, T: Send + Sync + 'static> {
    shared: Arc<KeyedShared<F, T>>,
    last_number: EditNumber,
}

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    /// Tells of each key that is complete, and of each that becomes so: then all that is under it can be read. It costs nothing while
    /// nobody asks: who comes late is told of those that are complete by then.
    #[must_use]
    pub fn completions(&self) -> Completions<F, T> {
        Completions { shared: self.shared().clone(), last_number: EditNumber::FIRST }
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Completions<F, T> {
    /// Waits for the next ones, each with its [number](super::Interest::completed), in their order. `None`: the informers have stopped.
    ///
    /// Dropping the future loses nothing.
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
        f.debug_struct("Completions").field("told", &self.last_number).finish_non_exhaustive()
    }
}
