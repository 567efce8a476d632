//! A keyed informer: a cache of the objects under acquired keys only.
//! `cargo run -p machinery-informers --example keyed_informer`
//!
//! A node agent needs the ports of the networks on its node, and this set changes. The server sends
//! the objects of acquired keys in one stream.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{ApiServer, Identity};
use machinery_informers::{KeyedInformers, Lookup};
use machinery_kube::PartialMetadata;
use machinery_objects::{
    InterestBy, Kind, Labels, ListWatch, Object, ObjectKey, ResourceVersion, Scope, Writer,
};
use machinery_store::{Memory, Options};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A ConfigMap that describes a port: only its metadata is decoded and cached.
#[derive(Debug, Deserialize)]
struct Port {
    metadata: PartialMetadata,
}

impl Object for Port {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        self.metadata.labels.clone()
    }
}

fn port(name: &str, network: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": name, "labels": {"network": network}},
    })
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
    let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced)?;
    let writer = server.handle_of::<Value>(kind.clone(), Identity::admin());
    for (name, network) in [("a", "blue"), ("b", "red"), ("c", "blue")] {
        writer.create(&port(name, network), None).await?;
    }

    let source: Arc<dyn ListWatch<Arc<Port>>> = Arc::new(server.handle_of::<Port>(kind, Identity::admin()));
    let network = |port: &Port| port.labels().get("network").map(ToString::to_string);
    let ports = KeyedInformers::builder(source, InterestBy::Label("network".into()), network).build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(ports.run(stopping.clone()));

    let blue = ports.acquire("blue".to_owned())?; // cached until the last interest is dropped
    blue.synced().await?;
    assert_eq!(ports.read().iter().count(), 2);
    assert!(matches!(ports.lookup(&"default/a".parse()?), Lookup::Unique(_, _)));
    assert!(matches!(ports.lookup(&"default/b".parse()?), Lookup::Absent), "red is not acquired");

    let written = writer.create(&port("d", "blue"), None).await?;
    ports.wait_for(&written.token, Duration::from_secs(60)).await?;
    assert_eq!(ports.read().iter().count(), 3);
    println!("blue: {} ports", ports.read().iter().count());

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
    Ok(())
}
