//! Beside a server that knows of our kinds what their definitions say: any Kubernetes without our webhook. Nothing keeps subnets apart there but the
//! validators, agents listen by a stream for each network, and there may be two of each controller.

use kos::agent::AgentSettings;
use kos::controllers::{self, ControllerSettings};
use machinery::Plane;
use machinery::apiserver::{ApiServer, Identity};

use crate::server::{key, plane_beside, stranger};
use crate::world::{World, host};

/// A world beside a stranger, and a second of each controller, if it is to be.
struct Beside {
    world: World,
    rival: Option<Plane>,
    server: ApiServer,
}

impl Beside {
    async fn new(controllers: usize) -> Self {
        let server = stranger().await;
        let plane = plane_beside(&server).await;
        let world = World::on(plane, ControllerSettings::default(), Some(&server));
        let mut beside = Self { world, rival: None, server };
        if controllers == 2 {
            let plane = plane_beside(&beside.server).await;
            let mut settings = ControllerSettings::default();
            settings.seed = 1;
            controllers::run(&plane, settings).unwrap();
            beside.rival = Some(plane);
        }
        for node in [1, 2] {
            let fabric = beside.world.underlay.join(host(node)).unwrap();
            let mut settings = AgentSettings::new(&format!("node-{node}"), host(node));
            settings.per_key = true;
            beside.world.agent_with(settings, fabric);
        }
        beside
    }

    async fn ends(self) {
        self.world.ends().await;
        if let Some(rival) = self.rival {
            rival.stop().await;
        }
        self.server.stop().await;
    }

    async fn until_told(&self, subnet: &str, errors: &[&str]) {
        let is_so = || {
            let subnet = self.world.subnets.get(&key("default", subnet));
            let is_told = |it: &kos::model::Subnet| {
                it.status.errors == errors && it.status.validated == errors.is_empty()
            };
            subnet.is_some_and(|it| is_told(&it))
        };
        self.world.until_so(is_so).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_reach_each_other_by_a_stream_for_each_network() {
    let beside = Beside::new(1).await;
    let world = &beside.world;
    for (subnet, vni) in [("s", 17), ("t", 18)] {
        world.subnet(subnet, vni, "10.1.0.0/24").await;
        for node in ["node-1", "node-2"] {
            world.attach(&format!("{subnet}-{node}"), node, subnet).await;
        }
    }
    for subnet in ["s", "t"] {
        let [one, other] = ["node-1", "node-2"].map(|node| format!("{subnet}-{node}"));
        world.until_ready(&one).await;
        world.until_ready(&other).await;
        world.until_pings(&one, &other).await;
        world.until_pings(&other, &one).await;
    }
    let client =
        machinery::kube::kube_client::Client::new(beside.server.service(Identity::admin()), "default");
    let page = client.request_text(http::Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap();
    assert!(page.contains("machinery_interest_edits_total 0\n"), "one stream for all was asked for: {page}");
    // Who has nothing in a network any more hears no more of it.
    world.attachments.delete(&key("default", "s-node-1")).await.unwrap();
    world.until("s-node-1", |it| it.is_none()).await;
    world.until_so(|| world.agents[0].networks() == 1 && world.agents[0].interfaces().len() == 2).await;
    world.until_so(|| world.agents[1].interfaces().len() == 3).await;
    beside.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subnet_that_cannot_be_read_is_told_so_and_so_are_its_attachments() {
    let beside = Beside::new(1).await;
    let world = &beside.world;
    for (name, vni, ipv4, why) in [
        ("odd", 1, "10.0.0.0", "spec.ipv4: invalid CIDR address: 10.0.0.0"),
        (
            "six",
            2,
            "fd00::/64",
            "spec.ipv4: must be an IPv4 CIDR block, such as 10.1.0.0/16, and fd00::/64 is one of IPv6",
        ),
        ("public", 3, "192.0.2.0/24", "spec.ipv4: must be compliant with RFC 1918 and is not"),
    ] {
        world.subnet(name, vni, ipv4).await;
        world.attach(name, "node-1", name).await;
        beside.until_told(name, &[why]).await;
        let failed = format!("Subnet {name} has not passed validation");
        world.until(name, |it| it.is_some_and(|it| it.status.errors.ipam == [&*failed])).await;
    }
    world.subnet("good", 1, "10.0.0.0/24").await;
    world.attach("good", "node-1", "good").await;
    world.until_ready("good").await;
    beside.ends().await;
}

/// Made one after the other, so that one of them had counted. With two validators each may hear of it first.
async fn of_two_in_each_others_way(controllers: usize) {
    let beside = Beside::new(controllers).await;
    let world = &beside.world;
    world.subnet("first", 17, "10.1.0.0/24").await;
    beside.until_told("first", &[]).await;
    world.subnet("second", 17, "10.1.0.0/25").await;
    world.attach("a", "node-1", "second").await;
    beside.until_told("second", &["CIDR overlaps with default/first's (10.1.0.0/24)"]).await;
    let failed = "Subnet second has not passed validation";
    world.until("a", |it| it.is_some_and(|it| it.status.errors.ipam == [failed])).await;
    assert!(world.subnets.get(&key("default", "first")).unwrap().status.validated);

    world.subnets.delete(&key("default", "first")).await.unwrap();
    beside.until_told("second", &[]).await;
    world.until_ready("a").await;
    // Deleted and made again under its name it is another, and too late.
    world.subnet("first", 17, "10.1.0.0/24").await;
    beside.until_told("first", &["CIDR overlaps with default/second's (10.1.0.0/25)"]).await;
    beside.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_subnets_in_each_others_way_the_later_one_waits_for_the_end_of_the_other() {
    of_two_in_each_others_way(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_validators_it_is_the_same() {
    of_two_in_each_others_way(2).await;
}

/// Whichever counts, or none: never both. When one is gone the other counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_subnets_that_are_made_at_once_no_two_count_that_overlap() {
    let beside = Beside::new(2).await;
    let world = &beside.world;
    for round in 1..=10 {
        let names = [format!("a{round}"), format!("b{round}")];
        let [a, b] = &names;
        futures::join!(world.subnet(a, round, "10.1.0.0/24"), world.subnet(b, round, "10.1.0.0/16"));
        let is_told = |name: &String| {
            let subnet = world.subnets.get(&key("default", name));
            subnet.is_some_and(|it| it.status.validated || !it.status.errors.is_empty())
        };
        world.until_so(|| names.iter().all(is_told)).await;
        let counts =
            |name: &String| world.subnets.get(&key("default", name)).is_some_and(|it| it.status.validated);
        let goes = names.iter().find(|name| counts(name)).unwrap_or(a);
        let stays = names.iter().find(|name| *name != goes).unwrap();
        assert!(!counts(stays));
        world.subnets.delete(&key("default", goes)).await.unwrap();
        beside.until_told(stays, &[]).await;
    }
    beside.ends().await;
}

/// More want addresses than there are, and some go and come again under their names: what two who give them disagree on, locks decide.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_give_addresses_give_each_to_one() {
    let beside = Beside::new(2).await;
    let world = &beside.world;
    world.subnet("s", 17, "10.1.0.0/29").await; // five
    let names: Vec<String> = (0..12).map(|number| format!("a{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        world.attach(name, &format!("node-{}", number % 2 + 1), "s").await;
    }
    let is = |name: &String, is_so: fn(&kos::model::NetworkAttachment) -> bool| {
        world.get(name).is_some_and(|it| is_so(&it))
    };
    let has = |name: &String| is(name, |it| !it.status.ifc_name.is_empty());
    let waits =
        |name: &String| is(name, |it| it.status.errors.ipam == ["Referenced subnet has run out of IPs"]);
    let count = |is_so: &dyn Fn(&String) -> bool| names.iter().filter(|name| is_so(name)).count();
    world.until_so(|| (count(&has), count(&waits)) == (5, 7)).await;
    for round in 0..3 {
        let goes = names.iter().cycle().skip(round * 5).find(|name| has(name)).unwrap();
        world.attachments.delete(&key("default", goes)).await.unwrap();
        world.until(goes, |it| it.is_none()).await;
        world.attach(goes, "node-1", "s").await;
        world.until_so(|| (count(&has), count(&waits)) == (5, 7)).await;
    }
    beside.ends().await;
}
