//! The encryption configuration.

use machinery_store::sealed::KeyRing;

use super::resource::Resources;
use crate::storage::Place;

/// The resources to encrypt in the store, and their keys.
///
/// This is Kubernetes' `EncryptionConfiguration` of `apiserver.config.k8s.io/v1` with the providers
/// `aesgcm` and `identity`. The first matching resource decides. The first key of its providers
/// encrypts, all of them decrypt; `identity` leaves values unencrypted.
///
/// The stored form differs from that of Kubernetes' `aesgcm`: each value has its own derived key,
/// so that keys need no rotation after a number of writes. The data of the two servers is not
/// interchangeable.
#[derive(Clone, Debug)]
pub struct Encryption {
    pub(super) rules: Vec<(Resources, KeyRing)>,
}

impl Encryption {
    /// Returns the keys of a store key's resource; `None` leaves the value unencrypted.
    pub(super) fn ring(&self, key: &str) -> Option<KeyRing> {
        let (group, plural) = Place::resource(key)?;
        self.rules.iter().find(|(of, _)| of.contain(group, plural)).map(|(_, ring)| ring.clone())
    }
}
