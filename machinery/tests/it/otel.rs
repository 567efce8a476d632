//! Promise 9: a trace as received by a collector.

use machinery::apiserver::Identity;
use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::kube::kube_client::Client;
use machinery::kube::{Remote, ServerProfile};
use machinery::kube_core::ObjectMeta;
use machinery::objects::{Kind, Object, ObjectKey, SpanIds, Traceparent, Writer, traced};
use machinery::otel::{Layer, Otlp, OtlpError, SubscriberExt, SubscriberInitExt, registry};
use machinery::tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use machinery::tokio::net::{TcpListener, TcpStream};
use machinery::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use machinery::tokio_util::task::TaskTracker;
use machinery::{Next, Objects, Run, with};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::Instrument;
use tracing_subscriber::filter::dynamic_filter_fn;

thread_local! {
    /// Whether spans of this thread are exported. The subscriber is global and its interest is
    /// cached for all threads.
    static MINE: Cell<bool> = const { Cell::new(false) };
}

/// A received span.
#[derive(Clone, Debug, PartialEq)]
struct ReceivedSpan {
    name: String,
    trace: String,
    span: String,
    parent: String,
}

/// Accepts spans until it is dropped.
async fn collector(tasks: &TaskTracker) -> (String, UnboundedReceiver<ReceivedSpan>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = unbounded_channel();
    let connections = tasks.clone();
    tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(take(stream, sender.clone()));
        }
    });
    (url, received)
}

async fn take(stream: TcpStream, sender: UnboundedSender<ReceivedSpan>) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut first) = (String::new(), 0, None);
        while stream.read_line(&mut line).await.unwrap_or(0) > 2 {
            let lower = line.trim().to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            first.get_or_insert(lower);
            line.clear();
        }
        let Some(first) = first else { return };
        assert_eq!(first, "post /v1/traces http/1.1");
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        // ResourceSpans contain ScopeSpans, which contain spans.
        for scopes in parts(&body, 1).flat_map(|resource| parts(resource, 2)) {
            for span in parts(scopes, 2) {
                let [trace, id, parent] = [1, 2, 4].map(|at| {
                    parts(span, at)
                        .next()
                        .unwrap_or_default()
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect()
                });
                let name = String::from_utf8(parts(span, 5).next().unwrap().to_vec()).unwrap();
                let _ = sender.send(ReceivedSpan { name, trace, span: id, parent });
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    }
}

/// Returns the length-delimited fields of this number in a protobuf message.
fn parts(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    let mut rest = message;
    let all = std::iter::from_fn(move || {
        let tag = (!rest.is_empty()).then(|| varint(&mut rest))?;
        let length = match tag & 7 {
            0 => {
                return Some((0, {
                    varint(&mut rest);
                    &rest[..0]
                }));
            }
            1 => 8,
            5 => 4,
            _ => usize::try_from(varint(&mut rest)).unwrap(),
        };
        let (part, after) = rest.split_at(length);
        rest = after;
        Some((tag >> 3, part))
    });
    all.filter(move |(at, _)| *at == number).map(|(_, part)| part)
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for at in 0.. {
        let (byte, after) = rest.split_first().unwrap();
        *rest = after;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn map(name: &str) -> ConfigMap {
    let metadata =
        ObjectMeta { namespace: Some("default".into()), name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

/// Creates a page for each site, in a span of its own.
async fn make_page(maps: Objects<ConfigMap>, site: Arc<ConfigMap>, _: Run) -> machinery::Result<Next> {
    if site.key() == key("site") && maps.get(&key("page")).is_none() {
        maps.create(&map("page")).instrument(tracing::info_span!("make", page = "page")).await?;
    }
    Ok(Next::Done)
}

#[tokio::test]
async fn p09_exported_spans_form_the_tree_of_the_annotations() {
    let tasks = TaskTracker::new();
    let (url, mut received) = collector(&tasks).await;
    let otlp = Otlp::to(url).service("sites").seed(7).start().unwrap();
    MINE.set(true);
    registry().with(otlp.layer().with_filter(dynamic_filter_fn(|_, _| MINE.get()))).init();

    let plane = machinery::embedded().start().await.unwrap();
    let maps = plane.objects::<ConfigMap>().unwrap();
    let controller = plane.controller::<ConfigMap>("sites").unwrap();
    let running = {
        let maps = maps.clone();
        tasks.spawn(async move { controller.run(with(maps, make_page)).await })
    };

    // A remote client with a span of its own.
    let deploy = SpanIds::seeded(1).root();
    let client = Client::new(plane.server().unwrap().service(Identity::admin()), "default");
    let remote =
        Remote::<ConfigMap>::new(client, Kind::of::<ConfigMap>().unwrap(), ServerProfile::machinery());
    let span = tracing::info_span!("deploy", trace_id = %deploy.trace(), span_id = %deploy.span());
    let site = traced(Some(deploy), remote.create(&map("site"), None)).instrument(span).await.unwrap();
    assert_eq!(site.object.traceparent(), Some(deploy));
    // And one that does not sample.
    let unsampled: Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00".parse().unwrap();
    traced(Some(unsampled), remote.create(&map("other"), None)).await.unwrap();
    let page: Arc<ConfigMap> = loop {
        match maps.get(&key("page")) {
            Some(page) => break page,
            None => machinery::tokio::task::yield_now().await,
        }
    };
    plane.stop().await;
    running.await.unwrap().unwrap();
    MINE.set(false);
    otlp.finish().await.unwrap();

    let mut spans = BTreeMap::new();
    while let Ok(came) = received.try_recv() {
        assert_ne!(came.trace, unsampled.trace().to_string());
        if came.trace == deploy.trace().to_string() {
            assert_eq!(spans.insert(came.span.clone(), came), None, "an id is one span's");
        }
    }
    let named = |name: &'static str| spans.values().filter(move |came| came.name == name);
    let of_deploy = deploy.span().to_string();
    assert_eq!(
        named("deploy").map(|came| (&*came.span, &*came.parent)).collect::<Vec<_>>(),
        [(&*of_deploy, "")]
    );
    assert_eq!(named("request").map(|came| &came.parent).collect::<Vec<_>>(), [&of_deploy]);
    let making: Vec<_> = named("make").collect();
    let writes: Traceparent = page.traceparent().unwrap();
    assert_eq!(making.len(), 1);
    assert_eq!(
        making[0].parent,
        writes.span().to_string(),
        "what stands in the page is the reconcile's own id"
    );
    assert_eq!(spans[&making[0].parent].parent, of_deploy);
    // The run for the page is a child of the run that created it.
    assert!(named("reconcile").any(|came| came.parent == making[0].parent), "{spans:#?}");
    for came in spans.values().filter(|came| came.name != "deploy") {
        assert!(spans.contains_key(&came.parent), "{came:?} has no parent in {spans:#?}");
    }
}

#[test]
fn an_invalid_collector_url_is_rejected_at_start() {
    for url in ["", "127.0.0.1:4318", "https://127.0.0.1:4318", "http://", "http:///v1/traces", "http://a b"]
    {
        let refused = Otlp::to(url).start().unwrap_err();
        assert!(matches!(refused, OtlpError::Endpoint { .. }), "{url}: {refused}");
        assert!(refused.to_string().contains("http://HOST:PORT"), "{refused}");
    }
}
