//! The record of the names that the agent wrote over v1, which has no owners: one Secret per CNF,
//! written before each write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery::k8s_openapi::ByteString;
use machinery::k8s_openapi::api::core::v1::Secret;
use machinery::kube_core::ObjectMeta;
use machinery::objects::{Fence, ObjectKey, Preconditions, WriteError, Writer};

use crate::model::names::PURPOSE_LABEL;
use crate::model::{CnfKey, CollectionId};

/// The names that were or are about to be written to a CNF.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenNames {
    names: BTreeSet<(CollectionId, String)>,
    secret: Option<Arc<Secret>>,
}

/// The key of the names in the Secret.
const NAMES: &str = "names";

impl WrittenNames {
    /// Reads the record from its Secret.
    pub(super) fn of(secret: Option<Arc<Secret>>) -> Self {
        let data = secret.as_ref().and_then(|secret| secret.data.as_ref()?.get(NAMES));
        let stored: BTreeMap<String, Vec<String>> =
            data.and_then(|bytes| serde_json::from_slice(&bytes.0).ok()).unwrap_or_default();
        let mut names = BTreeSet::new();
        for (path, of_collection) in stored {
            let Some(collection) = CollectionId::of_path(&path) else { continue };
            names.extend(of_collection.into_iter().map(|name| (collection, name)));
        }
        Self { names, secret }
    }

    /// Returns whether an object may be the agent's.
    pub(super) fn contains(&self, collection: CollectionId, name: &str) -> bool {
        self.names.contains(&(collection, name.to_owned()))
    }

    /// Returns the collections with recorded names.
    pub(super) fn collections(&self) -> impl Iterator<Item = CollectionId> {
        self.names.iter().map(|(collection, _)| *collection)
    }

    /// Records names in addition, or in place of all; nothing is written without a change.
    pub(super) async fn record(
        &mut self,
        writer: &dyn Writer<Secret>,
        cnf: &CnfKey,
        names: BTreeSet<(CollectionId, String)>,
        fence: Option<&Fence>,
    ) -> Result<(), WriteError> {
        if names == self.names {
            return Ok(());
        }
        let mut stored: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (collection, name) in &names {
            stored.entry(collection.path()).or_default().push(name);
        }
        let data = serde_json::to_vec(&stored).unwrap_or_default();
        let mut secret = self.secret.as_deref().cloned().unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                namespace: Some(cnf.namespace.clone()),
                name: Some(name_of(cnf)),
                labels: Some([(PURPOSE_LABEL.to_owned(), cnf.purpose.clone())].into()),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        });
        secret.data = Some([(NAMES.to_owned(), ByteString(data))].into());
        let written = match self.secret {
            Some(_) => {
                let only_if = Preconditions { fence: fence.cloned(), ..Preconditions::default() };
                writer.update(&secret, &only_if).await?
            }
            None => writer.create(&secret, fence).await?,
        };
        (self.names, self.secret) = (names, Some(Arc::new(written.object)));
        Ok(())
    }

    /// Returns the names.
    pub(super) const fn names(&self) -> &BTreeSet<(CollectionId, String)> {
        &self.names
    }
}

/// Returns the key of the Secret of a CNF.
pub(super) fn record_key(cnf: &CnfKey) -> Option<ObjectKey> {
    ObjectKey::new(Some(&cnf.namespace), &name_of(cnf)).ok()
}

/// Returns the name of the Secret: values of labels may have letters that names of objects have not.
fn name_of(cnf: &CnfKey) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if cnf.purpose.bytes().all(is_plain) {
        return format!("sdewan-written-{}", cnf.purpose);
    }
    let hexadecimal: String = cnf.purpose.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("sdewan-written.{hexadecimal}")
}
