//! Components on a server that has only our definitions, as any Kubernetes without our webhook:
//! only the validators keep subnets apart, agents use one watch per network, and each controller
//! may run twice.

use kos::agent::AgentSettings;
use kos::controllers::{self, ControllerSettings};
use kos::model::{NetworkAttachment, Subnet};
use machinery::Plane;
use machinery::apiserver::{ApiServer, Identity};
use machinery::kube_core::CustomResourceExt as _;
use machinery::objects::{Freshness, Kind, ListWatch as _, Patch, PatchFormat, Preconditions, Writer as _};
use serde_json::{Value, json};

use crate::harness::{Harness, host};
use crate::server::{foreign_server, foreign_server_of, key, plane_on};

/// A harness on a foreign server, with a second instance of each controller if requested.
struct ForeignServerHarness {
    harness: Harness,
    rival: Option<Plane>,
    server: ApiServer,
}

impl ForeignServerHarness {
    async fn new(controllers: usize) -> Self {
        Self::on(foreign_server().await, controllers).await
    }

    async fn on(server: ApiServer, controllers: usize) -> Self {
        let plane = plane_on(&server).await;
        let harness = Harness::on(plane, ControllerSettings::default(), Some(&server));
        let mut foreign = Self { harness, rival: None, server };
        if controllers == 2 {
            let plane = plane_on(&foreign.server).await;
            let mut settings = ControllerSettings::default();
            settings.seed = 1;
            controllers::run(&plane, settings).unwrap();
            foreign.rival = Some(plane);
        }
        for node in [1, 2] {
            let fabric = foreign.harness.underlay.join(host(node)).unwrap();
            let mut settings = AgentSettings::new(&format!("node-{node}"), host(node));
            settings.per_key = true;
            foreign.harness.agent_with(settings, fabric);
        }
        foreign
    }

    async fn finish(self) {
        self.harness.finish().await;
        if let Some(rival) = self.rival {
            rival.stop().await;
        }
        self.server.stop().await;
    }

    async fn until_validated(&self, subnet: &str, errors: &[&str]) {
        let condition = || {
            let subnet = self.harness.subnets.get(&key("default", subnet));
            let reports =
                |it: &Subnet| it.status.errors == errors && it.status.validated == errors.is_empty();
            subnet.is_some_and(|it| reports(&it))
        };
        self.harness.until_so(condition).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_reach_each_other_with_one_watch_per_network() {
    let foreign = ForeignServerHarness::new(1).await;
    let harness = &foreign.harness;
    for (subnet, vni) in [("s", 17), ("t", 18)] {
        harness.subnet(subnet, vni, "10.1.0.0/24").await;
        for node in ["node-1", "node-2"] {
            harness.attach(&format!("{subnet}-{node}"), node, subnet).await;
        }
    }
    for subnet in ["s", "t"] {
        let [one, other] = ["node-1", "node-2"].map(|node| format!("{subnet}-{node}"));
        harness.until_ready(&one).await;
        harness.until_ready(&other).await;
        harness.until_pings(&one, &other).await;
        harness.until_pings(&other, &one).await;
    }
    let client =
        machinery::kube::kube_client::Client::new(foreign.server.service(Identity::admin()), "default");
    let page = client.request_text(http::Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap();
    assert!(
        page.contains("machinery_interest_edits_total 0\n"),
        "a watch with an interest was requested: {page}"
    );
    // A node without attachments in a network does not watch it.
    harness.attachments.delete(&key("default", "s-node-1")).await.unwrap();
    harness.until("s-node-1", |it| it.is_none()).await;
    harness.until_so(|| harness.agents[0].networks() == 1 && harness.agents[0].interfaces().len() == 2).await;
    harness.until_so(|| harness.agents[1].interfaces().len() == 3).await;
    foreign.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_subnet_is_reported_to_its_attachments() {
    let foreign = ForeignServerHarness::new(1).await;
    let harness = &foreign.harness;
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
        harness.subnet(name, vni, ipv4).await;
        harness.attach(name, "node-1", name).await;
        foreign.until_validated(name, &[why]).await;
        let failed = format!("Subnet {name} has not passed validation");
        harness.until(name, |it| it.is_some_and(|it| it.status.errors.ipam == [&*failed])).await;
    }
    harness.subnet("good", 1, "10.0.0.0/24").await;
    harness.attach("good", "node-1", "good").await;
    harness.until_ready("good").await;
    foreign.finish().await;
}

/// Created one after the other, so the first is validated. Two validators may receive them in any
/// order.
async fn conflicting_subnets(controllers: usize) {
    let foreign = ForeignServerHarness::new(controllers).await;
    let harness = &foreign.harness;
    harness.subnet("first", 17, "10.1.0.0/24").await;
    foreign.until_validated("first", &[]).await;
    harness.subnet("second", 17, "10.1.0.0/25").await;
    harness.attach("a", "node-1", "second").await;
    foreign.until_validated("second", &["CIDR overlaps with default/first's (10.1.0.0/24)"]).await;
    let failed = "Subnet second has not passed validation";
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.ipam == [failed])).await;
    assert!(harness.subnets.get(&key("default", "first")).unwrap().status.validated);

    harness.subnets.delete(&key("default", "first")).await.unwrap();
    foreign.until_validated("second", &[]).await;
    harness.until_ready("a").await;
    // The recreated subnet is a new one, and comes second.
    harness.subnet("first", 17, "10.1.0.0/24").await;
    foreign.until_validated("first", &["CIDR overlaps with default/second's (10.1.0.0/25)"]).await;
    foreign.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_conflicting_subnet_waits_for_deletion_of_the_other() {
    conflicting_subnets(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_validators_agree_on_conflicting_subnets() {
    conflicting_subnets(2).await;
}

/// Either or none is validated, never both. After a deletion the other one is validated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_conflicting_subnets_are_never_both_validated() {
    let foreign = ForeignServerHarness::new(2).await;
    let harness = &foreign.harness;
    for round in 1..=10 {
        let names = [format!("a{round}"), format!("b{round}")];
        let [a, b] = &names;
        futures::join!(harness.subnet(a, round, "10.1.0.0/24"), harness.subnet(b, round, "10.1.0.0/16"));
        let reports = |name: &String| {
            let subnet = harness.subnets.get(&key("default", name));
            subnet.is_some_and(|it| it.status.validated || !it.status.errors.is_empty())
        };
        harness.until_so(|| names.iter().all(reports)).await;
        let counts =
            |name: &String| harness.subnets.get(&key("default", name)).is_some_and(|it| it.status.validated);
        let deleted = names.iter().find(|name| counts(name)).unwrap_or(a);
        let stays = names.iter().find(|name| *name != deleted).unwrap();
        assert!(!counts(stays));
        harness.subnets.delete(&key("default", deleted)).await.unwrap();
        foreign.until_validated(stays, &[]).await;
    }
    foreign.finish().await;
}

/// More attachments than addresses, with recreations under the same names: the locks resolve
/// conflicts of two controllers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_ipam_controllers_assign_each_address_once() {
    let foreign = ForeignServerHarness::new(2).await;
    let harness = &foreign.harness;
    harness.subnet("s", 17, "10.1.0.0/29").await; // five usable addresses
    let names: Vec<String> = (0..12).map(|number| format!("a{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        harness.attach(name, &format!("node-{}", number % 2 + 1), "s").await;
    }
    let is = |name: &String, condition: fn(&NetworkAttachment) -> bool| {
        harness.get(name).is_some_and(|it| condition(&it))
    };
    let has = |name: &String| is(name, |it| !it.status.ifc_name.is_empty());
    let waits =
        |name: &String| is(name, |it| it.status.errors.ipam == ["Referenced subnet has run out of IPs"]);
    let count = |condition: &dyn Fn(&String) -> bool| names.iter().filter(|name| condition(name)).count();
    harness.until_so(|| (count(&has), count(&waits)) == (5, 7)).await;
    for round in 0..3 {
        let deleted = names.iter().cycle().skip(round * 5).find(|name| has(name)).unwrap();
        harness.attachments.delete(&key("default", deleted)).await.unwrap();
        harness.until(deleted, |it| it.is_none()).await;
        harness.attach(deleted, "node-1", "s").await;
        harness.until_so(|| (count(&has), count(&waits)) == (5, 7)).await;
    }
    foreign.finish().await;
}

/// A newer version of the program has a further field in the status, which this one does not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn components_keep_a_status_field_of_a_newer_version() {
    let mut definition = serde_json::to_value(NetworkAttachment::crd()).unwrap();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    definition.pointer_mut(status).unwrap()["quality"] = json!({"type": "string"});
    let foreign = ForeignServerHarness::on(foreign_server_of(definition).await, 1).await;
    let harness = &foreign.harness;
    let raw = foreign.server.handle_of::<Value>(Kind::of::<NetworkAttachment>().unwrap(), Identity::admin());
    harness.attach("a", "node-1", "s").await;
    let body = json!({"status": {"quality": "good"}}).to_string().into_bytes();
    let newer = Patch { format: PatchFormat::Merge, body: body.into(), status: true };
    raw.patch(&key("default", "a"), &newer, &Preconditions::default()).await.unwrap();
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.until_ready("a").await;
    let read = async || raw.get(&key("default", "a"), Freshness::Newest).await.unwrap().unwrap();
    let object = read().await;
    assert_eq!(
        (&object["status"]["quality"], object["status"]["ifcName"].is_string()),
        (&"good".into(), true)
    );
    assert_eq!(object["metadata"]["finalizers"].as_array().unwrap().len(), 1);
    foreign.finish().await;
}
