//! Bodies that would cost far more than they are long: each is refused soon, and in little memory.
//!
//! The server runs in its own process, so that its memory is not mixed up with the client's.

use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use machinery_apiserver::{ApiServer, Listen};
use machinery_store::{Memory, Options};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::row::{ALL, BAD, CONFIGS, INVALID, JSON, ONE, Row};
use super::{bodies, patches};
use crate::client::definition;

/// Memory that the server may use for one request, beyond its idle size.
const MEMORY: u64 = 32 << 20;
/// Memory that it may keep for the next request.
const KEPT: u64 = 2 << 20;
/// Ten times the promised time, and ten times that without optimization.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

const ITSELF: &str = "malformed::bombs::a_server_in_a_process_of_its_own";
const SAYS: &str = "it listens at ";

#[tokio::test]
async fn bombs_are_refused_quickly_and_in_little_memory() {
    let mut rows = [bodies::rows(), patches::rows()].concat();
    rows.retain(|row| row.length() > 32 << 10);
    rows.extend([bodies::yaml(), patches::bombs(), dense()].concat());
    let (mut wrong, mut server) = (Vec::new(), Process::start().await);
    for row in &rows {
        // Memory left from the previous request would hide the use of this one.
        if server.memory("VmRSS:") > server.base + KEPT {
            server = Process::start().await;
        }
        server.forget_peak();
        let mut soonest = Duration::MAX;
        // The machine is shared: a single late answer may be due to others.
        for _ in 0..3 {
            let began = Instant::now();
            let code = server.send(row).await;
            soonest = soonest.min(began.elapsed());
            let too_long = row.length() > 3 << 20;
            assert!(code.map_or(too_long, |code| (400..500).contains(&code)), "{code:?}: {row:?}");
            if soonest < TIME {
                break;
            }
        }
        let more = server.memory("VmHWM:").saturating_sub(server.base);
        if soonest > TIME || more > MEMORY {
            wrong.push(format!("{soonest:?}, {} KiB: {row:?}", more >> 10));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// As many values as there may be, where one is wrong; and more.
fn dense() -> Vec<Row> {
    let widget = |spec: &str| {
        format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"n"}},"spec":{{"color":"pink",{spec}}}}}"#
        )
    };
    let list = |one: &str, count| format!("\"tags\":[{one}{}]", format!(",{one}").repeat(count));
    let fields: String = (0..99_900).map(|number| format!(r#""{number}":1,"#)).collect();
    let mut specs: Vec<_> = ["1", "[]", "{}", "\"a\""].iter().map(|one| list(one, 99_900)).collect();
    specs.extend([format!("\"x\":{{{fields}\"y\":1}}"), list("1", 1_500_000), list("{}", 1_000_000)]);
    let rows = specs.iter().flat_map(|spec| {
        let patch = format!("{{\"spec\":{{\"color\":\"pink\",{spec}}}}}");
        [
            Row::post(ALL, JSON, widget(spec), INVALID),
            Row::post(&format!("{ALL}?fieldValidation=Strict"), JSON, widget(spec), BAD),
            Row::post(ALL, "application/yaml", widget(spec), INVALID),
            Row::patch(ONE, "application/merge-patch+json", patch, INVALID),
        ]
    });
    rows.collect()
}

/// The main of the other process, which runs until its input ends.
#[tokio::test]
#[ignore = "another test runs it, in a process of its own"]
async fn a_server_in_a_process_of_its_own() {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
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
struct Process {
    child: Child,
    address: String,
    /// Its resident size after a first answer.
    base: u64,
}

impl Process {
    async fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", ITSELF, "--ignored", "--nocapture"]);
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = child.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().expect("it says where it listens");
            if let Some((_, address)) = line.split_once(SAYS) {
                break address.to_owned();
            }
        };
        let mut server = Self { child, address, base: 0 };
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
    async fn send(&self, row: &Row) -> Option<u16> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut connections = JoinSet::new();
        connections.spawn(async move { drop(connection.await) });
        let mut request: http::Request<Full<Bytes>> = row.request().expect("a request that can be sent");
        request.headers_mut().insert(HOST, "localhost".parse().unwrap());
        let (head, body) = sender.send_request(request).await.ok()?.into_parts();
        body.collect().await.ok()?;
        Some(head.status.as_u16())
    }

    /// Resets the peak of the resident size.
    fn forget_peak(&self) {
        std::fs::write(self.file("clear_refs"), "5").unwrap();
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id().unwrap())
    }

    /// Bytes of memory, as Linux counts them under this name.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(self.file("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}
