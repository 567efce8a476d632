//! Who gets an address, and who waits for one, on a plane with controllers.

use std::sync::Arc;

use kos::controllers::{self, ControllerSettings};
use kos::model::{IPLock, NetworkAttachment, Subnet};
use machinery::controllers::name_of_key;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use machinery::{Objects, Plane};

use crate::server::{Stage, key};
use crate::world::{DEADLINE, World};

const FULL: &str = "Referenced subnet has run out of IPs";

fn has_address(it: Option<&NetworkAttachment>) -> bool {
    it.is_some_and(|it| !it.status.ipv4.is_empty())
}

fn is_told(it: Option<&NetworkAttachment>, what: &str) -> bool {
    it.is_some_and(|it| it.status.errors.ipam == [what])
}

async fn delete(world: &World, name: &str) {
    world.attachments.delete(&key("default", name)).await.unwrap();
}

/// A world with a subnet of so many addresses, all had by attachments on no node, and others that wait in order.
async fn full(block: &str, having: &[&str], waiting: &[&str]) -> World {
    let world = World::without_agents().await;
    world.subnet("s", 17, block).await;
    for name in having {
        world.attach(name, "nowhere", "s").await;
        world.until(name, has_address).await;
    }
    for name in waiting {
        world.attach(name, "nowhere", "s").await;
        world.until(name, |it| is_told(it, FULL)).await;
    }
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_is_told_and_has_what_is_freed_in_order() {
    let world = full("10.1.0.0/31", &["a", "b"], &["c", "d", "e", "f"]).await;
    assert!(world.get("c").unwrap().status.address_contention);
    for (goes, comes) in [("a", "c"), ("b", "d"), ("d", "e"), ("c", "f")] {
        delete(&world, goes).await;
        world.until(comes, has_address).await;
        let it = world.get(comes).unwrap();
        assert!(it.status.errors.ipam.is_empty() && it.status.address_contention);
    }
    world.ends().await;
}

/// The line is in nobody's memory alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_keeps_its_order_when_the_controllers_begin_anew() {
    for _ in 0..5 {
        let stage = Stage::new().await;
        let begin = async |has_controllers: bool| {
            let plane = stage.plane().await;
            if has_controllers {
                controllers::run(&plane, ControllerSettings::default()).unwrap();
            }
            let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
            Here { plane, attachments, subnets }
        };
        // Without controllers an address is freed that somebody waits for, and somebody new comes.
        let first = begin(true).await;
        first.subnets.create(&Subnet::new("n", "s", 17, "10.1.0.0/32")).await.unwrap();
        first.attach("a").await;
        first.until("a", has_address).await;
        for name in ["z", "m", "b"] {
            first.attach(name).await;
            first.until(name, |it| is_told(it, FULL)).await;
        }
        first.plane.stop().await;
        let between = begin(false).await;
        between.attachments.delete(&key("n", "a")).await.unwrap();
        between.attach("aa").await;
        between.plane.stop().await;

        let second = begin(true).await;
        for name in ["z", "m", "b", "aa"] {
            second.until(name, has_address).await;
            let having = ["z", "m", "b", "aa"].iter().filter(|name| has_address(second.get(name).as_deref()));
            assert_eq!(having.collect::<Vec<_>>(), [&name], "it was {name}'s turn");
            second.attachments.delete(&key("n", name)).await.unwrap();
        }
        second.plane.stop().await;
        stage.server.stop().await;
    }
}

struct Here {
    plane: Plane,
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

impl Here {
    async fn attach(&self, name: &str) {
        let new = NetworkAttachment::new("n", name, "nowhere", "s");
        self.attachments.create(&new).await.unwrap();
    }

    fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key("n", name))
    }

    async fn until(&self, name: &str, is_so: impl Fn(Option<&NetworkAttachment>) -> bool) {
        let so = kos::until::until(&self.attachments, |_| is_so(self.get(name).as_deref()).then_some(()));
        if tokio::time::timeout(DEADLINE, so).await.is_err() {
            let all = self.attachments.read();
            panic!("{name} never was so: {:#?}", all.iter().map(|(_, it)| it).collect::<Vec<_>>());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_the_line_holds_up_nobody() {
    let world = full("10.1.0.0/32", &["a"], &["b", "c", "d"]).await;
    delete(&world, "b").await;
    delete(&world, "a").await;
    world.until("c", has_address).await;
    // Both at once: whoever is woken may be gone.
    delete(&world, "c").await;
    delete(&world, "d").await;
    world.attach("e", "nowhere", "s").await;
    world.until("e", has_address).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attachment_that_is_made_again_is_another() {
    let world = full("10.1.0.0/31", &["a", "b"], &["c", "d"]).await;
    for round in 0..20 {
        for name in ["a", "c"] {
            let before = world.get(name).map(|it| it.metadata.uid.clone());
            if before.is_some() {
                delete(&world, name).await;
            }
            world.attach(name, "nowhere", "s").await;
            world.until(name, |it| it.is_some_and(|it| Some(&it.metadata.uid) != before.as_ref())).await;
        }
        // Four for two: whoever is made again stands last.
        world
            .until_so(|| {
                let having = ["a", "b", "c", "d"].map(|name| has_address(world.get(name).as_deref()));
                having.iter().filter(|has| **has).count() == 2
            })
            .await;
        if round == 0 {
            world.until("d", has_address).await;
        }
    }
    for name in ["a", "b", "c", "d"] {
        delete(&world, name).await;
    }
    world.attach("last", "nowhere", "s").await;
    world.until("last", has_address).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subnet_that_is_not_there_is_said_and_waited_for() {
    let world = World::without_agents().await;
    world.subnet("other", 18, "10.2.0.0/24").await;
    world.attach("a", "nowhere", "s").await;
    world.attach("b", "nowhere", "other").await;
    world.until("b", has_address).await;
    world.until("a", |it| is_told(it, "Subnet s does not exist")).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.until("a", |it| has_address(it) && it.is_some_and(|it| it.status.errors.ipam.is_empty())).await;
    world.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subnet_that_is_made_again_elsewhere_takes_its_attachments_along() {
    let world = World::new(2).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.attach("b", "node-2", "s").await;
    for (round, (vni, block)) in (0_u8..).zip([(18, "10.2.0.0/24"), (17, "10.1.0.0/24"), (17, "10.3.0.0/24")])
    {
        for name in ["a", "b"] {
            world.until_ready(name).await;
        }
        world.until_pings("a", "b").await;
        world.subnets.delete(&key("default", "s")).await.unwrap();
        if round == 1 {
            world.until("a", |it| is_told(it, "Subnet s does not exist")).await;
        }
        world.subnet("s", vni, block).await;
        let start = block.strip_suffix("0/24").unwrap();
        for name in ["a", "b"] {
            world
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
    // Each node hears of the other in the new network, and of the old one no more.
    world.until_pings("a", "b").await;
    world.until_pings("b", "a").await;
    world.ends().await;
}

/// The name of the interface that an address has.
fn kos_name(it: &NetworkAttachment) -> String {
    let vni = kos::model::Vni::new(it.status.address_vni).unwrap();
    kos::plan::Local::new(vni, it.status.ipv4.parse().unwrap()).name
}

/// Somebody takes an address by hand, for an attachment that has one already: nobody else gets it, and when it is given back it is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_made_by_hand_counts() {
    let world = World::without_agents().await;
    world.subnet("s", 17, "10.1.0.0/31").await;
    let locks: Objects<IPLock> = world.plane.objects().unwrap();
    world.attach("a", "nowhere", "s").await;
    world.until("a", has_address).await;
    let free = if world.get("a").unwrap().status.ipv4 == "10.1.0.0" { [10, 1, 0, 1] } else { [10, 1, 0, 0] };
    let taken = kos::plan::AddressKey { vni: kos::model::Vni::new(17).unwrap(), address: free.into() };
    // Of somebody who waits in another subnet, which is not there.
    world.attach("other", "nowhere", "none").await;
    world.until("other", |it| it.is_some()).await;
    let other = world.get("other").unwrap();
    let owner = OwnerReference {
        api_version: kos::model::API_VERSION.into(),
        kind: "NetworkAttachment".into(),
        name: "other".into(),
        uid: other.metadata.uid.clone().unwrap(),
        ..OwnerReference::default()
    };
    let name = name_of_key(&taken).unwrap();
    locks.create(&IPLock::new("default", &name, "nonsense", owner)).await.unwrap();
    world.attach("b", "nowhere", "s").await;
    world.until("b", |it| is_told(it, FULL)).await;
    locks.delete(&key("default", &name)).await.unwrap();
    world.until("b", has_address).await;
    // And one is taken away by hand from who has it: it has it again, or another.
    let told = |name: &str| world.get(name).unwrap().status.lock_uid.clone();
    let before = told("b");
    locks.delete(&key("default", &name)).await.unwrap();
    world.until("b", |it| has_address(it) && it.is_some_and(|it| it.status.lock_uid != before)).await;
    world.ends().await;
}

/// As long as nobody else has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_taken_away_by_hand_is_had_again() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.until_ready("a").await;
    let before = world.get("a").unwrap().status.clone();
    let address = before.ipv4.parse().unwrap();
    let taken = kos::plan::AddressKey { vni: kos::model::Vni::new(17).unwrap(), address };
    let locks: Objects<IPLock> = world.plane.objects().unwrap();
    locks.delete(&key("default", &name_of_key(&taken).unwrap())).await.unwrap();
    world.until("a", |it| it.is_some_and(|it| it.status.lock_uid != before.lock_uid)).await;
    let after = world.get("a").unwrap().status.clone();
    assert_eq!((&after.ipv4, &after.ifc_name), (&before.ipv4, &before.ifc_name));
    world.ends().await;
}
