//! A server in a process of its own, so that its memory is not mixed up with the client's.

use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use machinery_apiserver::{ApiServer, Limits, Listen};
use machinery_store::{Memory, Options, Retention};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::row::{ALL, BAD, CONFIGS, JSON, Row};
use crate::client::definition;

const ITSELF: &str = "malformed::process::a_server_in_a_process_of_its_own";
const SAYS: &str = "it listens at ";

/// Bytes of history of the server, in its store and again in its watch caches.
pub(super) const HISTORY: u64 = 16 << 20;

/// The main of the other process, which runs until its input ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "another test runs it, in a process of its own"]
async fn a_server_in_a_process_of_its_own() {
    let retention = Retention { bytes: Some(HISTORY), ..Retention::default() };
    let store = Memory::new(Options { retention, ..Options::default() });
    let limits = Limits { rings_bytes: usize::try_from(HISTORY).unwrap(), ..Limits::default() };
    let server =
        ApiServer::builder(store).limits(limits).rbac().crds([definition(), open()]).start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
    listen.insecure = true;
    let access = server.listen(listen).await.unwrap();
    println!("\n{SAYS}{}", access.address);
    let wait = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tokio::task::spawn_blocking(wait).await.unwrap().unwrap();
    server.stop().await;
}

/// A server that is alone in its process. It ends when this is dropped.
pub(super) struct Process {
    child: Child,
    /// Its further output, without a reader of which it would end.
    _output: Lines<BufReader<ChildStdout>>,
    pub(super) address: String,
    /// Its resident size after a first answer.
    pub(super) base: u64,
}

impl Process {
    pub(super) async fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", ITSELF, "--ignored", "--nocapture"]);
        // Memory that is free again is not counted.
        child.env("MALLOC_ARENA_MAX", "2").env("MALLOC_TRIM_THRESHOLD_", "131072");
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = child.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().expect("it says where it listens");
            if let Some((_, address)) = line.split_once(SAYS) {
                break address.to_owned();
            }
        };
        let mut server = Self { child, _output: lines, address, base: 0 };
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
            "spec": {"color": "red", "tags": ["p", "q"]},
        });
        let config = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
        for (path, object) in [(ALL, widget), (CONFIGS, config)] {
            assert_eq!(server.send(&Row::post(path, JSON, object.to_string(), BAD)).await, Some(201));
        }
        server.base = server.memory("VmRSS:");
        server
    }

    /// Returns the code of the answer. `None`: the connection was closed before the request was
    /// sent, and the answer is lost.
    pub(super) async fn send(&self, row: &Row) -> Option<u16> {
        self.answer(row).await.map(|(code, _)| code)
    }

    /// Returns the code and body of the answer.
    pub(super) async fn answer(&self, row: &Row) -> Option<(u16, Bytes)> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut connections = JoinSet::new();
        connections.spawn(async move { drop(connection.await) });
        let mut request: http::Request<Full<Bytes>> = row.request().expect("a request that can be sent");
        request.headers_mut().insert(HOST, "localhost".parse().unwrap());
        let (head, body) = sender.send_request(request).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some((head.status.as_u16(), body))
    }

    /// Resets the peak of the resident size.
    pub(super) fn forget_peak(&self) {
        std::fs::write(self.file("clear_refs"), "5").unwrap();
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id().unwrap())
    }

    /// Returns the resident size, once the work that follows the previous response has ended: on a
    /// busy machine the next request would be charged with its memory.
    pub(super) async fn settled(&self) -> u64 {
        let mut before = self.memory("VmRSS:");
        for _ in 0..100 {
            sleep(Duration::from_millis(10)).await;
            let now = self.memory("VmRSS:");
            if now == before {
                break;
            }
            before = now;
        }
        before
    }

    /// Bytes of memory, as Linux counts them under this name.
    pub(super) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(self.file("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

/// A kind that preserves unknown fields below `any`, and has free-form objects.
fn open() -> Value {
    let mut definition = definition();
    definition["metadata"]["name"] = "opens.example.com".into();
    definition["spec"]["names"] = json!({"plural": "opens", "kind": "Open"});
    definition["spec"]["versions"][0]["selectableFields"] = json!([]);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"known": {"type": "string"}}},
    });
    definition
}
