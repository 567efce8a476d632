//! Objects of other clients that refer to those of the agent.

use machinery::tokio;
use sdewan::drive::CnfInterface::{self, V1, V2};
use sdewan::drive::fake::FakeCnf;
use sdewan::model::{CollectionId, ObservedObject, RestObject};
use serde_json::{Value, json};

use crate::lab::{Lab, mwan3, policy, rule};

const POLICIES: [(&str, &str); 2] = [("Mwan3Policy", "p1"), ("Mwan3Policy", "p2")];

/// Starts an agent with two policies and a rule of the second.
async fn lab(interface: CnfInterface) -> Lab {
    let mut lab = Lab::new(interface).await;
    lab.deploy("cnf-1", "cnf-1", 2).await;
    lab.start_agent().await;
    for (kind, name) in POLICIES {
        lab.create(kind, name, policy()).await;
    }
    lab.until_in_sync(&POLICIES).await;
    lab
}

/// Makes a rule of another client with the first policy.
fn use_p1(cnf: &FakeCnf) {
    let body = json!({"name": "theirs", "policy": "p1"});
    let object = RestObject::from_body(CollectionId::Mwan3Rules, body).unwrap();
    let theirs = ObservedObject { owner: None, object };
    cnf.edit(|config| config.objects.entry(CollectionId::Mwan3Rules).or_default().push(theirs));
}

async fn create_r2(lab: &Lab, port: u16) {
    let mut spec = rule(port);
    spec["policy"] = Value::from("p2");
    lab.create("Mwan3Rule", "r2", spec).await;
    lab.until_in_sync(&[("Mwan3Rule", "r2")]).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_a_foreign_one_uses_stays_and_blocks_nothing() {
    for interface in [V1, V2] {
        let lab = lab(interface).await;
        let (first, second) = (lab.cnf("cnf-1-1").await, lab.cnf("cnf-1-2").await);
        use_p1(&first);
        lab.pass(70).await;
        lab.delete("Mwan3Policy", "p1").await;
        lab.pass(5).await;
        let status = lab.status("Mwan3Policy", "p1");
        assert_eq!(status.state, "Being delete", "{interface:?}");
        assert!(!status.in_sync && status.message.contains("cnf-1-1"), "{status:?}");
        assert!(!status.message.contains("cnf-1-2"), "{status:?}");
        if interface == V2 {
            let expected = "refused (409): policy p1 is used by rule \"theirs\" of another client";
            assert!(status.message.contains(expected), "{status:?}");
        }
        // Other changes take place, and the pod without the foreign rule is clean.
        create_r2(&lab, 82).await;
        lab.pass(130).await;
        assert_eq!(mwan3(&first).replace("p2,p1", "p1,p2"), "p1,p2;theirs,r2(82)", "{interface:?}");
        assert_eq!(mwan3(&second), "p2;r2(82)");
        let finalizers = lab.get("Mwan3Policy", "p1").unwrap().metadata.finalizers.clone().unwrap();
        assert_eq!(finalizers, ["rule.finalizers.sdewan.akraino.org"]);
        let config = first.config();
        let kept = config.get(CollectionId::Policies, "p1").unwrap();
        assert_eq!(kept.object.fields()["members"].as_array().unwrap().len(), 2);
        // Its user goes, and so does it.
        first.edit(|config| {
            let rules = config.objects.get_mut(&CollectionId::Mwan3Rules).unwrap();
            rules.retain(|one| one.object.name() != "theirs");
        });
        lab.until_gone("Mwan3Policy", "p1").await;
        assert_eq!(mwan3(&first), "p2;r2(82)", "{interface:?}");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_a_foreign_object_uses_blocks_nothing() {
    let mut lab = lab(V2).await;
    let first = lab.cnf("cnf-1-1").await;
    use_p1(&first);
    lab.pass(70).await;
    lab.stop_agent().await;
    lab.patch("Mwan3Policy", "p1", json!({"metadata": {"finalizers": null}})).await;
    lab.delete("Mwan3Policy", "p1").await;
    lab.until_gone("Mwan3Policy", "p1").await;
    lab.start_agent().await;
    create_r2(&lab, 82).await;
    assert!(mwan3(&first).contains("p1"), "{}", mwan3(&first));
    assert_eq!(mwan3(&lab.cnf("cnf-1-2").await), "p2;r2(82)");
    lab.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_that_a_foreign_one_uses_keeps_its_former_version() {
    let lab = lab(V2).await;
    let first = lab.cnf("cnf-1-1").await;
    use_p1(&first);
    lab.pass(70).await;
    let unknown = json!({"spec": {"members": [{"network": "net-z", "metric": 1, "weight": 1}]}});
    lab.patch("Mwan3Policy", "p1", unknown).await;
    create_r2(&lab, 82).await;
    let status = lab.status("Mwan3Policy", "p1");
    assert!(!status.in_sync && status.message.contains("net-z"), "{status:?}");
    let config = first.config();
    let kept = config.get(CollectionId::Policies, "p1").unwrap();
    assert_eq!(kept.object.fields()["members"].as_array().unwrap().len(), 2);
    lab.stop().await;
}
