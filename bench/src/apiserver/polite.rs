//! The latency of a client with few requests, alone and beside the floods of another user.

use crate::measure::{Figures, count};
use crate::server::objects::{self, PATH, Writer};
use crate::server::{Access, Client};
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

const POLITE: &str = "polite-token";
const FLOODER: &str = "flooder-token";

/// The time between two requests of the polite client.
const PERIOD: Duration = Duration::from_millis(100);
/// The time over which the connections of a flood send their first requests. Clients of their own
/// would not be in step, either.
const STAGGER: Duration = Duration::from_secs(3);
/// Timeout of the server's reload of its tokens.
const TIMEOUT: Duration = Duration::from_secs(30);

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Adds a polite user and a flooder to the tokens of a running server.
pub(super) fn add_users(directory: &Path, pid: u32) -> anyhow::Result<()> {
    let path = directory.join("pki/tokens.csv");
    let file = OpenOptions::new().append(true).open(&path);
    let mut file = file.with_context(|| format!("cannot open {}", path.display()))?;
    file.write_all(format!("{POLITE},polite,polite\n{FLOODER},flooder,flooder\n").as_bytes())?;
    let pid = Pid::from_raw(pid.try_into()?).context("no process")?;
    kill_process(pid, Signal::HUP).context("cannot make the server reload its tokens")
}

/// Measures the client alone, and then beside the floods.
pub(super) async fn latencies(access: &Access, connections: usize, seconds: f64) -> anyhow::Result<Figures> {
    allow(access).await?;
    let client = known(&access.with_token(POLITE)).await?;
    known(&access.with_token(FLOODER)).await?;
    let mut polite = PoliteClient { client, writer: Writer::new(0), made: 0 };
    polite.run(seconds / 10.0).await?; // warms up
    let alone = polite.run(seconds).await?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    configure(access, listener.local_addr()?.port()).await?;
    let local = LocalSet::new();
    let flooded = local.run_until(async {
        let _hook = AbortOnDrop(tokio::task::spawn_local(hang(listener)));
        let answered = Rc::new(Cell::new(0));
        let mut floods = JoinSet::new();
        for at in 0..connections {
            let start = STAGGER * u32::try_from(at)? / u32::try_from(connections)?;
            let [viewer, writer] = [
                Client::connect(&access.with_token(FLOODER)).await?,
                Client::connect(&access.with_token(FLOODER)).await?,
            ];
            floods.spawn_local(view(viewer, at, start, answered.clone()));
            floods.spawn_local(write(writer, at, start, answered.clone()));
        }
        sleep(STAGGER).await;
        let (before, began) = (answered.get(), Instant::now());
        let beside = polite.run(seconds).await?;
        let rate = count(answered.get() - before) / began.elapsed().as_secs_f64();
        if let Some(ended) = floods.try_join_next() {
            bail!("a connection of a flood has ended: {:?}", ended?.err());
        }
        anyhow::Ok((beside, rate))
    });
    let (beside, rate) = flooded.await?;
    Ok(Figures::default()
        .with("ratio", beside.p99_ms / alone.p99_ms)
        .with("alone_p99_ms", alone.p99_ms)
        .with("beside_p99_ms", beside.p99_ms)
        .with("refused", count(alone.refused + beside.refused))
        .with("flood_per_second", rate))
}

struct PoliteClient {
    client: Client,
    writer: Writer,
    made: usize,
}

struct Latencies {
    p99_ms: f64,
    refused: usize,
}

impl PoliteClient {
    /// Sends ten requests a second, one at a time.
    async fn run(&mut self, seconds: f64) -> anyhow::Result<Latencies> {
        let (end, mut each, mut refused) = (Instant::now() + Duration::from_secs_f64(seconds), Vec::new(), 0);
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < end {
            ticks.tick().await;
            let began = Instant::now();
            let status = self.one(each.len()).await?;
            each.push(began.elapsed());
            match status {
                StatusCode::OK | StatusCode::CREATED => {}
                StatusCode::TOO_MANY_REQUESTS => refused += 1,
                other => bail!("a request of the polite client was answered {other}"),
            }
        }
        ensure!(!each.is_empty(), "no request fell into the measured time");
        each.sort_unstable();
        let p99_ms = each[(each.len() - 1) * 99 / 100].as_secs_f64() * 1e3;
        Ok(Latencies { p99_ms, refused })
    }

    async fn one(&mut self, at: usize) -> anyhow::Result<StatusCode> {
        match at % 3 {
            0 => {
                self.made += 1;
                let body = self.writer.new_object(&objects::name(99, self.made));
                self.client.attempt(Method::POST, PATH, body).await
            }
            1 => self.client.status(&format!("{PATH}/{}", objects::name(99, self.made))).await,
            _ => self.client.status(&format!("{PATH}?limit=10")).await,
        }
    }
}

/// Gets and lists at a revision of the future, without end.
async fn view(
    mut client: Client,
    at: usize,
    start: Duration,
    answered: Rc<Cell<usize>>,
) -> anyhow::Result<()> {
    sleep(start).await;
    let name = if at.is_multiple_of(2) { "/a" } else { "" };
    loop {
        client.status(&format!("{MAPS}{name}?resourceVersion=9000000000")).await?;
        answered.set(answered.get() + 1);
    }
}

/// Creates objects that the webhook reviews, without end.
async fn write(
    mut client: Client,
    at: usize,
    start: Duration,
    answered: Rc<Cell<usize>>,
) -> anyhow::Result<()> {
    sleep(start).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("flood-{at}")}});
    let body = Bytes::from(serde_json::to_vec(&map)?);
    loop {
        client.attempt(Method::POST, MAPS, body.clone()).await?;
        answered.set(answered.get() + 1);
    }
}

/// Accepts connections, and never answers.
async fn hang(listener: TcpListener) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        held.push(stream);
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Configures a webhook for ConfigMaps at a port.
async fn configure(access: &Access, port: u16) -> anyhow::Result<()> {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hangs"},
        "webhooks": [{
            "name": "hangs.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 10,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/"), "caBundle": access.authority},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}],
        }],
    });
    create(access, WEBHOOKS, &configuration).await
}

/// Allows both users all that they do here.
async fn allow(access: &Access) -> anyhow::Result<()> {
    let rules = json!([
        {"apiGroups": ["bench.machinery.dev"], "resources": ["gadgets"], "verbs": ["create", "get", "list"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "list"]},
    ]);
    let api = "rbac.authorization.k8s.io/v1";
    let role =
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "traffic"}, "rules": rules});
    create(access, &format!("{RBAC}/clusterroles"), &role).await?;
    let user = |name: &str| json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name});
    let binding = json!({
        "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": "traffic"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "traffic"},
        "subjects": [user("polite"), user("flooder")],
    });
    create(access, &format!("{RBAC}/clusterrolebindings"), &binding).await
}

async fn create(access: &Access, path: &str, object: &Value) -> anyhow::Result<()> {
    let body = serde_json::to_vec(object)?;
    Client::connect(access).await?.post(path, body.into()).await.map(drop)
}

/// Returns a connection, once the server has reloaded its tokens and roles. It closes the
/// connection of an unknown user, so each attempt has its own.
async fn known(access: &Access) -> anyhow::Result<Client> {
    let end = Instant::now() + TIMEOUT;
    loop {
        let mut client = Client::connect(access).await?;
        match client.status(&format!("{PATH}?limit=1")).await? {
            StatusCode::OK => return Ok(client),
            status => ensure!(Instant::now() < end, "the new user is still answered {status}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}
