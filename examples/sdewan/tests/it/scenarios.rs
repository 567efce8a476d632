//! Scenarios beyond the cases of the page: pods, Deployments and CRs that come and go.

use std::time::Duration;

use machinery::objects::Deletion;
use machinery::tokio;
use machinery::tokio::time::Instant;
use sdewan::drive::CnfErrorClass;
use sdewan::drive::CnfInterface::{self, V1, V2};
use sdewan::drive::fake::FaultKind;
use sdewan::model::CollectionId;
use sdewan::model::names::{DELETING, IDLE, TRYING, UNKNOWN};
use serde_json::json;

use crate::lab::{Lab, key, mwan3, policy, rule};

const POLICY: (&str, &str) = ("Mwan3Policy", "p1");
const R1: (&str, &str) = ("Mwan3Rule", "r1");

async fn beginning(interface: CnfInterface, replicas: i32) -> Lab {
    let mut lab = Lab::new(interface).await;
    lab.start_agent().await;
    lab.deploy("cnf-1", "cnf-1", replicas).await;
    lab.create("Mwan3Policy", "p1", policy()).await;
    lab.create("Mwan3Rule", "r1", rule(81)).await;
    lab.until_in_sync(&[POLICY, R1]).await;
    lab
}

/// One object of each class of REST collection.
const CLASSES: &[(&str, &str, CollectionId)] = &[
    ("Mwan3Policy", "p1", CollectionId::Policies),
    ("FirewallZone", "wan1", CollectionId::Zones),
    ("NetworkFirewallRule", "nf", CollectionId::NetworkFirewallRules),
    ("CNFNAT", "nat", CollectionId::Nats),
    ("CNFRoute", "route", CollectionId::Routes),
    ("CNFRouteRule", "rr", CollectionId::RouteRules),
    ("IpsecProposal", "prop", CollectionId::Proposals),
    ("SdewanApplication", "app", CollectionId::Applications),
];

async fn create_classes(lab: &Lab) {
    lab.create("FirewallZone", "wan1", json!({"network": ["net-a"], "input": "REJECT"})).await;
    lab.create("NetworkFirewallRule", "nf", json!({"src": "#default", "target": "DROP", "dest_port": 23}))
        .await;
    lab.create("CNFNAT", "nat", json!({"target": "MASQUERADE", "dest": "net1"})).await;
    lab.create("CNFRoute", "route", json!({"dst": "192.168.0.0/16", "dev": "net1", "table": "cnf"})).await;
    lab.create("CNFRouteRule", "rr", json!({"src": "192.168.0.0/16", "table": 40})).await;
    let proposal =
        json!({"encryption_algorithm": "aes128", "hash_algorithm": "sha256", "dh_group": "modp3072"});
    lab.create("IpsecProposal", "prop", proposal).await;
    lab.create("SdewanApplication", "app", json!({"podSelector": {"matchLabels": {"app": "cnf-1"}}})).await;
}

async fn holds_all(lab: &Lab, pod: &str) {
    let config = lab.cnf(pod).await.config();
    for (kind, name, collection) in CLASSES {
        assert!(config.get(*collection, name).is_some(), "{pod}: {kind} {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn s05_both_pods_are_lost_and_return_empty() {
    for interface in [V1, V2] {
        let mut lab = beginning(interface, 2).await;
        for pod in ["cnf-1-1", "cnf-1-2"] {
            lab.stop_pod("cnf-1", pod).await;
        }
        lab.pass(60).await;
        assert!(!lab.status("Mwan3Rule", "r1").in_sync);
        for pod in ["cnf-1-1", "cnf-1-2"] {
            lab.restart_pod("cnf-1", pod).await;
        }
        lab.until_in_sync(&[POLICY, R1]).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-2").await), "p1;r1(81)");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s06_to_s08_new_pods_are_filled_with_each_class() {
    for interface in [V1, V2] {
        let mut lab = beginning(interface, 2).await;
        create_classes(&lab).await;
        let all: Vec<_> = CLASSES.iter().map(|(kind, name, _)| (*kind, *name)).collect();
        lab.until_in_sync(&all).await;
        let addresses = lab.cnf("cnf-1-1").await.config();
        let application = addresses.get(CollectionId::Applications, "app").unwrap();
        assert_eq!(application.object.text("iplist"), "10.0.0.1,10.0.0.2");
        // Scale up.
        lab.scale("cnf-1", 3).await;
        lab.pass(10).await;
        assert!(!lab.status("Mwan3Policy", "p1").in_sync);
        lab.start_pod("cnf-1-rs", "cnf-1-3").await;
        lab.report("cnf-1").await;
        lab.until_in_sync(&all).await;
        holds_all(&lab, "cnf-1-3").await;
        // A rolling update: a new ReplicaSet, and both pods serve for a while.
        let deployment = lab.deployments.get(&key("cnf-1")).unwrap();
        lab.replica_set(&deployment, "cnf-1-new").await;
        lab.start_pod("cnf-1-new", "cnf-1-4").await;
        lab.report("cnf-1").await;
        lab.pass(5).await;
        lab.until_in_sync(&all).await;
        holds_all(&lab, "cnf-1-4").await;
        for pod in ["cnf-1-1", "cnf-1-2", "cnf-1-3"] {
            lab.pods.delete(&key(pod)).await.unwrap();
        }
        lab.scale("cnf-1", 1).await;
        lab.report("cnf-1").await;
        lab.pass(5).await;
        lab.until_in_sync(&all).await;
        assert_eq!(lab.status("Mwan3Policy", "p1").synced_pods, "1/1");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s09_and_s10_a_deleted_deployment_frees_its_crs_and_returns() {
    for interface in [V1, V2] {
        let mut lab = beginning(interface, 1).await;
        let before = lab.cnf("cnf-1-1").await;
        before.take_writes();
        lab.deployments.delete(&key("cnf-1")).await.unwrap();
        lab.until(|| (lab.status("Mwan3Rule", "r1").state != IDLE).then(|| "not idle".into())).await;
        let status = lab.status("Mwan3Rule", "r1");
        assert!(!status.in_sync && status.applied_version.is_none() && status.applied_to.is_some());
        lab.delete("Mwan3Rule", "r1").await;
        lab.until_gone("Mwan3Rule", "r1").await;
        assert_eq!(before.take_writes(), Vec::<String>::new());
        lab.until(|| lab.pods.get(&key("cnf-1-1")).map(|_| "the pod is there".into())).await;
        lab.deploy("cnf-1", "cnf-1", 1).await;
        lab.until_in_sync(&[POLICY]).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s11_and_s12_crs_precede_their_cnf_and_rules_their_policy() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.start_agent().await;
        lab.create("Mwan3Rule", "r1", rule(81)).await;
        lab.pass(2).await;
        assert_eq!(lab.status("Mwan3Rule", "r1").state, IDLE);
        lab.create("Mwan3Rule", "never", rule(1)).await;
        lab.pass(1).await;
        lab.delete("Mwan3Rule", "never").await;
        lab.until_gone("Mwan3Rule", "never").await;
        lab.deploy("cnf-1", "cnf-1", 1).await;
        lab.pass(5).await;
        let status = lab.status("Mwan3Rule", "r1");
        assert_eq!((status.state.as_str(), status.message.as_str()), (TRYING, "awaits mwan3policy \"p1\""));
        let start = Instant::now();
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.until_in_sync(&[POLICY, R1]).await;
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s13_a_policy_in_use_goes_with_its_last_rule() {
    for interface in [V1, V2] {
        let lab = beginning(interface, 2).await;
        lab.delete("Mwan3Policy", "p1").await;
        lab.pass(20).await;
        let status = lab.status("Mwan3Policy", "p1");
        assert_eq!(
            (status.state.as_str(), status.message.as_str()),
            (DELETING, "is used by mwan3rule \"r1\"")
        );
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;r1(81)");
        lab.delete("Mwan3Rule", "r1").await;
        lab.until_gone("Mwan3Rule", "r1").await;
        lab.until_gone("Mwan3Policy", "p1").await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), ";");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s18_a_failing_pod_is_named_and_the_other_is_written() {
    for interface in [V1, V2] {
        let lab = beginning(interface, 2).await;
        let cnf = lab.cnf("cnf-1-2").await;
        cnf.fail("P", usize::MAX, FaultKind::Fail(CnfErrorClass::Server, 500));
        create_classes(&lab).await;
        lab.pass(30).await;
        holds_all(&lab, "cnf-1-1").await;
        let status = lab.status("FirewallZone", "wan1");
        assert!(status.message.contains("pod cnf-1-2") && status.message.contains("500"), "{status:?}");
        assert!(status.pods[0].in_sync && !status.pods[1].in_sync && status.synced_pods == "1/2");
        cnf.heal();
        let all: Vec<_> = CLASSES.iter().map(|(kind, name, _)| (*kind, *name)).collect();
        lab.until_in_sync(&all).await;
        holds_all(&lab, "cnf-1-2").await;
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s20_a_hung_cnf_delays_only_itself() {
    let mut lab = beginning(V2, 1).await;
    lab.deploy("cnf-2", "cnf-2", 1).await;
    lab.cnf("cnf-1-1").await.fail("", usize::MAX, FaultKind::Hang(Duration::from_secs(3600)));
    lab.create("Mwan3Rule", "r2", rule(82)).await;
    lab.pass(1).await;
    let start = Instant::now();
    lab.create_for("cnf-2", "Mwan3Policy", "p2", policy()).await;
    lab.until_in_sync(&[("Mwan3Policy", "p2")]).await;
    assert!(start.elapsed() < Duration::from_secs(1));
    lab.pass(10).await;
    assert!(lab.status("Mwan3Rule", "r2").message.contains("no answer in time"));
    lab.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_cnfs_of_one_purpose_get_no_writes_and_are_named() {
    for interface in [V1, V2] {
        let mut lab = beginning(interface, 1).await;
        lab.deploy("second", "cnf-1", 1).await;
        lab.until(|| (lab.status("Mwan3Rule", "r1").state != UNKNOWN).then(|| "not unknown".into())).await;
        let status = lab.status("Mwan3Rule", "r1");
        assert!(status.message.contains("cnf-1, second") && status.applied_version.is_none(), "{status:?}");
        for pod in ["cnf-1-1", "second-1"] {
            lab.cnf(pod).await.take_writes();
        }
        lab.patch("Mwan3Rule", "r1", json!({"spec": {"dest_port": 99}})).await;
        lab.pass(20).await;
        for pod in ["cnf-1-1", "second-1"] {
            assert_eq!(lab.cnf(pod).await.take_writes(), Vec::<String>::new());
        }
        lab.deployments.delete_if(&key("second"), &Deletion::default()).await.unwrap();
        lab.until_in_sync(&[POLICY, R1]).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;r1(99)");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_purpose_cleans_up_the_old_cnf() {
    for interface in [V1, V2] {
        let mut lab = beginning(interface, 1).await;
        lab.deploy("cnf-2", "cnf-2", 1).await;
        for (kind, name) in [R1, POLICY] {
            lab.patch(kind, name, json!({"metadata": {"labels": {"sdewanPurpose": "cnf-2"}}})).await;
        }
        lab.pass(5).await;
        lab.until_in_sync(&[POLICY, R1]).await;
        assert_eq!(lab.status("Mwan3Rule", "r1").applied_to.unwrap().purpose, "cnf-2");
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), ";");
        assert_eq!(mwan3(&lab.cnf("cnf-2-1").await), "p1;r1(81)");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cnf_without_replicas_finishes_deletes() {
    for interface in [V1, V2] {
        let lab = beginning(interface, 1).await;
        lab.scale("cnf-1", 0).await;
        lab.delete("Mwan3Rule", "r1").await;
        lab.pass(20).await;
        assert!(lab.get("Mwan3Rule", "r1").is_some(), "its pod is still there");
        lab.pods.delete(&key("cnf-1-1")).await.unwrap();
        lab.report("cnf-1").await;
        lab.until_gone("Mwan3Rule", "r1").await;
        let status = lab.status("Mwan3Policy", "p1");
        assert!(!status.in_sync && status.message.contains("no replicas"), "{status:?}");
        lab.stop().await;
    }
}
