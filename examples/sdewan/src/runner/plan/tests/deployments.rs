use super::*;

#[test]
fn a_deployment_gets_a_set_and_its_pods_and_then_rests() {
    let mut cluster = Cluster::new(json!({"replicas": 2}));
    cluster.settle();
    assert_eq!((cluster.sets.len(), cluster.pods.len()), (1, 2));
    let (set, pod) = (&cluster.sets[0].metadata, &cluster.pods[0].metadata);
    assert_eq!(set.owner_references.as_ref().unwrap()[0].uid, "d");
    assert_eq!(Some(&pod.owner_references.as_ref().unwrap()[0].uid), set.uid.as_ref());
    assert!(pod.labels.as_ref().unwrap().contains_key("pod-template-hash"));
    assert_ne!(cluster.pods[0].metadata.name, cluster.pods[1].metadata.name);
    let status = cluster.deployment.status.as_ref().unwrap();
    assert_eq!(
        (status.replicas, status.updated_replicas, status.available_replicas),
        (Some(2), Some(2), Some(2))
    );
    assert_eq!((status.unavailable_replicas, status.observed_generation), (None, Some(1)));
    assert_eq!(cluster.plan(), []);
}

#[test]
fn an_unready_pod_is_counted_and_not_replaced() {
    let mut cluster = Cluster::new(json!({"replicas": 2}));
    cluster.settle();
    cluster.set_ready(0, false);
    while cluster.step() > 0 {}
    let status = cluster.deployment.status.as_ref().unwrap();
    assert_eq!((status.available_replicas, status.unavailable_replicas), (Some(1), Some(1)));
    assert_eq!(cluster.pods.len(), 2);
}

#[test]
fn pods_that_are_not_ready_go_first_when_it_scales_down() {
    let mut cluster = Cluster::new(json!({"replicas": 3}));
    cluster.settle();
    cluster.set_ready(0, false);
    let unready = cluster.pods[0].metadata.name.clone();
    cluster.scale(2);
    while cluster.step() > 0 {}
    assert!(cluster.pods.iter().all(|pod| pod.metadata.name != unready));
    cluster.scale(0);
    cluster.settle();
    assert!(cluster.pods.is_empty());
    let status = cluster.deployment.status.as_ref().unwrap();
    assert_eq!((status.replicas, status.available_replicas, status.unavailable_replicas), (None, None, None));
}

#[test]
fn a_roll_out_replaces_all_pods_within_its_budgets_and_keeps_the_old_set() {
    let mut cluster = Cluster::new(json!({"replicas": 4}));
    cluster.settle();
    cluster.roll("v2");
    for _ in 0..100 {
        // One pod becomes ready at a time.
        let next = cluster.pods.iter().position(|pod| !is_ready(pod));
        if let Some(next) = next {
            cluster.set_ready(next, true);
        }
        let count = cluster.step();
        assert!(cluster.pods.len() <= 5, "a quarter more than four");
        assert!(cluster.ready() >= 3, "a quarter of four may be missing");
        if count == 0 && next.is_none() {
            break;
        }
    }
    assert_eq!(cluster.images(), ["v2"; 4]);
    assert_eq!(cluster.sets.len(), 2);
    let replicas = |set: &ReplicaSet| set.spec.replicas;
    assert_eq!(replicas(&cluster.sets[0]), Some(0));
    // Back: the old set is used again.
    cluster.roll("v1");
    cluster.settle();
    assert_eq!((cluster.images(), cluster.sets.len()), (vec!["v1".to_owned(); 4], 2));
}

#[test]
fn recreate_ends_all_old_pods_before_the_first_new_one() {
    let mut cluster = Cluster::new(json!({"replicas": 2, "strategy": {"type": "Recreate"}}));
    cluster.settle();
    cluster.roll("v2");
    for _ in 0..20 {
        cluster.step();
        let images = cluster.images();
        assert!(
            !(images.iter().any(|one| one == "v1") && images.iter().any(|one| one == "v2")),
            "{images:?}"
        );
    }
    assert_eq!(cluster.images(), ["v2"; 2]);
}

#[test]
fn a_paused_deployment_does_not_roll_out() {
    let mut cluster = Cluster::new(json!({"replicas": 2}));
    cluster.settle();
    cluster.deployment.spec.paused = Some(true);
    cluster.roll("v2");
    cluster.settle();
    assert_eq!(cluster.images(), ["v1"; 2]);
}

#[test]
fn old_sets_beyond_the_history_are_deleted() {
    let mut cluster = Cluster::new(json!({"replicas": 1, "revisionHistoryLimit": 2}));
    for image in ["v1", "v2", "v3", "v4", "v5"] {
        cluster.roll(image);
        cluster.settle();
    }
    assert_eq!(cluster.sets.len(), 3);
}

#[test]
fn a_pod_without_a_node_is_replaced_when_a_node_has_its_labels() {
    let mut cluster = Cluster::new(json!({"replicas": 1}));
    let template = &mut cluster.deployment.spec.template;
    template.spec.as_mut().unwrap().node_selector = Some([("host".to_owned(), "a".to_owned())].into());
    cluster.settle();
    let node_of = |pod: &Pod| pod.spec.as_ref().unwrap().node_name.clone();
    assert_eq!(node_of(&cluster.pods[0]), None);
    let node = |name: &str, host: &str| {
        let node = json!({"metadata": {"name": name, "labels": {"host": host}}});
        Arc::new(serde_json::from_value(node).unwrap())
    };
    cluster.nodes.push(node("n1", "b"));
    cluster.settle();
    assert_eq!(node_of(&cluster.pods[0]), None);
    cluster.nodes.push(node("n2", "a"));
    cluster.settle();
    assert_eq!(node_of(&cluster.pods[0]).as_deref(), Some("n2"));
    assert_eq!(cluster.pods.len(), 1);
}

#[test]
fn a_pod_is_available_after_its_minimum_time() {
    let mut cluster = Cluster::new(json!({"replicas": 1, "minReadySeconds": 30}));
    cluster.settle();
    let available = |cluster: &Cluster| cluster.deployment.status.as_ref().unwrap().available_replicas;
    assert_eq!(available(&cluster), None);
    cluster.now += SignedDuration::from_secs(60);
    cluster.settle();
    assert_eq!(available(&cluster), Some(1));
}

#[test]
fn a_deployment_that_is_being_deleted_is_left_to_the_garbage_collector() {
    let mut cluster = Cluster::new(json!({"replicas": 1}));
    cluster.settle();
    cluster.deployment.metadata.deletion_timestamp = Some(Time(cluster.now));
    cluster.scale(3);
    assert_eq!(cluster.plan(), []);
}
