//! Definitions of kinds on a cluster.

use std::num::NonZeroU32;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use machinery_kube::kube_client::Client;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{
    Freshness, Kind, ListAt, ListRequest, ListWatch, ObjectKey, Preconditions, WriteError, Writer,
};
use tokio::time::{Instant, sleep};

use super::error::PlaneError;
use super::kinds::ObjectType;
use crate::kind::{DefinitionDifference, differences};

/// Timeout for a new definition to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Attempts of an update, while others write the definition.
const UPDATES: usize = 5;

/// Creates the definition of a kind if it is missing, and waits until the kind is served. An
/// existing definition is compared, and updated if requested.
pub(super) async fn define<K: ObjectType + CustomResourceExt>(
    client: &Client,
    server: &ServerProfile,
    updates: bool,
) -> Result<(), PlaneError> {
    let kind = Kind::of::<K>()?;
    let objects = Remote::<K>::new(client.clone(), kind.clone(), server.clone());
    let one = ListRequest {
        limit: Some(NonZeroU32::MIN),
        at: ListAt::Fresh(Freshness::Newest),
        ..ListRequest::default()
    };
    let definitions = Remote::<CustomResourceDefinition>::new(
        client.clone(),
        Kind::of::<CustomResourceDefinition>()?,
        server.clone(),
    );
    // Reading objects may be permitted where writing definitions is not.
    if objects.list(one.clone()).await.is_ok() {
        return compare::<K>(&definitions, &kind, updates).await;
    }
    match definitions.create(&K::crd(), None).await {
        Ok(_) => {}
        // Created meanwhile, or in deletion, or without this version.
        Err(WriteError::AlreadyExists { .. }) => compare::<K>(&definitions, &kind, updates).await?,
        Err(why) => return Err(PlaneError::Definition { kind: kind.to_string(), why }),
    }
    // Kubernetes serves a new kind some time after the create, and answers 404 until then.
    let until = Instant::now() + SERVED_TIMEOUT;
    loop {
        match objects.list(one.clone()).await {
            Ok(_) => return Ok(()),
            Err(_) if Instant::now() < until => sleep(POLL_INTERVAL).await,
            Err(why) => {
                return Err(PlaneError::NotServed {
                    kind: kind.to_string(),
                    seconds: SERVED_TIMEOUT.as_secs(),
                    why,
                });
            }
        }
    }
}

/// Compares the definition of a kind with that of this program: updates it if requested and
/// compatible, otherwise logs the differences.
async fn compare<K: CustomResourceExt>(
    definitions: &Remote<CustomResourceDefinition>,
    kind: &Kind,
    updates: bool,
) -> Result<(), PlaneError> {
    // Never invalid: it consists of the group and the resource name of a kind.
    let Ok(key) = ObjectKey::new(None, K::crd_name()) else { return Ok(()) };
    let program = K::crd();
    for _ in 0..UPDATES {
        let server = match definitions.get(&key, Freshness::Newest).await {
            Ok(Some(server)) => server,
            // A server of the kind without a definition: the kind is its program's own.
            Ok(None) => return Ok(()),
            Err(why) if updates => return Err(PlaneError::Unreadable { kind: kind.to_string(), why }),
            Err(error) => {
                tracing::debug!(%kind, %error, "the definition on the server cannot be compared");
                return Ok(());
            }
        };
        let differences = differences_of(&program, &server);
        if differences.is_empty() {
            return Ok(());
        }
        let (compatible, incompatible): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(|difference| difference.is_compatible);
        if !updates {
            for difference in incompatible.iter().chain(&compatible) {
                tracing::warn!(%kind, %difference, "the server has another definition: call update_definitions()");
            }
            return Ok(());
        }
        if !incompatible.is_empty() {
            return Err(PlaneError::Incompatible { kind: kind.to_string(), differences: incompatible });
        }
        match definitions.update(&updated(&program, server), &Preconditions::default()).await {
            Ok(_) => {
                for difference in &compatible {
                    tracing::info!(%kind, %difference, "the definition on the server was updated");
                }
                return Ok(());
            }
            Err(WriteError::Conflict(_)) => {}
            Err(why) => return Err(PlaneError::Definition { kind: kind.to_string(), why }),
        }
    }
    let kind = kind.to_string();
    tracing::warn!(%kind, "the definition on the server is written by others at the same time");
    Ok(())
}

fn differences_of(
    program: &CustomResourceDefinition,
    server: &CustomResourceDefinition,
) -> Vec<DefinitionDifference> {
    let json = |definition| serde_json::to_value(definition).unwrap_or_default();
    differences(&json(program), &json(server))
}

/// Returns the server's definition with the names, versions and annotations of the program.
fn updated(program: &CustomResourceDefinition, server: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut updated = server;
    updated.spec.versions.clone_from(&program.spec.versions);
    updated.spec.names.clone_from(&program.spec.names);
    let annotations = program.metadata.annotations.iter().flatten();
    let annotations = annotations.map(|(name, value)| (name.clone(), value.clone()));
    updated.metadata.annotations.get_or_insert_default().extend(annotations);
    updated
}

/// Returns whether the server identifies itself as Machinery.
pub(super) async fn is_machinery(client: &Client) -> Result<bool, PlaneError> {
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| PlaneError::Unreachable { reason: error.to_string() })?;
    Ok(version.git_version.contains("+machinery-"))
}
