//! Probes: their frames come from attachments of the probe's namespace only.

use kos::model::{NetworkAttachment, Probe, ProbeQuestion, ProbeSpec, ProbeStatus};
use kos::up::{LocalCluster, LocalClusterSettings};
use machinery::Objects;
use machinery::apiserver::Identity;
use machinery::objects::{Kind, Object as _, Scope, Writer as _};
use serde_json::{Value, json};

use crate::harness::DEADLINE;

/// Creates a probe by an administrator, and returns its result.
async fn probed(up: &LocalCluster, namespace: &str, from: &str, ask: ProbeQuestion, to: &str) -> ProbeStatus {
    let probes = up.plane().objects::<Probe>().unwrap();
    probes.informer().synced().await.unwrap();
    let node = if ask == ProbeQuestion::Arriving { "node-2" } else { "node-1" };
    let spec = ProbeSpec { node: node.into(), ask, from: from.into(), to: to.into(), count: 1 };
    let mut probe = Probe::named(namespace, "", spec);
    probe.metadata.name = None;
    probe.metadata.generate_name = Some("p-".into());
    let made = probes.create(&probe).await.unwrap().object;
    let finished =
        |probes: &Objects<Probe>| probes.get(&made.key())?.status.clone().filter(|status| status.finished);
    probes.until(DEADLINE, finished).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probe_from_another_namespace_is_refused() {
    let settings = LocalClusterSettings { nodes: 2, ..LocalClusterSettings::default() };
    let up = LocalCluster::start(settings).await.unwrap();
    up.make_samples().await.unwrap();
    let all = up.all_ready(DEADLINE, |_, _| {}).await.unwrap();
    let address = |name: &str| {
        let named = |one: &&std::sync::Arc<NetworkAttachment>| one.metadata.name.as_deref() == Some(name);
        all.iter().find(named).unwrap().status.ipv4.clone()
    };
    let namespaces = Kind::new("v1", "Namespace", "namespaces", Scope::Cluster).unwrap();
    let namespaces = up.plane().server().unwrap().handle_of::<Value>(namespaces, Identity::admin());
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    namespaces.create(&other, None).await.unwrap();

    let to = address("blue-2");
    for ask in [ProbeQuestion::Ping, ProbeQuestion::Leaving, ProbeQuestion::Arriving] {
        for (from, why) in
            [("blue-1", "no attachment other/blue-1"), ("default/blue-1", "spec.from is the name")]
        {
            let refused = probed(&up, "other", from, ask, &to).await;
            assert!(refused.error.contains(why), "{ask:?} from {from}: {refused:?}");
            assert_eq!((refused.sent, refused.steps.len()), (0, 0), "{ask:?} from {from}");
        }
    }
    // On this node there are others of the namespace, but not this one.
    let refused = probed(&up, "default", "blue-2", ProbeQuestion::Ping, &address("blue-1")).await;
    assert!(refused.error.contains("no attachment default/blue-2 with an address on node-1"), "{refused:?}");
    let answered = probed(&up, "default", "blue-1", ProbeQuestion::Arriving, &to).await;
    assert!(answered.error.is_empty() && !answered.steps.is_empty(), "{answered:?}");
    up.plane().stop().await;
}
