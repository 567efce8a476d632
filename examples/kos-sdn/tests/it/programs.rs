//! Programs of attachments, run by an agent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kos::agent::AgentSettings;
use kos::model::{ExecReport, NetworkAttachment, Section};
use tempfile::TempDir;

use crate::harness::{Calls, Harness, InstrumentedFabric, host};
use crate::server::key;

/// A node, and a program that records its calls.
struct ProgramNode {
    harness: Harness,
    directory: TempDir,
}

impl ProgramNode {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut harness = Harness::without_agents().await;
        let mut settings = AgentSettings::new("node-1", host(1));
        settings.programs.allowed.insert(text(&program(directory.path())));
        let fabric = harness.underlay.join(host(1)).unwrap();
        harness.agent_with(settings, fabric);
        harness.subnet("s", 17, "10.1.0.0/24").await;
        Self { harness, directory }
    }

    fn exec(&self, arguments: &[&str]) -> Vec<String> {
        let program = text(&program(self.directory.path()));
        [program].into_iter().chain(arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }

    async fn attach(&self, name: &str, change: impl FnOnce(&mut NetworkAttachment)) {
        let mut attachment = NetworkAttachment::new("default", name, "node-1", "s");
        change(&mut attachment);
        self.harness.attachments.create(&attachment).await.unwrap();
    }

    fn report(&self, name: &str) -> Option<ExecReport> {
        self.harness.get(name)?.status.post_create_exec_report.clone()
    }

    async fn until_reported(&self, name: &str) -> ExecReport {
        self.harness.until(name, |it| it.is_some_and(|it| it.status.post_create_exec_report.is_some())).await;
        self.report(name).unwrap()
    }

    /// Returns the recorded calls.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    async fn until_called(&self, times: usize) {
        self.harness.until_so(|| self.calls().len() >= times).await;
    }
}

fn program(directory: &Path) -> PathBuf {
    let path = directory.join("program");
    if !path.exists() {
        let script =
            "#!/bin/sh\necho \"$@\" >> \"${0%/*}/calls\"\necho \"said $1\"\necho Invalid >&2\nexit 3\n";
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    path
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_result_is_reported() {
    let node = ProgramNode::new().await;
    let exec = node.exec(&["${ifname}", "${ipv4}", "${mac}", "${other}"]);
    node.attach("a", |it| it.spec.post_create_exec = exec).await;
    let report = node.until_reported("a").await;
    let it = node.harness.get("a").unwrap();
    let status = &it.status;
    let expected = [&*status.ifc_name, &status.ipv4, &status.mac_address, "${other}"];
    assert_eq!(report.command[1..], expected);
    assert_eq!(node.calls(), [expected.join(" ")]);
    assert_eq!((report.exit_status, &*report.std_err), (3, "Invalid\n"));
    assert_eq!(report.std_out, format!("said {}\n", status.ifc_name));
    assert!(report.start_time.0 <= report.stop_time.0);
    assert!(it.extended_metadata.written(Section::ExecReport).is_some());
    assert!(status.errors.host.is_empty(), "the program failed, not the node");
    node.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disallowed_program_is_reported_and_not_run() {
    let node = ProgramNode::new().await;
    let path = format!("{}/./program", node.directory.path().display());
    node.attach("a", |it| {
        it.spec.post_create_exec = vec![path.clone(), "made".into()];
        it.spec.post_delete_exec = vec!["/bin/true".into()];
    })
    .await;
    let wrong = [
        format!("postCreate specifies non-allowed path {path}"),
        "postDelete specifies non-allowed path /bin/true".into(),
    ];
    node.harness.until_ready("a").await;
    assert_eq!(node.harness.get("a").unwrap().status.errors.host, wrong);
    node.attach("b", |it| it.spec.post_create_exec = node.exec(&["b"])).await;
    node.until_reported("b").await;
    node.harness.attachments.delete(&key("default", "a")).await.unwrap();
    node.harness.until("a", |it| it.is_none()).await;
    assert_eq!(node.calls(), ["b"]);
    node.harness.finish().await;
}

/// The original ran the program that was in the spec when the interface was created.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_delete_program_is_the_latest_in_the_spec() {
    let node = ProgramNode::new().await;
    node.attach("a", |it| it.spec.post_delete_exec = node.exec(&["first"])).await;
    node.harness.until_ready("a").await;
    let mut it = (*node.harness.get("a").unwrap()).clone();
    it.spec.post_delete_exec = node.exec(&["last", "${ipv4}"]);
    node.harness.attachments.update(&it).await.unwrap();
    assert!(node.calls().is_empty());
    node.harness.attachments.delete(&key("default", "a")).await.unwrap();
    node.until_called(1).await;
    assert_eq!(node.calls(), [format!("last {}", it.status.ipv4)]);
    node.harness.finish().await;
}

/// A recreated attachment has a new interface, and does not inherit the former report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_interface_runs_its_program_once() {
    let node = ProgramNode::new().await;
    let exec = node.exec(&["again", "${ipv4}"]);
    for times in 1..=3 {
        node.attach("a", |it| it.spec.post_create_exec.clone_from(&exec)).await;
        let report = node.until_reported("a").await;
        assert_eq!(report.command[2], node.harness.get("a").unwrap().status.ipv4);
        assert_eq!(node.calls().len(), times);
        node.harness.attachments.delete(&key("default", "a")).await.unwrap();
        node.harness.until("a", |it| it.is_none()).await;
    }
    node.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adopted_interface_does_not_rerun_its_program() {
    let mut harness = Harness::without_agents().await;
    let directory = tempfile::tempdir().unwrap();
    let fabric = harness.underlay.join(host(1)).unwrap();
    harness.subnet("s", 17, "10.1.0.0/24").await;
    let exec = vec![text(&program(directory.path())), "made".into()];
    let mut attachment = NetworkAttachment::new("default", "a", "node-1", "s");
    attachment.spec.post_create_exec = exec.clone();
    harness.attachments.create(&attachment).await.unwrap();
    harness.until("a", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    // The state that an agent left after it created the interface, ran the program and reported it.
    let mut it = (*harness.get("a").unwrap()).clone();
    let vni = kos::model::Vni::new(17).unwrap();
    let local = kos::plan::LocalInterface::new(vni, it.status.ipv4.parse().unwrap());
    let local = local.with_workload(key("default", "a"), it.status.prefix_length);
    kos::drive::Fabric::create_local(&fabric, &local).await.unwrap();
    let now = machinery::k8s_openapi::jiff::Timestamp::now();
    let time = machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now);
    it.status.post_create_exec_report = Some(ExecReport {
        command: exec.clone(),
        exit_status: 7,
        start_time: time.clone(),
        stop_time: time,
        std_out: "of the first life".into(),
        std_err: String::new(),
    });
    harness.attachments.update_status(&it).await.unwrap();
    let mut settings = AgentSettings::new("node-1", host(1));
    settings.programs.allowed.insert(exec[0].clone());
    let calls = Arc::new(Calls::default());
    harness.agent_with(settings, InstrumentedFabric { of: fabric, calls: calls.clone() });
    harness.until_ready("a").await;
    let report = harness.get("a").unwrap().status.post_create_exec_report.clone().unwrap();
    assert_eq!((report.exit_status, &*report.std_out), (7, "of the first life"));
    assert_eq!(calls.made.load(Ordering::SeqCst), 0);
    harness.finish().await;
    assert!(!directory.path().join("calls").exists());
}
