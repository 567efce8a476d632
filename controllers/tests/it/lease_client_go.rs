//! Candidates of client-go and of this crate alternate on one Lease, over a socket in real time: on
//! our server, and on Kubernetes where `cargo xtask kubernetes` provides one.

use crate::lease_fixture::{LEASE, work};
use jiff::Timestamp;
use machinery_apiserver::{ApiServer, Listen};
use machinery_controllers::{ElectionConfig, ElectionPhase, Elector, Lease, Term};
use machinery_kube::kube_client::Config;
use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery_kube::{Connections, Remote, ServerProfile};
use machinery_objects::{Freshness, ListWatch};
use machinery_store::{Memory, Options};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command as Spawn};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/go");
const PATIENCE: Duration = Duration::from_secs(60);

/// Builds the Go program, if Go is installed, as in CI.
fn build() -> Option<PathBuf> {
    let go = if Path::new("/usr/local/go/bin/go").exists() { "/usr/local/go/bin/go" } else { "go" };
    if !Command::new(go).arg("version").output().is_ok_and(|done| done.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "go is needed for this test");
        // Bypasses the capture of the test harness, which hides the output of passing tests.
        use std::io::Write as _;
        let _ =
            writeln!(std::io::stderr().lock(), "SKIPPED: go is not here, and what needs it was not tried");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gopher");
    let mut build = Command::new(go);
    build.current_dir(SOURCE).args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".");
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

/// A candidate of client-go.
struct GoCandidate {
    child: Child,
    tell: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

impl GoCandidate {
    fn new(program: &Path, kubeconfig: &Path) -> Self {
        let mut spawn = Spawn::new(program);
        spawn.env("KUBECONFIG", kubeconfig).kill_on_drop(true);
        let mut child =
            spawn.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (tell, says) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, tell, says: BufReader::new(says).lines() }
    }

    async fn is_to(&mut self, what: &str) {
        self.tell.write_all(format!("{what}\n").as_bytes()).await.unwrap();
    }

    /// Waits for this line.
    async fn says(&mut self, what: &str) {
        let heard = async {
            while let Some(line) = self.says.next_line().await.unwrap() {
                println!("{line}");
                if line == what {
                    return true;
                }
            }
            false
        };
        assert!(timeout(PATIENCE, heard).await.expect("it says it in time"), "{what}");
    }
}

/// Returns a spec with the digits of its times masked.
fn shape(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in ["acquireTime", "renewTime"] {
        let text = spec[field].as_str().unwrap().replace(|char: char| char.is_ascii_digit(), "0");
        assert_eq!(text, "0000-00-00T00:00:00.000000Z");
        spec[field] = text.into();
    }
    spec["holderIdentity"] = "".into();
    spec["leaseTransitions"] = i64::from(spec["leaseTransitions"].is_u64()).into();
    spec
}

async fn leads(terms: &mut UnboundedReceiver<Term>) -> Term {
    timeout(PATIENCE, terms.recv()).await.expect("it leads in time").expect("it stands")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_client_go_and_elector_alternate_on_one_lease() {
    let Some(program) = tokio::task::spawn_blocking(build).await.unwrap() else { return };
    match std::env::var_os("KUBERNETES_UNDER_TEST") {
        Some(kubeconfig) => take_turns(&program, Path::new(&kubeconfig)).await,
        None => {
            let home = tempfile::tempdir().unwrap();
            let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
            let listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
            take_turns(&program, &server.listen(listen).await.unwrap().kubeconfig).await;
            server.stop().await;
        }
    }
}

async fn take_turns(program: &Path, kubeconfig: &Path) {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    let client = machinery_kube::client(config, Connections::default()).unwrap();
    let leases = Remote::<Lease>::new(client, Lease::kind(), ServerProfile::kubernetes());
    let (reads, all): (Arc<dyn ListWatch<Lease>>, _) = (Arc::new(leases.clone()), leases.clone());
    let election = ElectionConfig {
        lease_duration: Duration::from_secs(5),
        renew_deadline: Duration::from_secs(4),
        retry_period: Duration::from_millis(200),
        ..ElectionConfig::new(LEASE.parse().unwrap(), "crab", 1)
    };
    #[allow(
        clippy::disallowed_methods,
        reason = "this is a program: the clock on the wall is what it hands in"
    )]
    let elector = Elector::new(election, reads, Arc::new(leases), Timestamp::now).unwrap();
    let spec = async || {
        let lease = all.get(&LEASE.parse().unwrap(), Freshness::Newest).await.unwrap().unwrap();
        serde_json::to_value(lease).unwrap()["spec"].clone()
    };
    let tasks = TaskTracker::new();
    let stand = || {
        let (stopping, (sender, terms)) = (CancellationToken::new(), unbounded_channel());
        let (leads, ends) = (elector.clone(), stopping.clone());
        let leading = tasks.spawn(async move { leads.lead(work(sender), ends).await });
        (stopping, terms, leading)
    };
    let is_behind = async |holder: &str| {
        let waits = async {
            while elector.state().holder.as_deref() != Some(holder) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, waits).await.expect("it sees who leads");
        assert_eq!(elector.state().phase, ElectionPhase::Candidate);
    };

    // client-go leads while ours waits; it resigns, and ours leads.
    let mut gopher = GoCandidate::new(program, kubeconfig);
    gopher.is_to("stand").await;
    gopher.says("leads").await;
    let theirs = spec().await;
    let (stopping, mut terms, leading) = stand();
    is_behind("gopher").await;
    gopher.is_to("leave").await;
    gopher.says("stopped").await;
    let first = leads(&mut terms).await;
    let ours = spec().await;
    assert_eq!(shape(&ours), shape(&theirs), "each writes what the other writes");
    assert_eq!((ours["holderIdentity"].as_str(), ours["leaseTransitions"].as_u64()), (Some("crab"), Some(1)));

    // It observes our renewals and waits; ours resigns, and it leads.
    gopher.is_to("stand").await;
    gopher.says("sees crab").await;
    for _ in 0..24 {
        assert_eq!(elector.state().phase, ElectionPhase::Leading);
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    stopping.cancel();
    assert_eq!(leading.await.unwrap(), Ok(Some(first.epoch())));
    gopher.says("leads").await;
    assert_eq!(spec().await["leaseTransitions"].as_u64(), Some(2));

    // It is killed: ours acquires the expired Lease.
    let (_stopping, mut terms, leading) = stand();
    is_behind("gopher").await;
    gopher.child.kill().await.unwrap();
    assert_eq!(leads(&mut terms).await.epoch(), 3);

    // Ours is dropped: it acquires the expired Lease.
    let mut gopher = GoCandidate::new(program, kubeconfig);
    gopher.is_to("stand").await;
    gopher.says("sees crab").await;
    leading.abort();
    gopher.says("leads").await;
    assert_eq!(spec().await["leaseTransitions"].as_u64(), Some(4));
}
