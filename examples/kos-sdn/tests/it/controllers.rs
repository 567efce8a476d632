//! Address assignment and wait queues, on a plane with controllers.

use std::sync::Arc;

use kos::controllers::{self, ControllerSettings};
use kos::model::{IPLock, NetworkAttachment, Subnet};
use machinery::controllers::name_of_key;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use machinery::{Objects, Plane};

use crate::harness::{DEADLINE, Harness};
use crate::server::{ServerFixture, key};

const FULL: &str = "Referenced subnet has run out of IPs";

fn has_address(it: Option<&NetworkAttachment>) -> bool {
    it.is_some_and(|it| !it.status.ipv4.is_empty())
}

fn reports(it: Option<&NetworkAttachment>, what: &str) -> bool {
    it.is_some_and(|it| it.status.errors.ipam == [what])
}

async fn delete(harness: &Harness, name: &str) {
    harness.attachments.delete(&key("default", name)).await.unwrap();
}

/// A harness with a full subnet, addresses held by attachments on no node, and
/// waiters in order.
async fn full(block: &str, holding: &[&str], waiting: &[&str]) -> Harness {
    let harness = Harness::without_agents().await;
    harness.subnet("s", 17, block).await;
    for name in holding {
        harness.attach(name, "nowhere", "s").await;
        harness.until(name, has_address).await;
    }
    for name in waiting {
        harness.attach(name, "nowhere", "s").await;
        harness.until(name, |it| reports(it, FULL)).await;
    }
    harness
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_addresses_go_to_waiters_in_order() {
    let harness = full("10.1.0.0/31", &["a", "b"], &["c", "d", "e", "f"]).await;
    assert!(harness.get("c").unwrap().status.address_contention);
    for (deleted, next) in [("a", "c"), ("b", "d"), ("d", "e"), ("c", "f")] {
        delete(&harness, deleted).await;
        harness.until(next, has_address).await;
        let it = harness.get(next).unwrap();
        assert!(it.status.errors.ipam.is_empty() && it.status.address_contention);
    }
    harness.finish().await;
}

/// The order survives restarts of the controllers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wait_queue_order_survives_controller_restarts() {
    for _ in 0..5 {
        let fixture = ServerFixture::new().await;
        let start = async |has_controllers: bool| {
            let plane = fixture.plane().await;
            if has_controllers {
                controllers::run(&plane, ControllerSettings::default()).unwrap();
            }
            let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
            PlaneFixture { plane, attachments, subnets }
        };
        // Without controllers, an address that has waiters is released, and a new attachment is
        // created.
        let first = start(true).await;
        first.subnets.create(&Subnet::new("n", "s", 17, "10.1.0.0/32")).await.unwrap();
        first.attach("a").await;
        first.until("a", has_address).await;
        for name in ["z", "m", "b"] {
            first.attach(name).await;
            first.until(name, |it| reports(it, FULL)).await;
        }
        first.plane.stop().await;
        let between = start(false).await;
        between.attachments.delete(&key("n", "a")).await.unwrap();
        between.attach("aa").await;
        between.plane.stop().await;

        let second = start(true).await;
        for name in ["z", "m", "b", "aa"] {
            second.until(name, has_address).await;
            let holding =
                ["z", "m", "b", "aa"].iter().filter(|name| has_address(second.get(name).as_deref()));
            assert_eq!(holding.collect::<Vec<_>>(), [&name], "{name} is next");
            second.attachments.delete(&key("n", name)).await.unwrap();
        }
        second.plane.stop().await;
        fixture.server.stop().await;
    }
}

struct PlaneFixture {
    plane: Plane,
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

impl PlaneFixture {
    async fn attach(&self, name: &str) {
        let new = NetworkAttachment::new("n", name, "nowhere", "s");
        self.attachments.create(&new).await.unwrap();
    }

    fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key("n", name))
    }

    async fn until(&self, name: &str, condition: impl Fn(Option<&NetworkAttachment>) -> bool) {
        let holds = |_: &Objects<NetworkAttachment>| condition(self.get(name).as_deref()).then_some(());
        if self.attachments.until(DEADLINE, holds).await.is_err() {
            let all = self.attachments.read();
            panic!(
                "the condition never held for {name}: {:#?}",
                all.iter().map(|(_, it)| it).collect::<Vec<_>>()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_waiters_block_nobody() {
    let harness = full("10.1.0.0/32", &["a"], &["b", "c", "d"]).await;
    delete(&harness, "b").await;
    delete(&harness, "a").await;
    harness.until("c", has_address).await;
    // Both at once: the woken waiter may be deleted already.
    delete(&harness, "c").await;
    delete(&harness, "d").await;
    harness.attach("e", "nowhere", "s").await;
    harness.until("e", has_address).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recreated_attachment_is_a_new_waiter() {
    let harness = full("10.1.0.0/31", &["a", "b"], &["c", "d"]).await;
    for round in 0..20 {
        for name in ["a", "c"] {
            let before = harness.get(name).map(|it| it.metadata.uid.clone());
            if before.is_some() {
                delete(&harness, name).await;
            }
            harness.attach(name, "nowhere", "s").await;
            harness.until(name, |it| it.is_some_and(|it| Some(&it.metadata.uid) != before.as_ref())).await;
        }
        // Four attachments for two addresses: a recreated one is last.
        harness
            .until_so(|| {
                let holding = ["a", "b", "c", "d"].map(|name| has_address(harness.get(name).as_deref()));
                holding.iter().filter(|has| **has).count() == 2
            })
            .await;
        if round == 0 {
            harness.until("d", has_address).await;
        }
    }
    for name in ["a", "b", "c", "d"] {
        delete(&harness, name).await;
    }
    harness.attach("last", "nowhere", "s").await;
    harness.until("last", has_address).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_subnet_is_reported_and_awaited() {
    let harness = Harness::without_agents().await;
    harness.subnet("other", 18, "10.2.0.0/24").await;
    harness.attach("a", "nowhere", "s").await;
    harness.attach("b", "nowhere", "other").await;
    harness.until("b", has_address).await;
    harness.until("a", |it| reports(it, "Subnet s does not exist")).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.until("a", |it| has_address(it) && it.is_some_and(|it| it.status.errors.ipam.is_empty())).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recreated_subnet_moves_its_attachments() {
    let harness = Harness::new(2).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.attach("b", "node-2", "s").await;
    for (round, (vni, block)) in (0_u8..).zip([(18, "10.2.0.0/24"), (17, "10.1.0.0/24"), (17, "10.3.0.0/24")])
    {
        for name in ["a", "b"] {
            harness.until_ready(name).await;
        }
        harness.until_pings("a", "b").await;
        harness.subnets.delete(&key("default", "s")).await.unwrap();
        if round == 1 {
            harness.until("a", |it| reports(it, "Subnet s does not exist")).await;
        }
        harness.subnet("s", vni, block).await;
        let start = block.strip_suffix("0/24").unwrap();
        for name in ["a", "b"] {
            harness
                .until(name, |it| {
                    it.is_some_and(|it| {
                        it.status.address_vni == vni
                            && it.status.ipv4.starts_with(start)
                            && it.status.ifc_name == kos_name(it)
                    })
                })
                .await;
        }
    }
    // Each node has the peer of the new network, and none of the old.
    harness.until_pings("a", "b").await;
    harness.until_pings("b", "a").await;
    harness.finish().await;
}

/// Returns the name of the interface of an address.
fn kos_name(it: &NetworkAttachment) -> String {
    let vni = kos::model::Vni::new(it.status.address_vni).unwrap();
    kos::plan::LocalInterface::new(vni, it.status.ipv4.parse().unwrap()).name
}

/// A lock created by hand for an attachment that has an address: nobody else gets that address
/// until the lock is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manually_created_lock_is_respected() {
    let harness = Harness::without_agents().await;
    harness.subnet("s", 17, "10.1.0.0/31").await;
    let locks: Objects<IPLock> = harness.plane.objects().unwrap();
    harness.attach("a", "nowhere", "s").await;
    harness.until("a", has_address).await;
    let free =
        if harness.get("a").unwrap().status.ipv4 == "10.1.0.0" { [10, 1, 0, 1] } else { [10, 1, 0, 0] };
    let taken = kos::plan::AddressKey { vni: kos::model::Vni::new(17).unwrap(), address: free.into() };
    // The owner waits in another subnet, which does not exist.
    harness.attach("other", "nowhere", "none").await;
    harness.until("other", |it| it.is_some()).await;
    let other = harness.get("other").unwrap();
    let owner = OwnerReference {
        api_version: kos::model::API_VERSION.into(),
        kind: "NetworkAttachment".into(),
        name: "other".into(),
        uid: other.metadata.uid.clone().unwrap(),
        ..OwnerReference::default()
    };
    let name = name_of_key(&taken).unwrap();
    locks.create(&IPLock::new("default", &name, "nonsense", owner)).await.unwrap();
    harness.attach("b", "nowhere", "s").await;
    harness.until("b", |it| reports(it, FULL)).await;
    locks.delete(&key("default", &name)).await.unwrap();
    harness.until("b", has_address).await;
    // A lock deleted by hand: the attachment gets the same address again, or another.
    let output = |name: &str| harness.get(name).unwrap().status.lock_uid.clone();
    let before = output("b");
    locks.delete(&key("default", &name)).await.unwrap();
    harness.until("b", |it| has_address(it) && it.is_some_and(|it| it.status.lock_uid != before)).await;
    harness.finish().await;
}

/// The address is still free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manually_deleted_lock_is_recreated() {
    let harness = Harness::new(1).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.until_ready("a").await;
    let before = harness.get("a").unwrap().status.clone();
    let address = before.ipv4.parse().unwrap();
    let taken = kos::plan::AddressKey { vni: kos::model::Vni::new(17).unwrap(), address };
    let locks: Objects<IPLock> = harness.plane.objects().unwrap();
    locks.delete(&key("default", &name_of_key(&taken).unwrap())).await.unwrap();
    harness.until("a", |it| it.is_some_and(|it| it.status.lock_uid != before.lock_uid)).await;
    let after = harness.get("a").unwrap().status.clone();
    assert_eq!((&after.ipv4, &after.ifc_name), (&before.ipv4, &before.ifc_name));
    harness.finish().await;
}
