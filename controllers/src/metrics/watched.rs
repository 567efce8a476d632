//! Named sample sources, while they exist.

use std::collections::BTreeMap;
use std::fmt;

use machinery_sync::Mutex;

use super::NameTaken;

/// Sample functions by name; one that returns `None` is removed.
pub(super) struct Watched<S>(Mutex<BTreeMap<String, Box<SampleFn<S>>>>);

type SampleFn<S> = dyn Fn() -> Option<S> + Send + Sync;

impl<S> Watched<S> {
    pub(super) fn add(
        &self,
        name: &str,
        sample: impl Fn() -> Option<S> + Send + Sync + 'static,
    ) -> Result<(), NameTaken> {
        let mut all = self.0.lock();
        if all.get(name).is_some_and(|other| other().is_some()) {
            return Err(NameTaken { name: name.into() });
        }
        all.insert(name.into(), Box::new(sample));
        Ok(())
    }

    /// Samples all sources, and removes those that no longer exist.
    pub(super) fn sample(&self) -> Vec<(String, S)> {
        let mut live = Vec::new();
        self.0.lock().retain(|name, sample| {
            let seen = sample();
            let is_alive = seen.is_some();
            live.extend(seen.map(|seen| (name.clone(), seen)));
            is_alive
        });
        live
    }
}

impl<S> Default for Watched<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> fmt::Debug for Watched<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}
