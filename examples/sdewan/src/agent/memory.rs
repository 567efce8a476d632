//! What the agent remembers of each CNF between runs. All of it may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery::sync::Mutex;

use super::connections::PodConnection;
use super::record::WrittenNames;
use super::sources::SecretInterest;
use crate::model::CnfKey;
use crate::plan::Pacing;

/// The memory of an agent in one term.
#[derive(Default)]
pub(super) struct Memory {
    cnfs: Mutex<BTreeMap<CnfKey, Arc<Mutex<CnfMemory>>>>,
    /// The CNFs that use a Secret, by namespace and name.
    secrets: Mutex<BTreeMap<(String, String), BTreeSet<CnfKey>>>,
}

/// The memory of one CNF. Runs of one CNF exclude each other.
#[derive(Default)]
pub(super) struct CnfMemory {
    pub(super) pacing: Pacing,
    /// Consecutive runs with a failure.
    pub(super) failures: u32,
    /// Number of runs, for jitter.
    pub(super) runs: u64,
    /// The connections by pod UID.
    pub(super) pods: BTreeMap<String, PodConnection>,
    /// The names that were written over v1, as recorded; `None` before they are read.
    pub(super) written: Option<WrittenNames>,
    /// The interest in the Secrets of the namespace, if the CNF uses any.
    pub(super) secrets: Option<SecretInterest>,
}

impl Memory {
    /// Returns the memory of a CNF.
    pub(super) fn of(&self, cnf: &CnfKey) -> Arc<Mutex<CnfMemory>> {
        self.cnfs.lock().entry(cnf.clone()).or_default().clone()
    }

    /// Forgets all CNFs, at the start of a term.
    pub(super) fn clear(&self) {
        self.cnfs.lock().clear();
        self.secrets.lock().clear();
    }

    /// Forgets a CNF.
    pub(super) fn forget(&self, cnf: &CnfKey) {
        self.cnfs.lock().remove(cnf);
        self.uses_secrets(cnf, &BTreeSet::new());
    }

    /// Notes the Secrets that a CNF uses.
    pub(super) fn uses_secrets(&self, cnf: &CnfKey, names: &BTreeSet<String>) {
        let mut secrets = self.secrets.lock();
        secrets.retain(|(namespace, name), users| {
            if *namespace == cnf.namespace && !names.contains(name) {
                users.remove(cnf);
            }
            !users.is_empty()
        });
        for name in names {
            secrets.entry((cnf.namespace.clone(), name.clone())).or_default().insert(cnf.clone());
        }
    }

    /// Returns the CNFs that use a Secret.
    pub(super) fn users_of_secret(&self, namespace: &str, name: &str) -> Vec<CnfKey> {
        let secrets = self.secrets.lock();
        let users = secrets.get(&(namespace.to_owned(), name.to_owned()));
        users.into_iter().flatten().cloned().collect()
    }
}
