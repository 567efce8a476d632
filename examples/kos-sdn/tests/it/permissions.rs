//! Permissions of node agents: on our server, or on the Kubernetes of `cargo xtask kubernetes`,
//! where a policy has the same rules.

use std::time::Duration;

use kos::model::{
    AGENTS, AgentWrites, NetworkAttachment, Probe, ProbeQuestion, ProbeSpec, ProbeStatus, agent_identity,
    agent_of, agent_policy, agents, controllers, network_attachments, probes,
};
use kos::plan::FINALIZER;
use machinery::Component;
use machinery::apiserver::{ApiServer, Identity};
use machinery::kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery::kube::kube_client::{Client, Config, Error};
use machinery::kube::{Connections, client};
use machinery::kube_core::CustomResourceExt as _;
use machinery::objects::{Deletion, Preconditions, WriteError, Written};
use machinery::store::{Memory, Options};
use serde_json::Value;

use crate::harness::DEADLINE;
use crate::server::key;

/// A server, and clients of it.
struct PermissionFixture {
    /// Ours; `None` stands for Kubernetes.
    server: Option<ApiServer>,
    admin: Client,
    /// The agent of node-1.
    agent: Client,
}

impl PermissionFixture {
    async fn new() -> Self {
        if let Ok(kubeconfig) = std::env::var("KUBERNETES_UNDER_TEST") {
            let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
            let config =
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
            let mut as_agent = config.clone();
            as_agent.auth_info.impersonate = Some(agent_of("node-1"));
            as_agent.auth_info.impersonate_groups = Some(vec![AGENTS.into(), "system:authenticated".into()]);
            let connections = || Connections::default();
            let admin = client(config, connections()).unwrap();
            install(&admin).await;
            return Self { server: None, admin, agent: client(as_agent, connections()).unwrap() };
        }
        let builder = ApiServer::builder(Memory::new(Options::default()));
        let builder = builder.kind(network_attachments()).kind(probes()).admission(AgentWrites);
        let server = builder.start().await.unwrap();
        let of = |identity| Client::new(server.service(identity), "default");
        let (admin, agent) = (of(Identity::admin()), of(agent_identity("node-1")));
        Self { server: Some(server), admin, agent }
    }
}

/// Installs the definitions, roles and the policy on Kubernetes.
async fn install(admin: &Client) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let definitions = [serde_json::to_value(NetworkAttachment::crd()), serde_json::to_value(Probe::crd())];
    let roles = [controllers(), agents()];
    let roles = roles.iter().flat_map(Component::manifests);
    for object in definitions.map(Result::unwrap).into_iter().chain(roles).chain(agent_policy()) {
        let path = match object["kind"].as_str().unwrap() {
            "CustomResourceDefinition" => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".into(),
            "ClusterRole" => format!("{rbac}/clusterroles"),
            "ClusterRoleBinding" => format!("{rbac}/clusterrolebindings"),
            "ValidatingAdmissionPolicy" => format!("{admission}/validatingadmissionpolicies"),
            _ => format!("{admission}/validatingadmissionpolicybindings"),
        };
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(serde_json::to_vec(&object).unwrap()).unwrap();
        match admin.request::<Value>(request).await {
            Err(Error::Api(status)) if status.code == 409 => {}
            found => drop(found.unwrap()),
        }
    }
}

/// Repeats until Kubernetes serves the definitions.
async fn eventually<T>(condition: impl AsyncFn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = condition().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(DEADLINE, found).await.unwrap()
}

/// Asserts that a write is denied with 403, and a text that contains `why`.
#[track_caller]
fn denied<T: std::fmt::Debug>(written: Result<T, WriteError>, why: &str) {
    let text = written.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("forbidden") && text.contains(why), "{why}: {written:?}");
}

fn probe(name: &str, node: &str) -> Probe {
    let spec = ProbeSpec {
        node: node.into(),
        ask: ProbeQuestion::Leaving,
        from: "a".into(),
        to: "10.0.0.2".into(),
        count: 0,
    };
    Probe::named("default", name, spec)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_write_objects_of_their_own_node_only() {
    let fixture = PermissionFixture::new().await;
    let admin = machinery::kube_client(fixture.admin.clone()).start().await.unwrap();
    let agent = machinery::kube_client(fixture.agent.clone()).start().await.unwrap();
    let attachments = admin.writer::<NetworkAttachment>().unwrap();
    let probes = admin.writer::<Probe>().unwrap();
    let made = |name: &'static str, node: &'static str| {
        let attachments = attachments.clone();
        async move {
            let new = NetworkAttachment::new("default", name, node, "s");
            let Written { mut object, .. } =
                eventually(async || attachments.create(&new, None).await.ok()).await;
            (object.status.address_vni, object.status.ipv4) = (17, "10.0.0.2".into());
            attachments.update_status(&object, &Preconditions::default()).await.unwrap().object
        }
    };
    let (own, mut other) = (made("a", "node-1").await, made("b", "node-2").await);
    let mut asked = Vec::new();
    for (name, node) in [("p", "node-1"), ("q", "node-2")] {
        asked.push(eventually(async || probes.create(&probe(name, node), None).await.ok()).await.object);
    }

    let writer = agent.writer::<NetworkAttachment>().unwrap();
    let any = Preconditions::default();
    // Kubernetes applies a policy with a delay.
    let in_effect = async {
        loop {
            let mut foreign = other.clone();
            foreign.status.host_ip += "x";
            match writer.update_status(&foreign, &any).await {
                Ok(written) if fixture.server.is_none() => other = written.object,
                written => return denied(written, "node"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(DEADLINE, in_effect).await.unwrap();
    let mut foreign = other;
    foreign.metadata.finalizers = Some(vec![FINALIZER.into()]);
    denied(writer.update(&foreign, &any).await, "node");

    let mut own = own;
    own.metadata.finalizers = Some(vec![FINALIZER.into()]);
    own = writer.update(&own, &any).await.unwrap().object;
    own.status.ifc_name = "kos0".into();
    own.status.errors.host = vec!["x".into()];
    own = writer.update_status(&own, &any).await.unwrap().object;
    let mut moved = own.clone();
    moved.status.ipv4 = "10.0.0.3".into();
    denied(writer.update_status(&moved, &any).await, "the address of an attachment");
    let mut moved = own.clone();
    moved.status.address_vni = 18;
    denied(writer.update_status(&moved, &any).await, "the address of an attachment");
    let mut changed = own.clone();
    changed.spec.post_delete_exec = vec!["/bin/true".into()];
    denied(writer.update(&changed, &any).await, "a spec");
    let new = NetworkAttachment::new("default", "c", "node-1", "s");
    denied(writer.create(&new, None).await, "");
    denied(writer.delete(&key("default", "a"), &Deletion::default()).await, "");

    let writer = agent.writer::<Probe>().unwrap();
    denied(writer.create(&probe("r", "node-1"), None).await, "");
    let all = Deletion::default();
    denied(writer.delete(&key("default", "p"), &all).await, "finished");
    denied(writer.delete(&key("default", "q"), &all).await, "node");
    for probe in &mut asked {
        probe.status = Some(ProbeStatus { finished: true, ..ProbeStatus::default() });
    }
    denied(writer.update_status(&asked[1], &any).await, "node");
    writer.update_status(&asked[0], &any).await.unwrap();
    writer.delete(&key("default", "p"), &all).await.unwrap();

    own.metadata.finalizers = None;
    attachments.update(&own, &any).await.unwrap();
    for name in ["a", "b"] {
        attachments.delete(&key("default", name), &all).await.unwrap();
    }
    probes.delete(&key("default", "q"), &all).await.unwrap();
    admin.stop().await;
    agent.stop().await;
    if let Some(server) = fixture.server {
        server.stop().await;
    }
}
