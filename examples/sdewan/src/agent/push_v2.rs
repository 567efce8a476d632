//! Bringing a pod to the desired state over v2: one conditional write for a pod that differs, one
//! conditional read for one that does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::connections::PodConnection;
use super::pod::{CallLimits, Place, PodReport, Push};
use crate::drive::{CnfError, CnfErrorClass, ConfigWrite, Refusal};
use crate::model::{CollectionId, Desired, Observed};
use crate::plan::{difference, merged, without};

/// The number of attempts against concurrent writers, and of rounds of refusals.
const ATTEMPTS: usize = 8;

const READ: &str = "GET v2/config";
const WRITE: &str = "PUT v2/config";

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

/// Brings a pod to the desired state. Refused objects are left out with their dependents, and the
/// rest is sent at once.
pub(super) async fn push_v2(connection: &mut PodConnection, push: &Push<'_>) -> PodReport {
    let (limits, whole, mac_key) = (push.limits, push.desired, push.mac_key);
    let mut report = PodReport::default();
    let mut refused: BTreeMap<Place, Refusal> = BTreeMap::new();
    let mut desired = whole.clone();
    for _ in 0..ATTEMPTS {
        let Some((tag, config)) = connection.known.clone() else {
            match refresh(connection, limits).await {
                Ok(_) => continue,
                Err(error) => return PodReport::failed_with(error),
            }
        };
        let sealed = desired.with_macs(mac_key);
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
                Ok(read) if difference(&sealed, &read).is_empty() => return report,
                Ok(_) => continue,
                Err(error) => return PodReport::failed_with(error),
            }
        }
        match limits.call(WRITE, connection.cnf.write_config(&desired, &tag)).await {
            Ok(ConfigWrite::Applied { tag }) => {
                connection.known = Some((tag, Arc::new(merged(&config, &sealed))));
                report.written.extend(differs.changed);
                return report;
            }
            Ok(ConfigWrite::Stale) => connection.known = None,
            Ok(ConfigWrite::Refused { refusals }) => {
                let before = refused.len();
                let own = refusals.into_iter().map(|one| ((one.collection, one.name.clone()), one));
                refused.extend(own.filter(|(place, _)| contains(whole, place)));
                if refused.len() == before {
                    let reason = "the CNF refuses the configuration and names no object of it";
                    return PodReport::failed_with(CnfError::new(CnfErrorClass::Refused, WRITE, reason));
                }
                let places: BTreeSet<_> = refused.keys().cloned().collect();
                let is_foreign = |collection: CollectionId, name: &str| {
                    let found = config.get(collection, name);
                    found.is_some_and(|one| one.owner.as_ref() != Some(&whole.owner))
                };
                let (kept, omitted) = without(whole, &places, &is_foreign);
                desired = kept;
                report.failed = omitted_reasons(omitted, &refused);
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

fn contains(desired: &Desired, (collection, name): &Place) -> bool {
    desired.of(*collection).iter().any(|object| object.name() == name)
}

/// Returns the reason of each omitted object, and whether a dependency is missing.
fn omitted_reasons(
    omitted: BTreeMap<Place, Place>,
    refused: &BTreeMap<Place, Refusal>,
) -> BTreeMap<Place, (String, bool)> {
    let reason = |(place, root): (Place, Place)| {
        let refusal = refused.get(&root)?;
        let (code, message) = (refusal.code, &refusal.message);
        let own = place == root;
        let text = match own {
            true => format!("{WRITE}: refused ({code}): {message}"),
            false => format!(
                "awaits {} {:?}, which the CNF refuses ({code}): {message}",
                root.0.row().noun,
                root.1
            ),
        };
        Some((place, (text, !own || code == 428)))
    };
    omitted.into_iter().filter_map(reason).collect()
}
