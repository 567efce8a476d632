//! Bringing a pod to the desired state over v2: one conditional write for a pod that differs, one
//! conditional read for one that does not.

use std::sync::Arc;

use super::connections::PodConnection;
use super::pod::{CallLimits, PodReport, Push};
use super::refusals::{Attempt, Refusals};
use crate::drive::{CnfError, CnfErrorClass, ConfigWrite, Refusal};
use crate::model::Observed;
use crate::plan::{difference, merged};

/// The number of attempts against concurrent writers, and of rounds of refusals.
const ATTEMPTS: usize = 8;

const READ: &str = "GET v2/config";
pub(super) const WRITE: &str = "PUT v2/config";

/// Returns the configuration: the known one, or it is read.
pub(super) async fn read_v2(
    connection: &mut PodConnection,
    limits: &CallLimits,
) -> Result<Arc<Observed>, CnfError> {
    match &connection.known {
        Some((_, config)) => Ok(config.clone()),
        None => refresh(connection, limits).await,
    }
}

/// Reads the configuration if it is not the known one.
async fn refresh(connection: &mut PodConnection, limits: &CallLimits) -> Result<Arc<Observed>, CnfError> {
    let known = connection.known.as_ref().map(|(tag, _)| tag);
    match limits.call(READ, connection.cnf.read_config(known)).await {
        Ok(Some(read)) => {
            let config = Arc::new(read.config);
            connection.known = Some((read.tag, config.clone()));
            Ok(config)
        }
        Ok(None) => match &connection.known {
            Some((_, config)) => Ok(config.clone()),
            None => Err(CnfError::new(CnfErrorClass::Malformed, READ, "not modified, without a condition")),
        },
        Err(error) => {
            connection.known = None;
            Err(error)
        }
    }
}

/// Brings a pod to the desired state. Refused objects are left out with their dependents, objects
/// that the CNF does not remove are kept, and the rest is sent at once.
pub(super) async fn push_v2(connection: &mut PodConnection, push: &Push<'_>) -> PodReport {
    let (limits, whole, mac_key) = (push.limits, push.desired, push.mac_key);
    let mut report = PodReport::default();
    let mut refused = Refusals::default();
    for _ in 0..ATTEMPTS {
        let Some((tag, config)) = connection.known.clone() else {
            match refresh(connection, limits).await {
                Ok(_) => continue,
                Err(error) => return PodReport::failed_with(error),
            }
        };
        let attempt = refused.respected(whole, &config);
        let sealed = attempt.desired.with_macs(mac_key);
        if let Err(error) = delete_unowned(connection, push, &config, &mut report).await {
            connection.known = None;
            return PodReport::failed_with(error);
        }
        if connection.known.is_none() {
            continue;
        }
        let differs = difference(&sealed, &config);
        if differs.is_empty() {
            // Known is not read: a pod may have restarted, or another client written.
            match refresh(connection, limits).await {
                Ok(read) if difference(&sealed, &read).is_empty() => return with_refusals(report, attempt),
                Ok(_) => continue,
                Err(error) => return PodReport::failed_with(error),
            }
        }
        match limits.call(WRITE, connection.cnf.write_config(&attempt.desired, &tag)).await {
            Ok(ConfigWrite::Applied { tag }) => {
                connection.known = Some((tag, Arc::new(merged(&config, &sealed))));
                report.written.extend(differs.changed);
                return with_refusals(report, attempt);
            }
            Ok(ConfigWrite::Stale) => connection.known = None,
            Ok(ConfigWrite::Refused { refusals }) if refused.note(&refusals, whole) => {}
            Ok(ConfigWrite::Refused { refusals }) => {
                return PodReport::failed_with(not_understood(&refusals));
            }
            Err(error) => {
                // The write may have taken place.
                connection.known = None;
                return PodReport::failed_with(error);
            }
        }
    }
    connection.known = None;
    let reason = "other clients keep changing the configuration";
    PodReport::failed_with(CnfError::new(CnfErrorClass::Conflict, WRITE, reason))
}

fn with_refusals(mut report: PodReport, attempt: Attempt) -> PodReport {
    report.failed = attempt.failed;
    report.leftovers.extend(attempt.leftovers);
    report
}

/// Returns the error of a refusal that does not end when the refused objects are left out.
fn not_understood(refusals: &[Refusal]) -> CnfError {
    let shown = refusals.first().map(|one| format!("{}/{}: {}", one.collection, one.name, one.message));
    let reason = format!(
        "the CNF refuses the configuration without its refused objects, too: {}",
        shown.unwrap_or_default()
    );
    CnfError::new(CnfErrorClass::Refused, WRITE, reason)
}

/// Deletes the objects of deleted CRs that have no owner, which a v2 write leaves alone: v1 made
/// them. The configuration is then unknown.
async fn delete_unowned(
    connection: &mut PodConnection,
    push: &Push<'_>,
    config: &Observed,
    report: &mut PodReport,
) -> Result<(), CnfError> {
    // Users first: references are to earlier collections only.
    for place in push.leaving.iter().rev() {
        let (collection, name) = place;
        let is_unowned = config.get(*collection, name).is_some_and(|one| one.owner.is_none());
        if !is_unowned || report.leftovers.contains_key(place) {
            continue;
        }
        let call = format!("DELETE {collection}/{name}");
        match push.limits.call(&call, connection.cnf.delete(*collection, name)).await {
            Ok(()) => connection.known = None,
            Err(error) if error.class == CnfErrorClass::NotFound => connection.known = None,
            Err(error) if error.class == CnfErrorClass::InUse => {
                report.leftovers.insert(place.clone(), error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
