//! What is shown, as long as it exists.

use std::collections::BTreeMap;
use std::fmt;

use machinery_sync::Mutex;

use super::NameTaken;

/// What is shown under which name; each says how it is, until it is gone.
pub(super) struct Watched<S>(Mutex<BTreeMap<String, Box<Look<S>>>>);

type Look<S> = dyn Fn() -> Option<S> + Send + Sync;

impl<S> Watched<S> {
    pub(super) fn add(
        &self,
        name: &str,
        look: impl Fn() -> Option<S> + Send + Sync + 'static,
    ) -> Result<(), NameTaken> {
        let mut all = self.0.lock();
        if all.get(name).is_some_and(|other| other().is_some()) {
            return Err(NameTaken { name: name.into() });
        }
        all.insert(name.into(), Box::new(look));
        Ok(())
    }

    /// What each says. Those that are gone are forgotten.
    pub(super) fn look(&self) -> Vec<(String, S)> {
        let mut live = Vec::new();
        self.0.lock().retain(|name, look| {
            let seen = look();
            let is_there = seen.is_some();
            live.extend(seen.map(|seen| (name.clone(), seen)));
            is_there
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
