//! Everything in one process: the samples come into sync, over v2 and over v1.

use machinery::apiserver::Identity;
use serde_json::{Value, json};

use super::*;
use crate::model::CollectionId;
use crate::runner::PodAddresses;

/// Ten times the time that it may take.
const PATIENCE: Duration = Duration::from_secs(100);

async fn cluster(offers_v2: bool) -> LocalCluster {
    let runner = RunnerSettings { offers_v2, addresses: PodAddresses::default() };
    let settings = LocalClusterSettings { runner, ..LocalClusterSettings::default() };
    LocalCluster::start(settings).await.unwrap()
}

async fn samples_come_into_sync(offers_v2: bool) {
    let up = cluster(offers_v2).await;
    up.make_samples(2).await.unwrap();
    let rules = samples(2)
        .unwrap()
        .iter()
        .filter(|one| one["metadata"]["labels"]["sdewanPurpose"] == "cnf-1")
        .count()
        - 1;
    up.settled((2, rules), PATIENCE, |_, _| {}).await.unwrap();
    let cnfs = up.runner().kubelet().cnfs();
    assert_eq!(cnfs.len(), 2);
    for (pod, _, cnf) in &cnfs {
        let config = &cnf.state().config;
        assert_eq!(config.len(), rules, "{pod}");
        let order: Vec<_> = config.list(CollectionId::Mwan3Rules).iter().map(|rule| &*rule.name).collect();
        assert_eq!(order, ["http-rule", "https-rule", "default-rule"], "{pod}");
        let has_owner = config.iter().all(|(_, object)| object.owner.is_some());
        assert_eq!(has_owner, offers_v2, "{pod}");
        if offers_v2 {
            assert!(cnf.counts().writes <= 4, "{pod}: {:?}", cnf.counts());
        }
    }
    assert_eq!(up.pod_rows().len(), 2);
    // A deleted rule goes from every pod.
    let server = up.plane().server().unwrap();
    let rule = samples(2).unwrap().into_iter().find(|one| one["metadata"]["name"] == "https-rule").unwrap();
    let handle = server.handle_of::<Value>(kind_of(&rule).unwrap(), Identity::admin());
    handle
        .delete(&"default/https-rule".parse().unwrap(), &machinery::objects::Deletion::default())
        .await
        .unwrap();
    up.settled((2, rules - 1), PATIENCE, |_, _| {}).await.unwrap();
    let began = Instant::now();
    while cnfs
        .iter()
        .any(|(_, _, cnf)| cnf.state().config.get(CollectionId::Mwan3Rules, "https-rule").is_some())
    {
        assert!(began.elapsed() < PATIENCE);
        sleep(LOOK).await;
    }
    up.plane().stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn the_samples_come_into_sync_over_v2() {
    samples_come_into_sync(true).await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn the_samples_come_into_sync_over_v1() {
    samples_come_into_sync(false).await;
}

/// Case 1 of the page: a pod stops, one rule is deleted, one created and one changed, and the pod
/// comes back empty with another address.
#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_stopped_pod_comes_back_and_gets_all_rules() {
    let up = cluster(true).await;
    up.make_samples(2).await.unwrap();
    up.settled((2, 18), PATIENCE, |_, _| {}).await.unwrap();
    let pods = up.pod_rows();
    let server = up.plane().server().unwrap();
    let patch = |body: Value| machinery::objects::Patch {
        format: machinery::objects::PatchFormat::Merge,
        body: body.to_string().into_bytes().into(),
        status: false,
    };
    let key = format!("{}/{}", pods[0].namespace, pods[0].name).parse().unwrap();
    let none = machinery::objects::Preconditions::default();
    let stopped = patch(json!({"metadata": {"annotations": {"sdewan/state": "stopped"}}}));
    up.pods.patch(&key, &stopped, &none).await.unwrap();
    let began = Instant::now();
    while up.rule_rows().iter().any(|rule| rule.is_in_sync) {
        assert!(began.elapsed() < PATIENCE, "{:?}", up.rule_rows());
        sleep(LOOK).await;
    }
    let (_, _, other) = up.runner().kubelet().cnfs().remove(0);
    let writes = other.counts().writes;
    let sample = samples(2).unwrap().into_iter().find(|one| one["metadata"]["name"] == "http-rule").unwrap();
    let rules = server.handle_of::<Value>(kind_of(&sample).unwrap(), Identity::admin());
    let mut new = sample.clone();
    new["metadata"]["name"] = "new-rule".into();
    rules.create(&new, None).await.unwrap();
    let changed = patch(json!({"spec": {"dest_port": "8080"}}));
    rules.patch(&"default/http-rule".parse().unwrap(), &changed, &none).await.unwrap();
    rules
        .delete(&"default/https-rule".parse().unwrap(), &machinery::objects::Deletion::default())
        .await
        .unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(other.counts().writes, writes, "the other pod was written to while the CNF was not ready");
    let started = patch(json!({"metadata": {"annotations": {"sdewan/state": null}}}));
    up.pods.patch(&key, &started, &none).await.unwrap();
    up.settled((2, 18), PATIENCE, |_, _| {}).await.unwrap();
    for (pod, _, cnf) in up.runner().kubelet().cnfs() {
        let state = cnf.state();
        let rules = state.config.list(CollectionId::Mwan3Rules);
        let names: Vec<_> = rules.iter().map(|rule| (&*rule.name, rule.text("dest_port"))).collect();
        let expected = [("http-rule", Some("8080")), ("new-rule", Some("80")), ("default-rule", None)];
        assert_eq!(names, expected, "{pod}");
    }
    up.plane().stop().await;
}
