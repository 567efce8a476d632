//! Agents as processes on the switches of a lab. As root with Open vSwitch.

use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};
use std::time::Duration;

use kos::model::{NetworkAttachment, Subnet};
use machinery::Objects;
use tempfile::TempDir;

use crate::harness::DEADLINE;
use crate::kos_process::{KosProcess, kos, text};
use crate::server::key;

/// A server, controllers and a lab of three hosts.
struct LabCluster {
    home: TempDir,
    _processes: [KosProcess; 2],
}

impl LabCluster {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path();
        let nodes = "node-1,node-2,node-3";
        let server = ["apiserver", "--memory", "--listen", "127.0.0.1:0", "--nodes", nodes];
        let server = KosProcess::start(path, &server);
        let kubeconfig = path.join(".kos/controllers.kubeconfig");
        let controllers = ["controllers", "--kubeconfig", kubeconfig.to_str().unwrap()];
        let controllers = KosProcess::start(path, &controllers);
        Self { home, _processes: [server, controllers] }
    }

    fn file(&self, name: &str) -> String {
        self.home.path().join(".kos").join(name).to_str().unwrap().to_owned()
    }

    fn agent(&self, number: usize, options: &[&str]) -> KosProcess {
        let node = format!("node-{number}");
        let (kubeconfig, run) = (self.file(&format!("{node}.kubeconfig")), self.file(&format!("lab/{node}")));
        let host = format!("192.0.2.{number}");
        let arguments = ["agent", "--kubeconfig", &kubeconfig, "--node", &node, "--host-ip", &host];
        let fabric = ["--fabric", "ovs", "--ovs-run", &run];
        KosProcess::start(self.home.path(), &[&arguments[..], &fabric, options].concat())
    }

    fn ran(&self, arguments: &[&str]) -> Output {
        kos(self.home.path(), arguments).output().unwrap()
    }

    #[track_caller]
    fn succeeds(&self, arguments: &[&str]) -> String {
        let ended = self.ran(arguments);
        assert!(ended.status.success(), "{arguments:?}: {}", text(&ended));
        text(&ended)
    }

    /// Repeats a ping until it is answered: nodes learn of each other with a delay.
    async fn until_pings(&self, from: &str, to: &str) {
        let so = async {
            while !self.ran(&["ping", "-c", "1", from, to]).status.success() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(DEADLINE, so).await.unwrap();
    }
}

impl Drop for LabCluster {
    fn drop(&mut self) {
        let ended = self.ran(&["lab", "down"]);
        if !std::thread::panicking() {
            assert!(ended.status.success(), "{}", text(&ended));
        }
    }
}

async fn until_ready(attachments: &Objects<NetworkAttachment>, name: &str) {
    let ready = attachments
        .until(DEADLINE, |all| all.get(&key("default", name)).filter(|it| !it.status.ifc_name.is_empty()));
    if let Err(error) = ready.await {
        panic!("{error}: {:?}", attachments.get(&key("default", name)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_run_as_processes_on_switches() {
    let missing = kos::lab::missing_requirements();
    if !missing.is_empty() {
        return eprintln!("SKIPPED agents_run_as_processes_on_switches: a lab needs {}", missing.join("; "));
    }
    let cluster = LabCluster::new();
    cluster.succeeds(&["lab", "up", "--nodes", "3", "--name", "kos-agent-test"]);
    let agents = [(1, &["--into", "netns"][..]), (2, &["--into", "netns"]), (3, &["--mtu", "1300"])];
    let _agents = agents.map(|(number, options)| cluster.agent(number, options));

    let plane = machinery::kubeconfig(cluster.file("kubeconfig")).start().await.unwrap();
    let (subnets, attachments): (Objects<Subnet>, Objects<NetworkAttachment>) =
        (plane.objects().unwrap(), plane.objects().unwrap());
    subnets.create(&Subnet::new("default", "s", 17, "10.1.0.0/24")).await.unwrap();
    for (name, node) in [("process-a", "node-1"), ("process-b", "node-2"), ("process-c", "node-3")] {
        attachments.create(&NetworkAttachment::new("default", name, node, "s")).await.unwrap();
        until_ready(&attachments, name).await;
    }
    let [a, b, c] = ["default/process-a", "default/process-b", "default/process-c"];
    cluster.until_pings(a, b).await;
    let address = attachments.get(&key("default", "process-b")).unwrap().status.ipv4.clone();
    let shown = cluster.succeeds(&["exec", b, "--", "ip", "-o", "address", "show"]);
    assert!(shown.contains(&format!("{address}/24")), "{shown}");
    let traced = cluster.succeeds(&["trace", a, b]);
    for part in ["(default/process-a)", "(default/process-b)", "forwarded: tnl_push", "a ping is answered"] {
        assert!(traced.contains(part), "{part}: {traced}");
    }

    // A second agent of a node, past the file lock of its user, waits for the switch's lock.
    let other = tempfile::tempdir().unwrap();
    let (kubeconfig, run) = (cluster.file("node-1.kubeconfig"), cluster.file("lab/node-1"));
    let second = ["agent", "--kubeconfig", &kubeconfig, "--node", "node-1", "--host-ip", "192.0.2.1"];
    let mut second = kos(other.path(), &second);
    second.args(["--fabric", "ovs", "--ovs-run", &run]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut second = KosProcess(second.spawn().unwrap());
    let mut lines = BufReader::new(second.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let is_locked = lines.any(|line| line.contains("another agent holds the lock kos_agent_kos"));
    assert!(is_locked, "the second agent did not report the lock");
    drop(second);
    cluster.succeeds(&["ping", "-c", "1", a, b]);

    // On the third node the interface stays on the node, without an address.
    let refused = cluster.ran(&["ping", "-c", "1", c, a]);
    assert!(
        !refused.status.success() && text(&refused).contains("run the agent with --into netns"),
        "{}",
        text(&refused)
    );
    let name = attachments.get(&key("default", "process-c")).unwrap().status.ifc_name.clone();
    let shown = cluster.succeeds(&["lab", "exec", "node-3", "--", "ip", "-o", "link", "show", &name]);
    assert!(shown.contains("mtu 1300"), "{shown}");
    let refused = cluster.ran(&["exec", c, "--", "true"]);
    assert!(!refused.status.success() && text(&refused).contains("--into netns"), "{}", text(&refused));
    plane.stop().await;
}
