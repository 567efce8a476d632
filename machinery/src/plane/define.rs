//! Definitions of kinds on a cluster.

use std::num::NonZeroU32;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use machinery_kube::kube_client::Client;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{Freshness, Kind, ListAt, ListRequest, ListWatch, WriteError, Writer};
use tokio::time::{Instant, sleep};

use super::error::PlaneError;
use super::kinds::ObjectType;

/// Timeout for a new definition to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Creates the definition of a kind if it is missing, and waits until the kind is served. An
/// existing definition is not changed.
pub(super) async fn define<K: ObjectType + CustomResourceExt>(
    client: &Client,
    server: &ServerProfile,
) -> Result<(), PlaneError> {
    let kind = Kind::of::<K>()?;
    let objects = Remote::<K>::new(client.clone(), kind.clone(), server.clone());
    let one = ListRequest {
        limit: Some(NonZeroU32::MIN),
        at: ListAt::Fresh(Freshness::Newest),
        ..ListRequest::default()
    };
    // Reading objects may be permitted where writing definitions is not.
    if objects.list(one.clone()).await.is_ok() {
        return Ok(());
    }
    let definitions = Remote::<CustomResourceDefinition>::new(
        client.clone(),
        Kind::of::<CustomResourceDefinition>()?,
        server.clone(),
    );
    match definitions.create(&K::crd(), None).await {
        // An existing definition stays: it may be newer than this program.
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => {}
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

/// Returns whether the server identifies itself as Machinery.
pub(super) async fn is_machinery(client: &Client) -> Result<bool, PlaneError> {
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| PlaneError::Unreachable { reason: error.to_string() })?;
    Ok(version.git_version.contains("+machinery-"))
}
