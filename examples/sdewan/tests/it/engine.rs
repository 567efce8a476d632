//! The engine beyond the cases of the page, over v1 and v2.

use std::time::Duration;

use machinery::tokio;
use machinery::tokio::time::Instant;
use sdewan::drive::CnfErrorClass;
use sdewan::drive::CnfInterface::{V1, V2};
use sdewan::drive::fake::FaultKind;
use sdewan::model::{CollectionId, ObservedObject, RestObject};
use serde_json::{from_value, json};

use crate::lab::{Lab, mwan3, policy, rule};

const POLICY: (&str, &str) = ("Mwan3Policy", "p1");

fn foreign(name: &str) -> ObservedObject {
    let body = json!({"name": name, "policy": "default"});
    ObservedObject { owner: None, object: RestObject::from_body(CollectionId::Mwan3Rules, body).unwrap() }
}

#[tokio::test(start_paused = true)]
async fn foreign_objects_stay_and_orphans_go() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 2).await;
        lab.cnf("cnf-1-1").await.edit(|config| {
            config.objects.insert(CollectionId::Mwan3Rules, vec![foreign("theirs")]);
        });
        lab.start_agent().await;
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.create("Mwan3Rule", "r1", rule(81)).await;
        lab.until_in_sync(&[POLICY, ("Mwan3Rule", "r1")]).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;theirs,r1(81)");
        // The agent is down, and somebody removes the finalizer: its rule is an orphan.
        lab.stop_agent().await;
        lab.patch("Mwan3Rule", "r1", json!({"metadata": {"finalizers": null}})).await;
        lab.delete("Mwan3Rule", "r1").await;
        lab.until_gone("Mwan3Rule", "r1").await;
        lab.start_agent().await;
        lab.pass(70).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;theirs", "{interface:?}");
        assert_eq!(mwan3(&lab.cnf("cnf-1-2").await), "p1;");
        // The last CR goes, and the CNF still is a subject.
        lab.delete("Mwan3Policy", "p1").await;
        lab.until_gone("Mwan3Policy", "p1").await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), ";theirs");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_costs_its_dependents_only() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 2).await;
        // A NIC that the annotation does not have: its name is taken in the CNF.
        for pod in ["cnf-1-1", "cnf-1-2"] {
            let ip = lab.ip(pod).await;
            lab.cnfs.start(&ip, interface, &["net1", "net2", "lan"]);
        }
        lab.start_agent().await;
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.create("Mwan3Policy", "lan", policy()).await;
        lab.create("Mwan3Rule", "r1", rule(81)).await;
        lab.create("Mwan3Rule", "r2", json!({"policy": "lan"})).await;
        lab.until_in_sync(&[POLICY, ("Mwan3Rule", "r1")]).await;
        lab.pass(1).await;
        assert_eq!(mwan3(&lab.cnf("cnf-1-1").await), "p1;r1(81)");
        let (lan, r2) = (lab.status("Mwan3Policy", "lan"), lab.status("Mwan3Rule", "r2"));
        assert!(!lan.in_sync && lan.message.contains("409"), "{lan:?}");
        assert!(!r2.in_sync && r2.message.contains("lan"), "{r2:?}");
        assert_eq!(r2.condition("DependenciesMet").unwrap().status, "False");
        assert_eq!((lan.pods.len(), lan.synced_pods.as_str()), (2, "0/2"));
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rules_are_in_the_order_of_their_labels() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 1).await;
        lab.start_agent().await;
        lab.create("Mwan3Policy", "p1", policy()).await;
        for (name, port) in [("a", 1), ("b", 2), ("c", 3)] {
            lab.create("Mwan3Rule", name, rule(port)).await;
        }
        let all = [POLICY, ("Mwan3Rule", "a"), ("Mwan3Rule", "b"), ("Mwan3Rule", "c")];
        lab.until_in_sync(&all).await;
        let cnf = lab.cnf("cnf-1-1").await;
        cnf.take_writes();
        lab.patch("Mwan3Rule", "c", json!({"metadata": {"labels": {"sdewan/order": "5"}}})).await;
        lab.pass(1).await;
        assert_eq!(mwan3(&cnf), "p1;c(3),a(1),b(2)", "{interface:?}");
        if interface == V1 {
            let writes = [
                "DELETE mwan3/v1/rules/c",
                "DELETE mwan3/v1/rules/b",
                "DELETE mwan3/v1/rules/a",
                "POST mwan3/v1/rules/c",
                "POST mwan3/v1/rules/a",
                "POST mwan3/v1/rules/b",
                "RESTART mwan3",
            ];
            assert_eq!(cnf.take_writes(), writes);
        }
        // An append costs one creation.
        lab.pass(5).await;
        cnf.take_writes();
        lab.create("Mwan3Rule", "d", rule(4)).await;
        lab.until_in_sync(&[("Mwan3Rule", "d")]).await;
        assert_eq!(mwan3(&cnf), "p1;c(3),a(1),b(2),d(4)");
        assert_eq!(cnf.take_writes().len(), if interface == V1 { 2 } else { 1 });
        // Somebody changes the order: it is drift.
        cnf.edit(|config| config.objects.get_mut(&CollectionId::Mwan3Rules).unwrap().swap(0, 3));
        lab.pass(70).await;
        assert_eq!(mwan3(&cnf), "p1;c(3),a(1),b(2),d(4)");
        lab.patch("Mwan3Rule", "d", json!({"metadata": {"labels": {"sdewan/order": "first"}}})).await;
        lab.pass(1).await;
        let status = lab.status("Mwan3Rule", "d");
        assert!(!status.in_sync && status.message.contains("0 to 999999"), "{status:?}");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replaced_secret_is_pushed() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 1).await;
        lab.start_agent().await;
        let proposal =
            json!({"encryption_algorithm": "aes128", "hash_algorithm": "sha256", "dh_group": "modp3072"});
        lab.create("IpsecProposal", "p", proposal).await;
        let connection =
            json!({"name": "c", "conn_type": "tunnel", "mode": "add", "local_subnet": "10.0.0.0/8"});
        let spec = json!({
            "remote": "%any", "authentication_method": "psk", "crypto_proposal": ["p"],
            "pre_shared_key_ref": {"name": "psk", "key": "key"}, "connections": [connection],
        });
        lab.create("IpsecSite", "hub", spec).await;
        lab.pass(3).await;
        let status = lab.status("IpsecSite", "hub");
        assert!(status.message.contains("Secret default/psk does not exist"), "{status:?}");
        let secret = |value: &str| {
            let data =
                json!({"metadata": {"name": "psk", "namespace": "default"}, "stringData": {"key": value}});
            from_value(data).unwrap()
        };
        lab.secrets.create(&secret("marker-1")).await.unwrap();
        lab.until_in_sync(&[("IpsecSite", "hub")]).await;
        let key = |cnf: &sdewan::drive::fake::FakeCnf| {
            cnf.config().get(CollectionId::Remotes, "hub").unwrap().object.text("pre_shared_key").to_owned()
        };
        let cnf = lab.cnf("cnf-1-1").await;
        assert_eq!(key(&cnf), "marker-1");
        lab.pass(130).await;
        cnf.take_writes();
        lab.secrets.update(&secret("marker-2")).await.unwrap();
        lab.pass(2).await;
        assert_eq!(key(&cnf), "marker-2");
        // No write without a change: its HMAC, or its value, is compared.
        cnf.take_writes();
        lab.pass(130).await;
        assert_eq!(cnf.take_writes(), Vec::<String>::new());
        let shown = format!("{:?}", lab.get("IpsecSite", "hub").unwrap().status);
        assert!(!shown.contains("marker"), "{shown}");
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_shares_pushes() {
    let mut lab = Lab::new(V2).await;
    lab.deploy("cnf-1", "cnf-1", 2).await;
    lab.start_agent().await;
    lab.create("Mwan3Policy", "p1", policy()).await;
    lab.until_in_sync(&[POLICY]).await;
    lab.pass(1).await;
    let cnf = lab.cnf("cnf-1-2").await;
    // A lone change goes at once.
    let start = Instant::now();
    lab.patch(
        "Mwan3Policy",
        "p1",
        json!({"spec": {"members": [{"network": "net-a", "metric": 2, "weight": 2}]}}),
    )
    .await;
    lab.until_in_sync(&[POLICY]).await;
    assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
    lab.pass(1).await;
    cnf.take_writes();
    let (start, writes) = (Instant::now(), lab.api_writes());
    for number in 0..200_u16 {
        lab.create("Mwan3Rule", &format!("r{number:03}"), rule(number + 1)).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let rules: Vec<_> = (0..200).map(|number| format!("r{number:03}")).collect();
    let all: Vec<_> = rules.iter().map(|name| ("Mwan3Rule", name.as_str())).collect();
    lab.until_in_sync(&all).await;
    let (pushes, seconds) = (cnf.take_writes().len(), start.elapsed().as_secs_f64());
    assert!(pushes as f64 <= 5.0 * seconds + 2.0, "{pushes} pushes in {seconds} s");
    assert_eq!(lab.api_writes() - writes, 2 * 200);
    lab.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_a_change() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 2).await;
        lab.start_agent().await;
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.create("Mwan3Rule", "r1", rule(81)).await;
        lab.until_in_sync(&[POLICY, ("Mwan3Rule", "r1")]).await;
        lab.pass(2).await;
        let (cnf, writes) = (lab.cnf("cnf-1-1").await, lab.api_writes());
        cnf.take_writes();
        lab.pass(600).await;
        lab.stop_agent().await;
        lab.start_agent().await;
        lab.pass(60).await;
        assert_eq!(cnf.take_writes(), Vec::<String>::new());
        assert_eq!(lab.api_writes(), writes);
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answers_are_found_by_reading() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 2).await;
        lab.cnf("cnf-1-1").await.fail("P", 1, FaultKind::LoseAnswer);
        lab.cnf("cnf-1-2").await.fail("", 2, FaultKind::Fail(CnfErrorClass::Server, 500));
        lab.start_agent().await;
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.create("Mwan3Rule", "r1", rule(81)).await;
        lab.until_in_sync(&[POLICY, ("Mwan3Rule", "r1")]).await;
        for pod in ["cnf-1-1", "cnf-1-2"] {
            assert_eq!(mwan3(&lab.cnf(pod).await), "p1;r1(81)");
        }
        lab.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_another_controller_with_the_same_finalizers_are_taken_over() {
    for interface in [V1, V2] {
        let mut lab = Lab::new(interface).await;
        lab.deploy("cnf-1", "cnf-1", 1).await;
        let finalizers = json!({"metadata": {"finalizers": ["rule.finalizers.sdewan.akraino.org"]}});
        lab.create("Mwan3Policy", "p1", policy()).await;
        lab.patch("Mwan3Policy", "p1", finalizers.clone()).await;
        for name in ["r1", "r2"] {
            lab.create("Mwan3Rule", name, json!({"policy": "default"})).await;
            lab.patch("Mwan3Rule", name, finalizers.clone()).await;
        }
        let cnf = lab.cnf("cnf-1-1").await;
        cnf.edit(|config| {
            config
                .objects
                .insert(CollectionId::Mwan3Rules, vec![foreign("r1"), foreign("r2"), foreign("theirs")]);
        });
        lab.delete("Mwan3Rule", "r2").await;
        lab.start_agent().await;
        lab.until_in_sync(&[POLICY, ("Mwan3Rule", "r1")]).await;
        lab.until_gone("Mwan3Rule", "r2").await;
        assert_eq!(mwan3(&cnf), "p1;r1,theirs", "{interface:?}");
        lab.stop().await;
    }
}
