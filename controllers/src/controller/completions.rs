//! Completed keys of keyed informers as a source.

use std::sync::Arc;

use machinery_informers::deliver::Closed;
use machinery_informers::{KeyedInformers, SelectorKey};
use machinery_objects::Object;
use machinery_sync::contained;
use machinery_workqueue::{Add, Priority};

use super::feed::Feed;
use super::source::{EventSource, Feeding};
use crate::{Request, causes};

/// A source that maps completed keys of keyed informers to requests.
pub(super) struct CompletionSource<F: SelectorKey, T: Object, W> {
    pub(super) name: Arc<str>,
    pub(super) objects: KeyedInformers<F, T>,
    pub(super) map_keys: Arc<W>,
}

impl<K, F, T, W> EventSource<K> for CompletionSource<F, T, W>
where
    K: Request,
    F: SelectorKey,
    T: Object,
    W: Fn(&F, &mut Vec<K>) + Send + Sync + 'static,
{
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Keys are acquired and released at any time, so no initial list is waited for.
    fn start(&self, feed: Feed<K>) -> Result<Feeding, Closed> {
        let _ = feed.synced.set(());
        let (mut completions, map_keys) = (self.objects.completions(), self.map_keys.clone());
        let run = Box::pin(async move {
            let mut keys = Vec::new();
            while let Some(complete) = completions.next().await {
                for (number, key) in complete {
                    if let Err(panic) = contained(|| map_keys(&key, &mut keys)) {
                        feed.panicked(&panic);
                    }
                    let add = Add::new().cause(causes::completed(&feed.name, number));
                    for key in keys.drain(..) {
                        let add = feed.prioritized(&key, add, Priority::NORMAL);
                        if !feed.put(key, add, &|| true).await {
                            return;
                        }
                    }
                }
            }
        });
        Ok(Feeding { run, progress: None })
    }
}
