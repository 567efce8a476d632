//! Each component in a process of its own, over TLS, with the rights of its role only.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use kos::model::{NetworkAttachment, Subnet};
use machinery::objects::WriteError;
use machinery::{Objects, Plane};
use tempfile::TempDir;

use crate::harness::DEADLINE;
use crate::kos_process::{KosProcess, kos, text};
use crate::kubectl::kubectl;
use crate::server::key;

struct ProcessCluster {
    home: TempDir,
    port: String,
}

/// Loopback addresses used by this test only.
const HOSTS: [&str; 2] = ["127.0.71.1", "127.0.71.2"];

impl ProcessCluster {
    fn new() -> Self {
        // A UDP port that is free on both addresses.
        let socket = std::net::UdpSocket::bind((HOSTS[0], 0)).unwrap();
        let port = socket.local_addr().unwrap().port().to_string();
        Self { home: tempfile::tempdir().unwrap(), port }
    }

    fn file(&self, name: &str) -> String {
        self.home.path().join(".kos").join(name).to_str().unwrap().to_owned()
    }

    fn start(&self, arguments: &[&str]) -> KosProcess {
        KosProcess::start(self.home.path(), arguments)
    }

    fn controllers(&self) -> KosProcess {
        self.start(&["controllers", "--kubeconfig", &self.file("controllers.kubeconfig")])
    }

    fn agent_arguments(&self, number: usize) -> Vec<String> {
        let node = format!("node-{number}");
        let kubeconfig = self.file(&format!("{node}.kubeconfig"));
        let arguments =
            ["agent", "--kubeconfig", &kubeconfig, "--node", &node, "--host-ip", HOSTS[number - 1]];
        let arguments = arguments.into_iter().chain(["--underlay-port", &self.port, "--audit", "1"]);
        arguments.map(str::to_owned).collect()
    }

    fn agent(&self, number: usize) -> KosProcess {
        self.start(&self.agent_arguments(number).iter().map(String::as_str).collect::<Vec<_>>())
    }

    async fn plane(&self, file: &str) -> Plane {
        machinery::kubeconfig(self.file(file)).start().await.unwrap()
    }

    fn ran(&self, arguments: &[&str]) -> Output {
        kos(self.home.path(), arguments).output().unwrap()
    }

    /// Pings until there is a reply: nodes learn of each other with a delay.
    async fn until_pings(&self, from: &str, to: &str) {
        let so = async {
            loop {
                let pinged = self.ran(&["ping", "-c", "1", from, to]);
                if pinged.status.success() {
                    return;
                }
                assert!(!text(&pinged).contains("no cluster"), "{}", text(&pinged));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(DEADLINE, so).await.unwrap();
    }
}

fn kubectl_waits_for_conditions(cluster: &ProcessCluster) {
    let Some(kubectl) = kubectl() else { return };
    let kubeconfig = cluster.file("kubeconfig");
    let wait = |condition: &str, object: &str| {
        let (condition, home) = (format!("--for=condition={condition}"), cluster.home.path());
        let arguments =
            ["--kubeconfig", &kubeconfig, "wait", &condition, object, "-n=default", "--timeout=60s"];
        let ended = Command::new(&kubectl).args(arguments).env("HOME", home).output().unwrap();
        assert!(ended.status.success(), "{}", text(&ended));
        assert!(text(&ended).contains(&format!("{object} condition met")), "{}", text(&ended));
    };
    wait("Validated", "subnet.network.example.com/s");
    for name in ["a", "b", "c", "d"] {
        wait("Ready", &format!("networkattachment.network.example.com/{name}"));
    }
    let silent = "networkattachment.network.example.com/silent";
    wait("AddressAssigned", silent);
    let ready = ["wait", "--for=condition=Ready", "na/silent", "-n=default", "--timeout=1s"];
    let ended = Command::new(&kubectl)
        .args(["--kubeconfig", &kubeconfig])
        .args(ready)
        .env("HOME", cluster.home.path())
        .output()
        .unwrap();
    assert!(!ended.status.success() && text(&ended).contains("timed out waiting"), "{}", text(&ended));
}

async fn until_ready(attachments: &Objects<NetworkAttachment>, name: &str) {
    let ready = attachments
        .until(DEADLINE, |all| all.get(&key("default", name)).filter(|it| !it.status.ifc_name.is_empty()));
    if let Err(error) = ready.await {
        panic!("{error}: {:?}", attachments.get(&key("default", name)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_component_runs_as_a_process_with_its_own_role() {
    let cluster = ProcessCluster::new();
    let data = cluster.file("data");
    let serve = ["apiserver", "--listen", "127.0.0.1:0", "--nodes", "node-1,node-2", "--data-dir", &data];
    let _server = cluster.start(&serve);
    let controllers = cluster.controllers();
    let mut agents = [cluster.agent(1), cluster.agent(2)];
    let plane = cluster.plane("kubeconfig").await;
    let (subnets, attachments): (Objects<Subnet>, Objects<NetworkAttachment>) =
        (plane.objects().unwrap(), plane.objects().unwrap());
    subnets.create(&Subnet::new("default", "s", 17, "10.1.0.0/24")).await.unwrap();
    for (name, node) in [("a", "node-1"), ("b", "node-2"), ("c", "node-2")] {
        attachments.create(&NetworkAttachment::new("default", name, node, "s")).await.unwrap();
    }
    for name in ["a", "b", "c"] {
        until_ready(&attachments, name).await;
    }
    for (from, to) in [("a", "b"), ("b", "a"), ("b", "c")] {
        cluster.until_pings(&format!("default/{from}"), &format!("default/{to}")).await;
    }
    let status = cluster.ran(&["status", "--once"]);
    assert!(status.status.success() && text(&status).contains("3 of 253"), "{}", text(&status));
    // Without --once it prints changes.
    let mut live = kos(cluster.home.path(), &["status"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(live.stdout.take().unwrap()).lines().map_while(Result::ok);
    let live = KosProcess(live);
    assert!(lines.any(|line| line.contains("3 of 253")), "the initial state");
    attachments.create(&NetworkAttachment::new("default", "e", "node-1", "s")).await.unwrap();
    assert!(lines.any(|line| line.contains("4 of 253")), "the changed state");
    drop(live);

    let trace = cluster.ran(&["trace", "default/a", "default/b"]);
    assert!(trace.status.success(), "{}", text(&trace));

    // A second agent of a node exits.
    let arguments = cluster.agent_arguments(1);
    let second = cluster.ran(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        !second.status.success() && text(&second).contains("another agent of node-1"),
        "{}",
        text(&second)
    );

    // No component has the rights of another.
    let forbidden = |found: Result<(), WriteError>| {
        let error = found.unwrap_err().to_string();
        assert!(error.contains("forbidden") || error.contains("Forbidden"), "{error}");
    };
    for file in ["controllers.kubeconfig", "node-1.kubeconfig"] {
        let plane = cluster.plane(file).await;
        let (subnets, attachments) =
            (plane.writer::<Subnet>().unwrap(), plane.writer::<NetworkAttachment>().unwrap());
        forbidden(subnets.create(&Subnet::new("default", "x", 18, "10.2.0.0/24"), None).await.map(drop));
        let new = NetworkAttachment::new("default", "x", "node-1", "s");
        forbidden(attachments.create(&new, None).await.map(drop));
        let all = machinery::objects::Deletion::default();
        forbidden(attachments.delete(&key("default", "a"), &all).await.map(drop));
        if file.starts_with("node") {
            let locks = plane.writer::<kos::model::IPLock>().unwrap();
            forbidden(locks.delete(&key("default", "v1-17-10-1-0-2"), &all).await.map(drop));
        }
        plane.stop().await;
    }

    // Killed components recover after a restart; the switch in the agent's process starts empty.
    drop(controllers);
    let [first, _] = &mut agents;
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    attachments.create(&NetworkAttachment::new("default", "d", "node-1", "s")).await.unwrap();
    agents[0] = cluster.agent(1);
    let _controllers = cluster.controllers();
    until_ready(&attachments, "d").await;
    for (from, to) in [("a", "b"), ("d", "c"), ("c", "d")] {
        cluster.until_pings(&format!("default/{from}"), &format!("default/{to}")).await;
    }
    // No agent: an address, and no interface.
    attachments.create(&NetworkAttachment::new("default", "silent", "node-9", "s")).await.unwrap();
    kubectl_waits_for_conditions(&cluster);
    plane.stop().await;
}
