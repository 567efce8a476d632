//! Leader election with fences: a former leader cannot write.
//! `cargo run -p machinery-controllers --example leader_election`

use std::error::Error;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ObjectMeta;
use machinery_apiserver::{ApiServer, Identity};
use machinery_controllers::{ElectionConfig, Elector, Lease, Term};
use machinery_objects::{Conflict, ListWatch, WriteError, Writer};
use machinery_store::{Memory, Options};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A candidate: it sends each of its terms, and leads until the term ends.
async fn candidate(
    server: Arc<ApiServer>,
    name: &'static str,
    number: u64,
    terms: UnboundedSender<(&'static str, Term)>,
    stopping: CancellationToken,
) -> Result<(), String> {
    let leases = server.handle_of::<Lease>(Lease::kind(), Identity::admin());
    let reads: Arc<dyn ListWatch<Arc<Lease>>> = Arc::new(leases.clone());
    let lease = "default/maps".parse().map_err(|_| "a valid name")?;
    let config = ElectionConfig::new(lease, name, number);
    let elector =
        Elector::new(config, reads, Arc::new(leases), Timestamp::now).map_err(|error| error.to_string())?;
    let work = move |term: Term| {
        let terms = terms.clone();
        async move {
            let token = term.token().clone();
            let _ = terms.send((name, term));
            token.cancelled().await;
        }
    };
    elector.lead(work, stopping).await.map(drop).map_err(|error| error.to_string())
}

fn map(name: &str) -> ConfigMap {
    let metadata =
        ObjectMeta { namespace: Some("default".into()), name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let server = Arc::new(ApiServer::builder(Memory::new(Options::default())).start().await?);
    let maps = server.handle::<ConfigMap>(Identity::admin());
    let (tasks, (sender, mut terms)) = (TaskTracker::new(), unbounded_channel());
    let (stop_one, stop_two) = (CancellationToken::new(), CancellationToken::new());

    tasks.spawn(candidate(server.clone(), "one", 1, sender.clone(), stop_one.clone()));
    let (leader, first) = terms.recv().await.ok_or("a leader")?;
    println!("{leader} leads term {}", first.epoch());
    maps.create(&map("a"), Some(first.fence())).await?;

    // The second candidate leads when the first one stops and releases the Lease.
    tasks.spawn(candidate(server.clone(), "two", 2, sender, stop_two.clone()));
    stop_one.cancel();
    let (leader, second) = terms.recv().await.ok_or("another leader")?;
    println!("{leader} leads term {}", second.epoch());
    assert!(leader == "two" && second.epoch() > first.epoch());
    maps.create(&map("b"), Some(second.fence())).await?;

    // A write that the former leader had still in flight: the server refuses it.
    let late = maps.create(&map("c"), Some(first.fence())).await;
    assert!(matches!(late, Err(WriteError::Conflict(Conflict::Fence(_)))), "{late:?}");

    stop_two.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
    Ok(())
}
