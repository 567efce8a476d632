//! Node agents on a plane, over the simulated network; pings verify the data path.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kos::agent::AgentSettings;
use kos::controllers::ControllerSettings;
use kos::drive::{Fabric as _, FabricError};
use kos::plan::{FINALIZER, LocalInterface, RemoteInterface};

use machinery::controllers::{Disturbance, Progress};
use machinery::informers::deliver::Delivery;
use tokio::sync::Notify;

use crate::harness::{Calls, Harness, InstrumentedFabric, host};
use crate::server::key;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_of_a_network_reach_each_other() {
    let harness = Harness::new(3).await;
    harness.subnet("a", 17, "10.1.0.0/24").await;
    harness.subnet("b", 18, "10.1.0.0/24").await;
    for (name, node, subnet) in [
        ("a1", "node-1", "a"),
        ("a2", "node-2", "a"),
        ("a3", "node-2", "a"),
        ("b1", "node-1", "b"),
        ("b2", "node-3", "b"),
    ] {
        harness.attach(name, node, subnet).await;
    }
    for name in ["a1", "a2", "a3", "b1", "b2"] {
        harness.until_ready(name).await;
    }
    for (from, to) in [("a1", "a2"), ("a2", "a1"), ("a2", "a3"), ("b1", "b2"), ("b2", "b1"), ("a3", "a1")] {
        harness.until_pings(from, to).await;
    }
    // Node 3 has no attachment in network 17, so it does not watch it.
    assert_eq!(harness.agents[2].networks(), 1);
    harness.until_so(|| harness.agents[2].interfaces().len() == 2).await;
    assert!(harness.ping("b2", "a3").is_err());

    harness.attachments.delete(&key("default", "a2")).await.unwrap();
    harness.until("a2", |it| it.is_none()).await;
    harness.until_so(|| !harness.agents[0].interfaces().contains_key(&key("default", "a2"))).await;
    harness.until_pings("a3", "a1").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn address_is_released_after_its_interface() {
    let harness = Harness::new(1).await;
    harness.subnet("s", 17, "10.1.0.0/32").await;
    harness.attach("first", "node-1", "s").await;
    harness.until_ready("first").await;
    assert!(harness.get("first").unwrap().metadata.finalizers.iter().flatten().any(|one| one == FINALIZER));
    harness.attach("second", "node-1", "s").await;
    harness.until("second", |it| it.is_some_and(|it| it.status.address_contention)).await;
    harness.attachments.delete(&key("default", "first")).await.unwrap();
    harness.until_ready("second").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_adopts_owned_interfaces_and_deletes_others() {
    let mut harness = Harness::without_agents().await;
    harness.node(1);
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.attach("b", "node-2", "s").await;
    harness.until_ready("a").await;
    harness.until("b", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    let vni = kos::model::Vni::new(17).unwrap();
    let address = |name| harness.get(name).unwrap().status.ipv4.parse::<Ipv4Addr>().unwrap();
    // The state that a crashed agent left, with some stale interfaces.
    let second = harness.underlay.join(host(2)).unwrap();
    let kept = LocalInterface::new(vni, address("b")).with_workload(key("default", "b"), Some(24));
    second.create_local(&kept).await.unwrap();
    second.create_remote(&RemoteInterface::new(vni, address("a"), host(1))).await.unwrap();
    let other = kos::model::Vni::new(99).unwrap();
    second.create_local(&LocalInterface::new(other, [10, 9, 0, 2].into())).await.unwrap();
    second.create_remote(&RemoteInterface::new(other, [10, 9, 0, 3].into(), host(1))).await.unwrap();
    let wrong_host = RemoteInterface::new(vni, [10, 1, 0, 255].into(), host(9));
    second.create_remote(&wrong_host).await.unwrap();
    let calls = Arc::new(Calls::default());
    let settings = AgentSettings::new("node-2", host(2));
    harness.unwatched(settings, InstrumentedFabric { of: second.clone(), calls: calls.clone() });
    harness.until_ready("b").await;
    harness.until_pings("a", "b").await;
    harness.until_pings("b", "a").await;
    harness.until_so(|| harness.agents[1].unclaimed() == 0).await;
    harness.watch(2);
    assert_eq!(calls.made.load(Ordering::SeqCst), 0, "existing interfaces were recreated");
    assert_eq!(calls.deleted.load(Ordering::SeqCst), 3);
    let listed = second.list().await.unwrap();
    assert_eq!((listed.locals.len(), listed.remotes.len()), (1, 1));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_switch_gets_its_flows_back() {
    let harness = Harness::new(2).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.attach("b", "node-2", "s").await;
    harness.until_ready("a").await;
    harness.until_ready("b").await;
    harness.until_pings("a", "b").await;
    harness.underlay.restart_switch(host(2)).unwrap();
    harness.until_so(|| harness.agents[1].repaired() > 0).await;
    harness.until_pings("a", "b").await;
    assert_eq!(harness.agents[0].repaired(), 0);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fabric_error_is_reported_and_retried() {
    let mut harness = Harness::without_agents().await;
    let calls = Arc::new(Calls::default());
    calls.refuses.store(true, Ordering::SeqCst);
    let of = harness.underlay.join(host(1)).unwrap();
    harness.agent(1, InstrumentedFabric { of, calls: calls.clone() });
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    let asleep = "the switch cannot be reached: it is asleep";
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    harness.until_ready("a").await;
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;

    // While deletion of the interface fails, the attachment and its address stay.
    calls.refuses.store(true, Ordering::SeqCst);
    harness.attachments.delete(&key("default", "a")).await.unwrap();
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    harness.until("a", |it| it.is_none()).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_status_write_is_reverted() {
    let harness = Harness::new(1).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.until_ready("a").await;
    let mut wrong = (*harness.get("a").unwrap()).clone();
    let right = wrong.status.clone();
    wrong.status.host_ip = "192.0.2.99".into();
    wrong.status.ifc_name = "eth0".into();
    harness.attachments.update_status(&wrong).await.unwrap();
    harness.until("a", |it| it.is_some_and(|it| it.status == right)).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_without_agent_blocks_no_deletion() {
    let harness = Harness::new(1).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("nowhere", "node-9", "s").await;
    harness.attach("a", "node-1", "s").await;
    harness.until_ready("a").await;
    harness.until("nowhere", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    harness.attachments.delete(&key("default", "nowhere")).await.unwrap();
    harness.until("nowhere", |it| it.is_none()).await;
    harness.finish().await;
}

/// A fault of a fabric.
enum FabricFault {
    /// The first creation of a remote interface succeeds, but does not return until notified.
    Slow(AtomicBool, Arc<Notify>),
    /// Deletion of remote interfaces fails until a local interface of the same address is
    /// requested.
    Clings(AtomicBool),
}

struct FaultyFabric(kos::drive::sim::SimFabric, FabricFault);

#[async_trait::async_trait]
impl kos::drive::Fabric for FaultyFabric {
    fn name(&self) -> &'static str {
        "ailing"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.0.create_local(interface).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.0.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.0.create_remote(interface).await?;
        match &self.1 {
            FabricFault::Slow(is_slow, go_on) if is_slow.swap(false, Ordering::SeqCst) => {
                go_on.notified().await
            }
            _ => {}
        }
        Ok(())
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        match &self.1 {
            FabricFault::Clings(clings) if clings.swap(false, Ordering::SeqCst) => {
                Err(FabricError::Refused { what: "the deletion".into(), reason: "it clings".into() })
            }
            _ => self.0.delete_remote(interface).await,
        }
    }

    async fn list(&self) -> Result<kos::drive::InterfaceList, FabricError> {
        self.0.list().await
    }

    async fn repair(&self, progress: &Progress) -> Result<kos::drive::FabricRepairs, FabricError> {
        self.0.repair(progress).await
    }

    async fn disturbed(&self) -> Disturbance {
        self.0.disturbed().await
    }

    async fn status(&self) -> kos::drive::FabricStatus {
        self.0.status().await
    }
}

/// Two nodes, the first with a faulty fabric. Each holds one of the two addresses; then the second
/// attachment is deleted, and a third on the first node gets its address.
async fn displaced(fault: FabricFault) -> Harness {
    let mut harness = Harness::without_agents().await;
    let of = harness.underlay.join(host(1)).unwrap();
    harness.agent_with(AgentSettings::new("node-1", host(1)), FaultyFabric(of, fault));
    harness.node(2);
    harness.subnet("s", 17, "10.1.0.0/31").await;
    harness.attach("here", "node-1", "s").await;
    harness.attach("there", "node-2", "s").await;
    harness.until_ready("here").await;
    harness.until_ready("there").await;
    harness.until_pings("here", "there").await;
    let address = harness.get("there").unwrap().status.ipv4.clone();
    harness.attachments.delete(&key("default", "there")).await.unwrap();
    harness.attach("next", "node-1", "s").await;
    harness.until("next", |it| it.is_some_and(|it| it.status.ipv4 == address)).await;
    harness
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_remote_interface_yields_to_the_lock_holder() {
    let harness = displaced(FabricFault::Clings(AtomicBool::new(true))).await;
    let mut output = harness.attachments.informer().events().unwrap();
    let complains = async {
        while let Some(output) = output.next().await {
            let Delivery::Event(_, event) = output else { continue };
            // Only the refused deletion may be reported, and not for long.
            let errors = &event.object().status.errors.host;
            assert!(errors.iter().all(|error| error.contains("it clings")), "{:?}", event.object().status);
        }
    };
    tokio::select! {
        biased;
        () = complains => {}
        () = harness.until_ready("next") => {}
    }
    harness.until("next", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;
    harness.finish().await;
}

/// The fabric still has the remote interface of the former holder, and the agent does not know it
/// yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fabric_calls_of_an_address_are_serialized() {
    let go_on = Arc::new(Notify::new());
    let harness = displaced(FabricFault::Slow(AtomicBool::new(true), go_on.clone())).await;
    harness.until("next", |it| it.is_some_and(|it| it.metadata.finalizers.is_some())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(harness.get("next").unwrap().status.errors.host, [""; 0]);
    go_on.notify_one();
    harness.until_ready("next").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_node_is_reported_until_it_answers() {
    let mut settings = ControllerSettings::default();
    settings.silence_timeout = Duration::from_millis(50);
    let mut harness = Harness::with(settings).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    let silent = "Node node-1 does not answer: is an agent of it running?";
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host == [silent])).await;
    harness.node(1);
    harness.until_ready("a").await;
    assert!(harness.get("a").unwrap().status.errors.host.is_empty());
    harness.finish().await;
}
