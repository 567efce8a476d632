//! The Service of the server itself: `kubernetes` in the namespace `default`.

use std::sync::Arc;

use serde_json::json;
use tokio::time::sleep;

use super::created;
use crate::controllers::start::ensure;
use crate::controllers::trigger::{ChangeTrigger, RETRY_DELAY};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// The first address of the default range of kube-apiserver.
const ADDRESS: &str = "10.0.0.1";
const PORT: u16 = 443;

/// Runs until the server stops. A deleted Service is created again; a changed one is kept.
pub(super) async fn run(shared: Arc<Shared>, port: u16) {
    let kind = native::service();
    let mut changes = ChangeTrigger::new(shared.clone(), kind.place.span(Some(NAMESPACE)));
    loop {
        changes.next_of(|key| kind.place.names(key).1 == NAME).await;
        while reconcile(&shared, port).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

pub(super) async fn reconcile(shared: &Shared, port: u16) -> Result<(), Refusal> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": NAME, "namespace": NAMESPACE,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": ADDRESS, "clusterIPs": [ADDRESS], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": PORT, "targetPort": port}],
        },
    });
    created(ensure(shared, &native::service(), service).await)
}
