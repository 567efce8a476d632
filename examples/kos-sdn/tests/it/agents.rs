//! Agents on a plane, over the simulated network: frames tell whether it works.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kos::agent::AgentSettings;
use kos::controllers::ControllerSettings;
use kos::drive::{Fabric as _, FabricError};
use kos::plan::{FINALIZER, Local, Remote};

use machinery::informers::deliver::Told;
use tokio::sync::Notify;

use crate::server::key;
use crate::world::{Calls, Watched, World, host};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_of_a_network_reach_each_other() {
    let world = World::new(3).await;
    world.subnet("a", 17, "10.1.0.0/24").await;
    world.subnet("b", 18, "10.1.0.0/24").await;
    for (name, node, subnet) in [
        ("a1", "node-1", "a"),
        ("a2", "node-2", "a"),
        ("a3", "node-2", "a"),
        ("b1", "node-1", "b"),
        ("b2", "node-3", "b"),
    ] {
        world.attach(name, node, subnet).await;
    }
    for name in ["a1", "a2", "a3", "b1", "b2"] {
        world.until_ready(name).await;
    }
    for (from, to) in [("a1", "a2"), ("a2", "a1"), ("a2", "a3"), ("b1", "b2"), ("b2", "b1"), ("a3", "a1")] {
        world.until_pings(from, to).await;
    }
    // Node 3 has nothing of network 17, and hears nothing of it.
    assert_eq!(world.agents[2].networks(), 1);
    world.until_so(|| world.agents[2].interfaces().len() == 2).await;
    assert!(world.ping("b2", "a3").is_err());

    world.attachments.delete(&key("default", "a2")).await.unwrap();
    world.until("a2", |it| it.is_none()).await;
    world.until_so(|| !world.agents[0].interfaces().contains_key(&key("default", "a2"))).await;
    world.until_pings("a3", "a1").await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_free_when_its_node_has_no_interface_of_it() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/32").await;
    world.attach("first", "node-1", "s").await;
    world.until_ready("first").await;
    assert!(world.get("first").unwrap().metadata.finalizers.iter().flatten().any(|one| one == FINALIZER));
    world.attach("second", "node-1", "s").await;
    world.until("second", |it| it.is_some_and(|it| it.status.address_contention)).await;
    world.attachments.delete(&key("default", "first")).await.unwrap();
    world.until_ready("second").await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_there_when_an_agent_begins_is_kept_and_what_is_nobodys_goes() {
    let mut world = World::without_agents().await;
    world.node(1);
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.attach("b", "node-2", "s").await;
    world.until_ready("a").await;
    world.until("b", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    let vni = kos::model::Vni::new(17).unwrap();
    let address = |name| world.get(name).unwrap().status.ipv4.parse::<Ipv4Addr>().unwrap();
    // As an agent left it that died, and some of an earlier life.
    let second = world.underlay.join(host(2)).unwrap();
    second.create_local(&Local::new(vni, address("b"))).await.unwrap();
    second.create_remote(&Remote::new(vni, address("a"), host(1))).await.unwrap();
    let other = kos::model::Vni::new(99).unwrap();
    second.create_local(&Local::new(other, [10, 9, 0, 2].into())).await.unwrap();
    second.create_remote(&Remote::new(other, [10, 9, 0, 3].into(), host(1))).await.unwrap();
    let wrong_host = Remote::new(vni, [10, 1, 0, 255].into(), host(9));
    second.create_remote(&wrong_host).await.unwrap();
    let calls = Arc::new(Calls::default());
    world.agent(2, Watched { of: second.clone(), calls: calls.clone() });
    world.until_ready("b").await;
    world.until_pings("a", "b").await;
    world.until_pings("b", "a").await;
    assert_eq!(calls.made.load(Ordering::SeqCst), 0, "what was there was made again");
    assert_eq!(calls.deleted.load(Ordering::SeqCst), 3);
    let listed = second.list().await.unwrap();
    assert_eq!((listed.locals.len(), listed.remotes.len()), (1, 1));
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_lost_its_flows_has_them_again() {
    let world = World::new(2).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.attach("b", "node-2", "s").await;
    world.until_ready("a").await;
    world.until_ready("b").await;
    world.until_pings("a", "b").await;
    world.underlay.restart_switch(host(2)).unwrap();
    world.until_so(|| world.agents[1].repaired() > 0).await;
    world.until_pings("a", "b").await;
    assert_eq!(world.agents[0].repaired(), 0);
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_make_an_interface_says_so_and_tries_again() {
    let mut world = World::without_agents().await;
    let calls = Arc::new(Calls::default());
    calls.refuses.store(true, Ordering::SeqCst);
    let of = world.underlay.join(host(1)).unwrap();
    world.agent(1, Watched { of, calls: calls.clone() });
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    let asleep = "the switch cannot be reached: it is asleep";
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    world.until_ready("a").await;
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;

    // While it cannot take an interface away the attachment stays, and with it the address.
    calls.refuses.store(true, Ordering::SeqCst);
    world.attachments.delete(&key("default", "a")).await.unwrap();
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    world.until("a", |it| it.is_none()).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_writes_over_an_agents_words_is_put_right() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.until_ready("a").await;
    let mut wrong = (*world.get("a").unwrap()).clone();
    let right = wrong.status.clone();
    wrong.status.host_ip = "192.0.2.99".into();
    wrong.status.ifc_name = "eth0".into();
    world.attachments.update_status(&wrong).await.unwrap();
    world.until("a", |it| it.is_some_and(|it| it.status == right)).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_an_agent_holds_up_nobody() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("nowhere", "node-9", "s").await;
    world.attach("a", "node-1", "s").await;
    world.until_ready("a").await;
    world.until("nowhere", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    world.attachments.delete(&key("default", "nowhere")).await.unwrap();
    world.until("nowhere", |it| it.is_none()).await;
    world.ends().await;
}

/// What is wrong with a fabric.
enum Ails {
    /// Its first remote interface is there, and that it is made is not told until this says so.
    Slow(AtomicBool, Arc<Notify>),
    /// It does not let go of remote interfaces, until an address was asked for that is one's.
    Clings(AtomicBool),
}

struct Ailing(kos::drive::sim::SimFabric, Ails);

#[async_trait::async_trait]
impl kos::drive::Fabric for Ailing {
    fn name(&self) -> &'static str {
        "ailing"
    }

    async fn create_local(&self, interface: &Local) -> Result<(), FabricError> {
        let made = self.0.create_local(interface).await;
        if let (Ails::Clings(clings), Err(FabricError::Taken { .. })) = (&self.1, &made) {
            clings.store(false, Ordering::SeqCst);
        }
        made
    }

    async fn delete_local(&self, interface: &Local) -> Result<(), FabricError> {
        self.0.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        self.0.create_remote(interface).await?;
        match &self.1 {
            Ails::Slow(is_slow, go_on) if is_slow.swap(false, Ordering::SeqCst) => go_on.notified().await,
            _ => {}
        }
        Ok(())
    }

    async fn delete_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        match &self.1 {
            Ails::Clings(clings) if clings.load(Ordering::SeqCst) => {
                Err(FabricError::Unavailable { reason: "it clings".into() })
            }
            _ => self.0.delete_remote(interface).await,
        }
    }

    async fn list(&self) -> Result<kos::drive::Listed, FabricError> {
        self.0.list().await
    }

    async fn audit(&self) -> Result<kos::drive::Audit, FabricError> {
        self.0.audit().await
    }
}

/// Two nodes, of which the fabric of the first ails. Both have one of the two addresses that there are; then the other one goes, and its address is had
/// by a third on the first node.
async fn displaced(ails: Ails) -> World {
    let mut world = World::without_agents().await;
    let of = world.underlay.join(host(1)).unwrap();
    world.agent_with(AgentSettings::new("node-1", host(1)), Ailing(of, ails));
    world.node(2);
    world.subnet("s", 17, "10.1.0.0/31").await;
    world.attach("here", "node-1", "s").await;
    world.attach("there", "node-2", "s").await;
    world.until_ready("here").await;
    world.until_pings("here", "there").await;
    let address = world.get("there").unwrap().status.ipv4.clone();
    world.attachments.delete(&key("default", "there")).await.unwrap();
    world.attach("next", "node-1", "s").await;
    world.until("next", |it| it.is_some_and(|it| it.status.ipv4 == address)).await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_was_elsewhere_makes_way_for_who_has_its_lock() {
    let world = displaced(Ails::Clings(AtomicBool::new(true))).await;
    let mut told = world.attachments.informer().events().unwrap();
    let complains = async {
        while let Some(told) = told.next().await {
            if let Told::Event(_, event) = told
                && !event.object().status.errors.host.is_empty()
            {
                panic!("{:?}", event.object().status);
            }
        }
    };
    tokio::select! {
        biased;
        () = complains => {}
        () = world.until_ready("next") => {}
    }
    world.ends().await;
}

/// The fabric has the way to who was elsewhere, and the agent does not know so yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_tried_by_nobody_while_another_has_its_turn() {
    let go_on = Arc::new(Notify::new());
    let world = displaced(Ails::Slow(AtomicBool::new(true), go_on.clone())).await;
    world.until("next", |it| it.is_some_and(|it| it.metadata.finalizers.is_some())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.get("next").unwrap().status.errors.host, [""; 0]);
    go_on.notify_one();
    world.until_ready("next").await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_node_does_not_answer_is_said_until_it_does() {
    let mut settings = ControllerSettings::default();
    settings.patience = Duration::from_millis(50);
    let mut world = World::with(settings).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    let silent = "Node node-1 does not answer: is an agent of it running?";
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host == [silent])).await;
    world.node(1);
    world.until_ready("a").await;
    assert!(world.get("a").unwrap().status.errors.host.is_empty());
    world.ends().await;
}
