//! The data path of a CNF: makes the device behave as its configuration.

use std::fmt;

use async_trait::async_trait;
use machinery::sync::Mutex;
use thiserror::Error;

use crate::cnf::config::CnfConfig;
use crate::model::{CollectionId, Service};

/// The data path of a CNF.
///
/// A call makes a part of the device behave as the configuration, completely or not at all. It is
/// idempotent, and a later call repairs the effects of a dropped one.
#[async_trait]
pub trait Apply: Send + Sync {
    /// Applies a part of a configuration.
    ///
    /// # Errors
    /// The device behaves as before.
    async fn apply(&self, scope: ApplyScope, config: &CnfConfig) -> Result<(), ApplyError>;
}

/// The part of a configuration that is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyScope {
    /// All of it.
    Whole,
    /// The collections of a service.
    Service(Service),
    /// A collection without a service, whose changes apply at once.
    Collection(CollectionId),
}

/// The data path could not be changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the data path cannot be changed: {0}")]
pub struct ApplyError(pub String);

/// A data path in memory: it holds the last applied configuration and does not forward packets. It
/// fails on request.
#[derive(Default)]
pub struct MemoryDataPath(Mutex<Held>);

#[derive(Default)]
struct Held {
    applied: CnfConfig,
    scopes: Vec<ApplyScope>,
    failure: Option<String>,
}

/// The applied scopes that are kept.
const KEPT: usize = 1 << 12;

impl MemoryDataPath {
    /// Returns the configuration that it behaves as.
    #[must_use]
    pub fn applied(&self) -> CnfConfig {
        self.0.lock().applied.clone()
    }

    /// Returns the first applied scopes.
    #[must_use]
    pub fn scopes(&self) -> Vec<ApplyScope> {
        self.0.lock().scopes.clone()
    }

    /// Lets all calls fail with a text, or none.
    pub fn fail(&self, failure: Option<&str>) {
        self.0.lock().failure = failure.map(str::to_owned);
    }
}

#[async_trait]
impl Apply for MemoryDataPath {
    async fn apply(&self, scope: ApplyScope, config: &CnfConfig) -> Result<(), ApplyError> {
        let mut held = self.0.lock();
        if let Some(failure) = &held.failure {
            return Err(ApplyError(failure.clone()));
        }
        for collection in CollectionId::all() {
            let is_meant = match scope {
                ApplyScope::Whole => true,
                ApplyScope::Service(service) => collection.row().service == Some(service),
                ApplyScope::Collection(one) => one == collection,
            };
            if is_meant {
                held.applied.set(collection, config.list(collection).to_vec());
            }
        }
        if held.scopes.len() < KEPT {
            held.scopes.push(scope);
        }
        Ok(())
    }
}

impl fmt::Debug for MemoryDataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDataPath").field("scopes", &self.0.lock().scopes.len()).finish_non_exhaustive()
    }
}
