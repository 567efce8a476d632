//! One pod: reading its configuration, and bringing it to the desired state.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connections::PodConnection;
use super::push_v1::{push_v1, read_v1};
use super::push_v2::{push_v2, read_v2};
use super::record::WrittenNames;
use crate::drive::{CnfError, CnfErrorClass, CnfInterface};
use crate::model::{CollectionId, Desired, Observed, RestObject};

/// An object by collection and name.
pub(super) type Place = (CollectionId, String);

/// The configuration of a pod, as it was read.
#[derive(Clone, Debug)]
pub(super) enum PodConfig {
    /// Over v2, with its tag in the connection.
    V2(Arc<Observed>),
    /// Over v1: the collections that concern the agent.
    V1(BTreeMap<CollectionId, Vec<RestObject>>),
}

/// The result of a pod in one run.
#[derive(Clone, Debug, Default)]
pub(super) struct PodReport {
    /// The reason why nothing is known of the pod.
    pub(super) failure: Option<CnfError>,
    /// The objects that it does not hold, with the reason, and whether a dependency is missing.
    pub(super) failed: BTreeMap<Place, (String, bool)>,
    /// Objects that could not be deleted, with the reason.
    pub(super) leftovers: BTreeMap<Place, String>,
    /// The objects that this run wrote.
    pub(super) written: BTreeSet<Place>,
}

/// The limits of the calls to a pod.
#[derive(Clone, Debug)]
pub(super) struct CallLimits {
    /// Of one call.
    pub(super) call_time: Duration,
    /// Cancelled when the term ends: no call begins after that.
    pub(super) term: CancellationToken,
}

impl CallLimits {
    /// Performs a call within the limits.
    pub(super) async fn call<T>(
        &self,
        name: &str,
        call: impl Future<Output = Result<T, CnfError>>,
    ) -> Result<T, CnfError> {
        let failed = |reason: &str| CnfError::new(CnfErrorClass::Unreachable, name, reason);
        if self.term.is_cancelled() {
            return Err(failed("another agent leads"));
        }
        timeout(self.call_time, call).await.unwrap_or_else(|_| Err(failed("no answer in time")))
    }
}

impl PodReport {
    pub(super) fn failed_with(error: CnfError) -> Self {
        Self { failure: Some(error), ..Self::default() }
    }

    /// Returns whether a retry is due.
    pub(super) fn has_failures(&self) -> bool {
        self.failure.is_some() || !self.failed.is_empty() || !self.leftovers.is_empty()
    }
}

/// Reads the configuration of a pod; over v2 from what is known, if anything is.
pub(super) async fn read(
    connection: &mut PodConnection,
    limits: &CallLimits,
    collections: &BTreeSet<CollectionId>,
) -> Result<PodConfig, CnfError> {
    let interface = match connection.interface {
        Some(interface) => interface,
        None => limits.call("GET v2/config", connection.cnf.interface()).await?,
    };
    connection.interface = Some(interface);
    match interface {
        CnfInterface::V2 => read_v2(connection, limits).await.map(PodConfig::V2),
        CnfInterface::V1 => read_v1(connection, limits, collections).await.map(PodConfig::V1),
    }
}

/// The state to which pods are brought.
#[derive(Clone, Copy)]
pub(super) struct Push<'a> {
    pub(super) limits: &'a CallLimits,
    pub(super) desired: &'a Desired,
    pub(super) mac_key: &'a [u8],
    /// The names that were written over v1.
    pub(super) written: &'a WrittenNames,
    /// Objects of deleted CRs, which go also without an owner.
    pub(super) leaving: &'a BTreeSet<Place>,
}

impl Push<'_> {
    /// Brings a pod to the desired state.
    pub(super) async fn push(&self, connection: &mut PodConnection, config: PodConfig) -> PodReport {
        match config {
            PodConfig::V2(_) => push_v2(connection, self).await,
            PodConfig::V1(observed) => push_v1(connection, self, &observed).await,
        }
    }
}
