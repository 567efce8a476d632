//! A finalizer: external state is cleaned up before its object vanishes.
//! `cargo run -p machinery-controllers --example finalizer`

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ObjectMeta;
use machinery_apiserver::{ApiServer, Identity};
use machinery_controllers::{Controller, Finalizer, FinalizerEvent, Next, Run};
use machinery_informers::Informer;
use machinery_objects::{Deletion, ListWatch, Object, Writer};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The external state, such as the ports of a switch: no garbage collector cleans it up.
#[derive(Default)]
struct Switch {
    ports: Mutex<BTreeSet<String>>,
    changed: Notify,
}

impl Switch {
    async fn until_ports(&self, expected: &[&str]) {
        while !self.ports.lock().iter().map(String::as_str).eq(expected.iter().copied()) {
            self.changed.notified().await;
        }
    }
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
    let maps = server.handle::<ConfigMap>(Identity::admin());
    let source: Arc<dyn ListWatch<Arc<ConfigMap>>> = Arc::new(maps.clone());
    let informer = Informer::builder(source).build();
    let controller = Controller::of("ports", &informer).build()?;

    let (switch, finalizer) =
        (Arc::new(Switch::default()), Finalizer::new("example.com/port", Arc::new(maps.clone()))?);
    let (ports, cached) = (switch.clone(), informer.clone());
    let reconcile = move |map: Arc<ConfigMap>, run: Run| {
        let (switch, cached, finalizer) = (ports.clone(), cached.clone(), finalizer.clone());
        async move {
            let name = map.key().name().to_owned();
            let (switch, port) = (&switch, &name);
            let act = |event| async move {
                match event {
                    FinalizerEvent::Apply => switch.ports.lock().insert(port.clone()),
                    FinalizerEvent::Cleanup => switch.ports.lock().remove(port),
                };
                switch.changed.notify_one();
                Ok::<_, String>(Next::Done)
            };
            let outcome = finalizer.run(&*map, None, act).await?; // adds and removes the finalizer
            if let Some(token) = &outcome.token {
                run.wrote(token, &cached);
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(outcome.next)
        }
    };
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informer.run(stopping.clone()));
    let ends = stopping.clone();
    tasks.spawn(async move { controller.run(reconcile, ends).await });

    for name in ["a", "b"] {
        let metadata = ObjectMeta {
            namespace: Some("default".into()),
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        maps.create(&ConfigMap { metadata, ..ConfigMap::default() }, None).await?;
    }
    switch.until_ports(&["a", "b"]).await;
    maps.delete(&"default/a".parse()?, &Deletion::default()).await?;
    switch.until_ports(&["b"]).await;
    println!("ports: {:?}", switch.ports.lock());

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
    Ok(())
}
