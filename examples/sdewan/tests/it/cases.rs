//! The four cases of the page, over v1 and v2, with each write.

use std::time::Duration;

use machinery::tokio;
use sdewan::drive::CnfErrorClass;
use sdewan::drive::CnfInterface::{self, V1, V2};
use sdewan::drive::fake::FaultKind;
use sdewan::model::names::{DELETING, TRYING};

use crate::lab::{Lab, mwan3, policy, rule};

const POLICY: (&str, &str) = ("Mwan3Policy", "p1");
const R1: (&str, &str) = ("Mwan3Rule", "r1");
const R2: (&str, &str) = ("Mwan3Rule", "r2");
const R3: (&str, &str) = ("Mwan3Rule", "r3");
const PODS: [&str; 2] = ["cnf-1-1", "cnf-1-2"];

/// The common beginning: two pods, a policy and two rules, all in sync.
async fn beginning(interface: CnfInterface) -> Lab {
    let mut lab = Lab::new(interface).await;
    lab.start_agent().await;
    lab.deploy("cnf-1", "cnf-1", 2).await;
    lab.create("Mwan3Policy", "p1", policy()).await;
    lab.create("Mwan3Rule", "r1", rule(81)).await;
    lab.create("Mwan3Rule", "r2", rule(80)).await;
    lab.until_in_sync(&[POLICY, R1, R2]).await;
    for pod in PODS {
        assert_eq!(mwan3(&lab.cnf(pod).await), "p1;r1(81),r2(80)");
        let writes = lab.cnf(pod).await.take_writes();
        assert!(!writes.is_empty());
    }
    for (kind, name) in [POLICY, R1, R2] {
        let object = lab.get(kind, name).unwrap();
        let status = object.sync_status();
        assert!(object.has_finalizer("rule.finalizers.sdewan.akraino.org"));
        assert!(status.in_sync && status.applied_version.is_some() && status.applied_time.is_some());
        assert_eq!((status.message.as_str(), status.synced_pods.as_str()), ("", "2/2"));
    }
    lab
}

/// The writes of a pod in the form that an interface has.
fn writes<'a>(interface: CnfInterface, v1: &[&'a str]) -> Vec<&'a str> {
    match interface {
        V2 if v1.is_empty() => Vec::new(),
        V2 => vec!["PUT v2/config"],
        V1 => v1.to_vec(),
    }
}

/// Deletes rule 1, adds rule 3 and updates rule 2 while the CNF is not ready.
async fn change_while_not_ready(lab: &Lab) {
    lab.until(|| {
        let late = [POLICY, R1, R2].into_iter().find(|(kind, name)| {
            let status = lab.status(kind, name);
            status.in_sync || status.applied_version.is_some() || status.applied_time.is_some()
        });
        late.map(|(_, name)| format!("{name} counts as applied"))
    })
    .await;
    lab.delete("Mwan3Rule", "r1").await;
    lab.pass(2).await;
    lab.create("Mwan3Rule", "r3", rule(82)).await;
    lab.patch("Mwan3Rule", "r2", serde_json::json!({"spec": {"dest_port": 443}})).await;
    lab.pass(330).await;
    let r1 = lab.get("Mwan3Rule", "r1").unwrap();
    assert!(r1.is_being_deleted() && r1.has_finalizer("rule.finalizers.sdewan.akraino.org"));
    assert_eq!(r1.sync_status().state, DELETING);
    for name in ["r2", "r3"] {
        let status = lab.status("Mwan3Rule", name);
        assert_eq!((status.in_sync, status.state.as_str()), (false, TRYING));
        assert!(status.message.contains("not ready"), "{}", status.message);
    }
    let applied_to = lab.status("Mwan3Rule", "r2").applied_to.unwrap();
    assert_eq!((applied_to.purpose.as_str(), applied_to.deployment.as_str()), ("cnf-1", "cnf-1"));
    assert!(lab.get("Mwan3Rule", "r3").unwrap().metadata.finalizers.is_none());
    assert_eq!(lab.cnf("cnf-1-2").await.take_writes(), Vec::<String>::new());
}

async fn ends_in_sync(lab: &Lab, state: &str) {
    lab.until_in_sync(&[POLICY, R2, R3]).await;
    lab.until_gone("Mwan3Rule", "r1").await;
    for pod in PODS {
        assert_eq!(mwan3(&lab.cnf(pod).await), state, "{pod}");
    }
    for (kind, name) in [POLICY, R2, R3] {
        let status = lab.status(kind, name);
        assert!(status.applied_version.is_some() && status.applied_time.is_some(), "{name}");
    }
}

async fn case_1(interface: CnfInterface) {
    let mut lab = beginning(interface).await;
    lab.stop_pod("cnf-1", "cnf-1-1").await;
    change_while_not_ready(&lab).await;
    lab.restart_pod("cnf-1", "cnf-1-1").await;
    ends_in_sync(&lab, "p1;r2(443),r3(82)").await;
    let all =
        ["POST mwan3/v1/policies/p1", "POST mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    assert_eq!(lab.cnf("cnf-1-1").await.take_writes(), writes(interface, &all));
    let changes =
        ["DELETE mwan3/v1/rules/r1", "PUT mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    assert_eq!(lab.cnf("cnf-1-2").await.take_writes(), writes(interface, &changes));
    lab.stop().await;
}

async fn case_2(interface: CnfInterface, returns_empty: bool) {
    let mut lab = beginning(interface).await;
    // Disconnected: calls hang, and the probe fails.
    let (cnf, ip) = (lab.cnf("cnf-1-1").await, lab.ip("cnf-1-1").await);
    cnf.fail("", usize::MAX, FaultKind::Hang(Duration::from_secs(60)));
    lab.pod_status("cnf-1-1", &ip, false, 0).await;
    lab.report("cnf-1").await;
    change_while_not_ready(&lab).await;
    cnf.heal();
    cnf.take_writes();
    if returns_empty {
        lab.restart_pod("cnf-1", "cnf-1-1").await;
    } else {
        lab.pod_status("cnf-1-1", &ip, true, 0).await;
        lab.report("cnf-1").await;
    }
    ends_in_sync(&lab, "p1;r2(443),r3(82)").await;
    let changes =
        ["DELETE mwan3/v1/rules/r1", "PUT mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    let all =
        ["POST mwan3/v1/policies/p1", "POST mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    let first = if returns_empty { &all } else { &changes };
    assert_eq!(lab.cnf("cnf-1-1").await.take_writes(), writes(interface, first));
    assert_eq!(lab.cnf("cnf-1-2").await.take_writes(), writes(interface, &changes));
    lab.stop().await;
}

async fn case_3(interface: CnfInterface) {
    let mut lab = beginning(interface).await;
    lab.stop_agent().await;
    let before = lab.status(POLICY.0, POLICY.1);
    lab.delete("Mwan3Rule", "r1").await;
    lab.pass(2).await;
    lab.create("Mwan3Rule", "r3", rule(82)).await;
    lab.patch("Mwan3Rule", "r2", serde_json::json!({"spec": {"dest_port": 443}})).await;
    lab.pass(600).await;
    let r2 = lab.get("Mwan3Rule", "r2").unwrap();
    assert!(r2.sync_status().in_sync && r2.sync_status().applied_generation != r2.metadata.generation);
    assert!(lab.get("Mwan3Rule", "r3").unwrap().status.is_empty());
    lab.start_agent().await;
    ends_in_sync(&lab, "p1;r2(443),r3(82)").await;
    let changes =
        ["DELETE mwan3/v1/rules/r1", "PUT mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    for pod in PODS {
        assert_eq!(lab.cnf(pod).await.take_writes(), writes(interface, &changes), "{pod}");
    }
    assert_eq!(lab.status(POLICY.0, POLICY.1), before);
    lab.stop().await;
}

async fn case_4(interface: CnfInterface) {
    let mut lab = beginning(interface).await;
    lab.stop_agent().await;
    lab.stop_pod("cnf-1", "cnf-1-1").await;
    lab.delete("Mwan3Rule", "r1").await;
    lab.pass(2).await;
    lab.create("Mwan3Rule", "r3", rule(82)).await;
    let before = lab.status(R2.0, R2.1);
    lab.restart_pod("cnf-1", "cnf-1-1").await;
    lab.pass(600).await;
    lab.start_agent().await;
    ends_in_sync(&lab, "p1;r2(80),r3(82)").await;
    let all =
        ["POST mwan3/v1/policies/p1", "POST mwan3/v1/rules/r2", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    assert_eq!(lab.cnf("cnf-1-1").await.take_writes(), writes(interface, &all));
    let changes = ["DELETE mwan3/v1/rules/r1", "POST mwan3/v1/rules/r3", "RESTART mwan3"];
    assert_eq!(lab.cnf("cnf-1-2").await.take_writes(), writes(interface, &changes));
    let after = lab.status(R2.0, R2.1);
    assert!(after.in_sync && after.applied_time > before.applied_time, "{before:?} {after:?}");
    lab.stop().await;
}

#[tokio::test(start_paused = true)]
async fn case_1_a_stopped_pod_returns_empty() {
    case_1(V1).await;
    case_1(V2).await;
}

#[tokio::test(start_paused = true)]
async fn case_2_a_disconnected_pod_returns_with_its_state_or_empty() {
    for interface in [V1, V2] {
        case_2(interface, false).await;
        case_2(interface, true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn case_3_changes_while_the_agent_is_down() {
    case_3(V1).await;
    case_3(V2).await;
}

#[tokio::test(start_paused = true)]
async fn case_4_the_agent_and_a_pod_are_down() {
    case_4(V1).await;
    case_4(V2).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_delete_drops_neither_object_nor_rule() {
    for interface in [V1, V2] {
        let lab = beginning(interface).await;
        let cnf = lab.cnf("cnf-1-2").await;
        let call = if interface == V2 { "PUT" } else { "DELETE" };
        cnf.fail(call, 3, FaultKind::Fail(CnfErrorClass::Unauthorized, 403));
        lab.delete("Mwan3Rule", "r1").await;
        lab.pass(2).await;
        let status = lab.status("Mwan3Rule", "r1");
        assert!(status.state == DELETING && status.message.contains("403"), "{status:?}");
        lab.until_gone("Mwan3Rule", "r1").await;
        for pod in PODS {
            assert_eq!(mwan3(&lab.cnf(pod).await), "p1;r2(80)");
        }
        lab.stop().await;
    }
}
