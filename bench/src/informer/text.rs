//! A server of prepared texts: it lists and watches like Kubernetes, and ends all watches with 410
//! on request. So relists are equal for all subjects, and cost the server almost nothing.

use super::configs::stored;
use anyhow::{Context, ensure};
use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

const TIMEOUT: Duration = Duration::from_secs(120);

type Body = StreamBody<mpsc::UnboundedReceiver<Result<Frame<Bytes>, Infallible>>>;
type FrameSender = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;

pub(super) struct TextServer {
    shared: Arc<Mutex<State>>,
    address: SocketAddr,
    _runtime: Runtime,
}

struct State {
    items: Vec<Bytes>,
    revision: usize,
    /// Open watches.
    watches: Vec<FrameSender>,
    /// Full lists since all watches last ended: first pages, or watches that began with the state.
    lists: usize,
}

impl TextServer {
    pub(super) fn start(objects: usize) -> anyhow::Result<Self> {
        let revision = 1_000_000;
        let items = (0..objects).map(|i| Bytes::from(stored(i, 0, i + 1))).collect();
        let shared = Arc::new(Mutex::new(State { items, revision, watches: Vec::new(), lists: 0 }));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let state = shared.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = state.clone();
                let service = service_fn(move |request| {
                    let response = respond(&mut state.lock(), &request);
                    std::future::ready(response)
                });
                // Clients connect and disconnect at any time.
                tokio::spawn(async move {
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok()
                });
            }
        });
        Ok(Self { shared, address, _runtime: runtime })
    }

    pub(super) fn write_kubeconfig(&self, path: &Path) -> anyhow::Result<()> {
        let url = format!("http://{}", self.address);
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: bench\nclusters:\n- name: bench\n  cluster: {{server: \"{url}\"}}\n\
             contexts:\n- name: bench\n  context: {{cluster: bench, user: bench}}\nusers:\n- name: bench\n  user: {{token: none}}\n"
        );
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Changes `changed` objects, ends all watches with 410, and waits until all objects were
    /// relisted and are watched again.
    pub(super) fn expire(&self, changed: usize) -> anyhow::Result<()> {
        self.wait("there is a watch", |state| !state.watches.is_empty())?;
        {
            let mut state = self.shared.lock();
            let objects = state.items.len();
            for n in 0..changed {
                let i = n * objects / changed;
                state.revision += 1;
                state.items[i] = Bytes::from(stored(i, 1, state.revision));
            }
            state.revision += 1;
            state.lists = 0;
            for watch in std::mem::take(&mut state.watches) {
                send(&watch, EXPIRED.into());
            }
        }
        self.wait("all is listed and watched again", |state| state.lists > 0 && !state.watches.is_empty())
    }

    fn wait(&self, what: &str, is_so: impl Fn(&State) -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let mut state = self.shared.lock();
            state.watches.retain(|watch| !watch.is_closed());
            if is_so(&state) {
                return Ok(());
            }
            drop(state);
            ensure!(Instant::now() < end, "it is not so yet that {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

fn send(lines: &FrameSender, bytes: Bytes) {
    // The client may be gone.
    let _ = lines.unbounded_send(Ok(Frame::data(bytes)));
}

fn respond(state: &mut State, request: &Request<Incoming>) -> http::Result<Response<Body>> {
    let (lines, body) = mpsc::unbounded();
    let query: BTreeMap<&str, &str> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let is_list = request.uri().path().ends_with("/configmaps");
    let status = if is_list { StatusCode::OK } else { StatusCode::NOT_FOUND };
    match query.get("watch") {
        _ if !is_list => {}
        Some(&("true" | "1")) => {
            if query.get("sendInitialEvents") == Some(&"true") {
                state.lists += 1;
                for item in &state.items {
                    send(&lines, r#"{"type":"ADDED","object":"#.into());
                    send(&lines, item.clone());
                    send(&lines, "}\n".into());
                }
                let end = format!(
                    r#"{{"type":"BOOKMARK","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}}"#,
                    state.revision
                );
                send(&lines, (end + "\n").into());
            }
            state.watches.push(lines);
        }
        _ => list(state, &query, &lines),
    }
    Response::builder().status(status).header("content-type", "application/json").body(StreamBody::new(body))
}

fn list(state: &mut State, query: &BTreeMap<&str, &str>, lines: &FrameSender) {
    let from: usize = query.get("continue").and_then(|from| from.parse().ok()).unwrap_or(0);
    let limit: Option<usize> = query.get("limit").and_then(|limit| limit.parse().ok());
    let to = limit
        .filter(|limit| *limit > 0)
        .map_or(state.items.len(), |limit| state.items.len().min(from + limit));
    state.lists += usize::from(from == 0);
    let rest = if to < state.items.len() { format!(r#","continue":"{to}""#) } else { String::new() };
    let begin = format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{}"{rest}}},"items":["#,
        state.revision
    );
    send(lines, begin.into());
    for (at, item) in state.items[from..to].iter().enumerate() {
        if at > 0 {
            send(lines, ",".into());
        }
        send(lines, item.clone());
    }
    send(lines, "]}".into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informer::configs::name;
    use k8s_openapi::List;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn body(path: &str, server: &TextServer) -> String {
        let url = format!("{}{path}", server.address);
        let (host, path) = url.split_once('/').expect("it has a path");
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /{path} HTTP/1.0\r\nhost: x\r\n\r\n").expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a text");
        answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    #[test]
    fn pages_hold_all_objects_and_a_watch_ends_with_410() {
        let server = TextServer::start(5).expect("it starts");
        let page =
            |path: &str| -> List<ConfigMap> { serde_json::from_str(&body(path, &server)).expect("a list") };
        let first = page("/api/v1/configmaps?limit=3");
        assert_eq!((first.items.len(), first.metadata.continue_.as_deref()), (3, Some("3")));
        let rest = page("/api/v1/configmaps?limit=3&continue=3");
        assert_eq!((rest.items.len(), rest.metadata.continue_), (2, None));
        assert_eq!(rest.items[1].metadata.name.as_deref(), Some(name(4).as_str()));
        let expired = std::thread::scope(|scope| {
            let watch = scope.spawn(|| body("/api/v1/configmaps?watch=true&sendInitialEvents=true", &server));
            server.wait("there is a watch", |state| !state.watches.is_empty()).expect("there is");
            let mut state = server.shared.lock();
            for watch in std::mem::take(&mut state.watches) {
                send(&watch, EXPIRED.into());
            }
            drop(state);
            watch.join().expect("it ends")
        });
        let lines: Vec<&str> = expired.lines().collect();
        assert_eq!(lines.len(), 7);
        assert!(lines[5].contains("initial-events-end") && lines[6].contains("410"), "{lines:?}");
    }
}
