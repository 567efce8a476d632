//! Bringing a pod to the desired state over v1: one call per object that differs, and one restart
//! per service.

use std::collections::{BTreeMap, BTreeSet};

use super::connections::PodConnection;
use super::pod::{CallLimits, Place, PodReport, Push};
use crate::drive::{CnfError, CnfErrorClass};
use crate::model::{CollectionId, RestObject, references};
use crate::plan::{V1Plan, V1Step, v1_plan};

/// Reads the collections that concern the agent.
pub(super) async fn read_v1(
    connection: &PodConnection,
    limits: &CallLimits,
    collections: &BTreeSet<CollectionId>,
) -> Result<BTreeMap<CollectionId, Vec<RestObject>>, CnfError> {
    let mut observed = BTreeMap::new();
    for collection in collections {
        let call = format!("GET {collection}");
        let objects = match limits.call(&call, connection.cnf.list(*collection)).await {
            Ok(objects) => objects,
            // A CNF without this module has none of its objects.
            Err(error) if error.class == CnfErrorClass::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        observed.insert(*collection, objects);
    }
    Ok(observed)
}

/// Performs the steps to the desired state.
pub(super) async fn push_v1(
    connection: &PodConnection,
    push: &Push<'_>,
    observed: &BTreeMap<CollectionId, Vec<RestObject>>,
) -> PodReport {
    let (mut report, limits) = (PodReport::default(), push.limits);
    let is_own = |collection: CollectionId, name: &str| {
        push.written.contains(collection, name) || push.leaving.contains(&(collection, name.to_owned()))
    };
    let plan = v1_plan(push.desired, observed, &is_own);
    let mut done = Vec::new();
    for step in &plan.steps {
        match perform(connection, limits, step, &report).await {
            Ok(()) => {
                if !matches!(step, V1Step::Delete(..)) {
                    report.written.insert(step.place());
                }
                done.push(step);
            }
            // The rest would fail too, each after its time.
            Err(error) if is_of_the_pod(error.class) => {
                report.failure = Some(error);
                break;
            }
            Err(error) => {
                let is_dependency = error.class == CnfErrorClass::MissingDependency;
                match step {
                    V1Step::Delete(..) => drop(report.leftovers.insert(step.place(), error.to_string())),
                    V1Step::Create(_) | V1Step::Replace(_) => {
                        report.failed.insert(step.place(), (error.to_string(), is_dependency));
                    }
                }
            }
        }
    }
    for service in V1Plan::services(done) {
        let call = format!("PUT sdewan/v1/service/{}", service.name());
        if let Err(error) = limits.call(&call, connection.cnf.restart(service)).await {
            report.failure.get_or_insert(error);
        }
    }
    report
}

async fn perform(
    connection: &PodConnection,
    limits: &CallLimits,
    step: &V1Step,
    report: &PodReport,
) -> Result<(), CnfError> {
    let (collection, name) = step.place();
    match step {
        V1Step::Delete(..) => {
            let call = format!("DELETE {collection}/{name}");
            match limits.call(&call, connection.cnf.delete(collection, &name)).await {
                Err(error) if error.class == CnfErrorClass::NotFound => Ok(()),
                other => other,
            }
        }
        V1Step::Create(object) => {
            let call = format!("POST {collection}/{name}");
            awaited(object, report, &call)?;
            if report.leftovers.contains_key(&step.place()) {
                return Err(CnfError::new(
                    CnfErrorClass::Conflict,
                    call,
                    "its former version is still there",
                ));
            }
            limits.call(&call, connection.cnf.create(object)).await
        }
        V1Step::Replace(object) => {
            let call = format!("PUT {collection}/{name}");
            awaited(object, report, &call)?;
            limits.call(&call, connection.cnf.replace(object)).await
        }
    }
}

/// Refuses an object whose dependency has failed: the CNF would answer 428.
fn awaited(object: &RestObject, report: &PodReport, call: &str) -> Result<(), CnfError> {
    let failed = |place: &Place| report.failed.contains_key(place);
    match references(object).into_iter().find(|place| failed(place)) {
        None => Ok(()),
        Some((collection, name)) => {
            let reason = format!("awaits {} {name:?}, which failed", collection.row().noun);
            Err(CnfError::new(CnfErrorClass::MissingDependency, call, reason))
        }
    }
}

/// Returns whether an error is of the pod as a whole.
const fn is_of_the_pod(class: CnfErrorClass) -> bool {
    matches!(class, CnfErrorClass::Unreachable | CnfErrorClass::Credentials | CnfErrorClass::Unauthorized)
}
