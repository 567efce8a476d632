//! The commands as separate processes: API server, runner and agent, over TLS, each with its own
//! user and role.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use machinery::kube_core::DynamicObject;
use machinery::objects::Deletion;
use machinery::tokio::time::{Instant, sleep};
use machinery::{Plane, RuntimeKind, tokio};
use sdewan::model::{SdewanKind, SdewanObject, StatusForm};
use sdewan::up::{kind_of, samples};
use serde_json::{from_value, json};

/// Ten times the time that it may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// A child process, killed on drop.
struct Process(Child);

impl Process {
    /// Starts `sdewan` and waits until it is ready.
    fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sdewan"));
        command.args(arguments).env_remove("KUBECONFIG").env("HOME", home).stdout(Stdio::piped());
        let mut process = Self(command.spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let is_up = lines.map_while(Result::ok).any(|line| line.ends_with("Ctrl-C ends it"));
        assert!(is_up, "{arguments:?} did not come up");
        process
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The rules of the samples, as a user sees them.
struct Rules(Vec<RuntimeKind<SdewanObject>>);

impl Rules {
    async fn of(plane: &Plane) -> Self {
        let mut all = Vec::new();
        for resource in SdewanKind::all_served().filter(|one| one.kind.status == StatusForm::Rule) {
            let kind = plane.kind_named(&resource.name()).unwrap();
            kind.served().await.unwrap();
            all.push(kind);
        }
        Self(all)
    }

    /// Waits until there are `count` rules, all in sync.
    async fn until_in_sync(&self, count: usize) {
        let began = Instant::now();
        loop {
            let objects: Vec<_> = self
                .0
                .iter()
                .flat_map(|kind| kind.read().iter().map(|(_, one)| one.clone()).collect::<Vec<_>>())
                .collect();
            let mut late = objects.iter().filter(|one| !one.sync_status().in_sync);
            let first_late = late.next().map(|one| (one.name().to_owned(), one.status.clone()));
            if objects.len() == count && first_late.is_none() {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{} of {count} rules, late: {first_late:?}", objects.len());
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Creates the samples as a user with a kubeconfig; returns the number of rules.
async fn make_samples(plane: &Plane) -> usize {
    let mut rules = 0;
    for sample in samples(2).unwrap() {
        let kind = kind_of(&sample).unwrap();
        rules += usize::from(SdewanKind::named(kind.name()).is_some());
        let name = match kind.group() {
            "" => kind.plural().to_owned(),
            group => format!("{}.{group}", kind.plural()),
        };
        let objects = plane.kind_named::<DynamicObject>(&name).unwrap();
        objects.served().await.unwrap();
        let writer = plane.writer_of_kind(&objects);
        writer.create(&from_value(sample).unwrap(), None).await.unwrap();
    }
    rules
}

async fn samples_come_into_sync(network: &str, runner: &[&str], agent: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    let at = |file: &str| home.path().join(file).to_str().unwrap().to_owned();
    let (data, kubeconfigs) = (at("data"), at("kubeconfigs"));
    let _server = Process::start(
        home.path(),
        &[
            "apiserver",
            "--memory",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            &data,
            "--kubeconfigs",
            &kubeconfigs,
        ],
    );
    let config = at("kubeconfigs/runner.kubeconfig");
    let arguments = ["runner", "--kubeconfig", &config, "--pod-network", network];
    let _runner = Process::start(home.path(), &[&arguments, runner].concat());
    let plane = machinery::kubeconfig(at("kubeconfigs/kubeconfig")).start().await.unwrap();
    let rules = Rules::of(&plane).await;
    let count = make_samples(&plane).await;
    let config = at("kubeconfigs/agent.kubeconfig");
    let first = Process::start(home.path(), &[&["agent", "--kubeconfig", &config], agent].concat());
    rules.until_in_sync(count).await;
    // A deleted rule goes with its finalizer.
    let kind = plane.kind_named::<SdewanObject>("mwan3rules.batch.sdewan.akraino.org").unwrap();
    let writer = plane.writer_of_kind(&kind);
    writer.delete(&"default/https-rule".parse().unwrap(), &Deletion::default()).await.unwrap();
    rules.until_in_sync(count - 1).await;
    // Another agent takes over, and finds its own changes.
    drop(first);
    let changed = json!({"metadata": {"name": "new-rule", "namespace": "default", "labels": {"sdewanPurpose": "cnf-1"}},
        "spec": {"policy": "balance1", "dest_port": "8080"}});
    writer.create(&from_value(changed).unwrap(), None).await.unwrap();
    let _second = Process::start(home.path(), &[&["agent", "--kubeconfig", &config], agent].concat());
    rules.until_in_sync(count).await;
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_samples_come_into_sync_by_an_agent_in_another_process() {
    samples_come_into_sync("127.44.0.0", &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_samples_come_into_sync_over_v1_by_an_agent_that_leads() {
    samples_come_into_sync("127.45.0.0", &["--v1-only"], &["--leader-elect"]).await;
}
