//! Which objects are sealed, and by which keys.

use machinery_store::sealed::Ring;

use super::resource::Resources;
use crate::storage::Place;

/// Which objects are encrypted in the store, and by which keys.
///
/// It is that of Kubernetes, an `EncryptionConfiguration` of `apiserver.config.k8s.io/v1`, with the providers `aesgcm` and `identity`. The first
/// resource that matches decides. The first key of its providers encrypts, all of them decrypt; `identity` is that nothing is encrypted.
///
/// What encrypts is not what Kubernetes' `aesgcm` is: each value has a key of its own, made of the configured one, so that keys need not be
/// replaced after so many writes. Stores cannot be exchanged.
#[derive(Clone, Debug)]
pub struct Encryption {
    pub(super) rules: Vec<(Resources, Ring)>,
}

impl Encryption {
    /// How the value under a key of the store is kept. None: as it is put.
    pub(super) fn ring(&self, key: &str) -> Option<Ring> {
        let (group, plural) = Place::resource(key)?;
        self.rules.iter().find(|(of, _)| of.contain(group, plural)).map(|(_, ring)| ring.clone())
    }
}
