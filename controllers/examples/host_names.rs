//! Name locks of hosts, on a server in this process:
//! `cargo run -p machinery-controllers --example host_names`.

use std::sync::Arc;

use kube_derive::CustomResource;
use machinery_apiserver::{ApiServer, Identity, KindOf};
use machinery_controllers::{Claim, Controller, LockError, LockKinds, NameLocks, Next, Run, Settings};
use machinery_informers::Informer;
use machinery_objects::{Deletion, Kind, ListWatch, Object, ObjectKey, OwnerRef, Writer};
use machinery_store::{Memory, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Host", namespaced, crates(kube_core = "kube_core"))]
struct HostSpec {
    wanted: String,
}

/// The lock of a name: it consists of its metadata.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "HostName", namespaced, crates(kube_core = "kube_core"))]
struct HostNameSpec {}

fn lock(key: &ObjectKey, owner: &OwnerRef) -> HostName {
    let mut lock = HostName::new(key.name(), HostNameSpec {});
    lock.metadata.namespace = key.namespace().map(Into::into);
    lock.metadata.owner_references = Some(vec![owner.into()]);
    lock
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kinds = ApiServer::builder(Memory::new(Options::default()));
    let server = kinds.kind(KindOf::<Host>::new()).kind(KindOf::<HostName>::new()).start().await?;
    let (hosts, names) =
        (server.handle::<Host>(Identity::admin()), server.handle::<HostName>(Identity::admin()));
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());

    let source: Arc<dyn ListWatch<Arc<Host>>> = Arc::new(hosts.clone());
    let informer = Informer::builder(source).build();
    let (kind, owners) = (Kind::of::<HostName>()?, Kind::of::<Host>()?);
    let locking = LockKinds { kind, owners, writer: Arc::new(names.clone()) };
    let source: Arc<dyn ListWatch<Arc<HostName>>> = Arc::new(names.clone());
    let locks =
        NameLocks::<String, HostName>::builder(locking, source, |_, key, owner| lock(key, &owner)).build()?;
    tasks.spawn(informer.run(stopping.clone()));
    tasks.spawn(locks.run(stopping.clone()));

    let settings = Settings { workers: 1, ..Settings::default() };
    let hosts_and_names =
        Controller::of("hosts", &informer).owning("names", locks.informer(), &Kind::of::<Host>()?);
    let controller = hosts_and_names.settings(settings).build()?;
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let claims = locks.clone();
    let reconcile = move |host: Arc<Host>, run: Run| {
        let (locks, sender) = (claims.clone(), sender.clone());
        async move {
            let (me, wanted) = (host.key(), &host.spec.wanted);
            locks.recover(&*host, |name| name == wanted).await?; // release former names
            let claim = locks.claim(&*host, wanted).await?;
            match &claim {
                Claim::Held(held) => {
                    run.wrote(held.token(), locks.informer());
                    println!("{me} is {wanted} {:?}; it writes under the fence {}", run.causes, held.uid());
                }
                Claim::Taken(by) => println!("{me} waits {:?}: {by} is {wanted}", run.causes),
            }
            let _ = sender.send((me.name().to_owned(), matches!(claim, Claim::Held(_))));
            Ok::<_, LockError>(Next::Done)
        }
    };
    {
        let (controller, stopping) = (controller.clone(), stopping.clone());
        tasks.spawn(async move { controller.run(reconcile, stopping).await });
    }
    {
        let (locks, informer, stopping) = (locks.clone(), informer.clone(), stopping.clone());
        tasks.spawn(locks.wake(&controller, &informer, stopping));
    }

    for (name, has_it) in [("db-0", true), ("db-1", false)] {
        let mut host = Host::new(name, HostSpec { wanted: "db.example.com".into() });
        host.metadata.namespace = Some("default".into());
        hosts.create(&host, None).await?;
        while received.recv().await.ok_or("it has ended")? != (name.into(), has_it) {}
    }
    println!("default/db-0 is deleted, and its lock goes with it");
    hosts.delete(&"default/db-0".parse()?, &Deletion::default()).await?;
    while received.recv().await.ok_or("it has ended")? != ("db-1".into(), true) {}

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
    Ok(())
}
