//! What is shown, as long as it exists.

use std::collections::BTreeMap;
use std::fmt;

use machinery_sync::Mutex;

use super::NameTaken;

/// What is shown under which name; each says how it is, until it is gone.
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

    /// What each says. Those that are gone are forgotten.
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
