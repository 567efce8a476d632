//! Metrics, as a scraper sees them.

use bytes::Bytes;
use futures::FutureExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use machinery_apiserver::{ApiServer, Identity, Limits};
use machinery_store::{Memory, Options};
use serde_json::json;
use tower_service::Service as _;

use crate::client::{Client, definition};

async fn server() -> (ApiServer, Client) {
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]).rbac();
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// The number after a name and its labels; nothing, if there is no such series.
fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |number| number.parse().unwrap())
}

async fn page(client: &Client) -> String {
    let body = client.get("/metrics").await.fine();
    body.as_str().unwrap().to_owned()
}

fn of_widgets(verb: &str, scope: &str) -> String {
    format!(
        r#"verb="{verb}",group="example.com",version="v1",resource="widgets",subresource="",scope="{scope}""#
    )
}

#[tokio::test]
async fn requests_are_counted_by_verb_resource_and_code() {
    let (server, client) = server().await;
    let all = "/apis/example.com/v1/namespaces/default/widgets";
    let revision = value(&page(&client).await, "machinery_store_revision");
    for (name, code) in [("a", 201), ("a", 409), ("b", 201)] {
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
        assert_eq!(client.post(all, &widget).await.code, code);
    }
    client.get(all).await.fine();
    let page = page(&client).await;
    let (create, list) = (of_widgets("POST", "resource"), of_widgets("LIST", "namespace"));
    for (series, expected) in [
        (format!("apiserver_request_total{{{create},code=\"201\"}}"), 2.0),
        (format!("apiserver_request_total{{{create},code=\"409\"}}"), 1.0),
        (format!("apiserver_request_duration_seconds_count{{{create}}}"), 3.0),
        (format!("apiserver_request_duration_seconds_bucket{{le=\"+Inf\",{create}}}"), 3.0),
        (format!("apiserver_request_total{{{list},code=\"200\"}}"), 1.0),
        (r#"apiserver_current_inflight_requests{request_kind="mutating"}"#.to_owned(), 0.0),
        (r#"machinery_limit{of="requests"}"#.to_owned(), 400.0),
        ("machinery_store_revision".to_owned(), revision + 2.0),
        (
            format!(
                "machinery_build_info{{version=\"{}\",rust_version=\"1.95\"}}",
                env!("CARGO_PKG_VERSION")
            ),
            1.0,
        ),
    ] {
        assert_eq!(value(&page, &series), expected, "{series}\n{page}");
    }
    assert!(value(&page, &format!("machinery_response_bytes_total{{{list}}}")) > 100.0, "{page}");
    assert!(page.ends_with("# EOF\n"));
    server.stop().await;
}

#[tokio::test]
async fn every_series_is_declared() {
    let (server, client) = server().await;
    let all = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    client.post(all, &widget).await.fine();
    let request = Request::get(format!("{all}?watch=1")).body(Full::<Bytes>::default()).unwrap();
    let mut body = client.send(request).await.into_body();
    assert!(body.frame().now_or_never().is_none());
    let page = page(&client).await;
    let declared = machinery_apiserver::metric_descriptions();
    assert_eq!(machinery_metrics::undeclared_series(&page, &declared), Vec::<String>::new());
    let silent: Vec<_> = declared.iter().filter(|one| !page.contains(one.name)).map(|one| one.name).collect();
    // These have a series only after such an event.
    assert!(silent.len() < 8, "{silent:?}");
    server.stop().await;
}

#[tokio::test]
async fn open_watches_and_their_events_are_counted() {
    let (server, client) = server().await;
    let all = "/apis/example.com/v1/namespaces/default/widgets";
    let request = Request::get(format!("{all}?watch=1")).body(Full::<Bytes>::default()).unwrap();
    let mut body = client.send(request).await.into_body();
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    client.post(all, &widget).await.fine();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();

    let watch = of_widgets("WATCH", "namespace");
    let open = format!("apiserver_longrunning_requests{{{watch}}}");
    let there = page(&client).await;
    assert_eq!(value(&there, &open), 1.0, "{there}");
    assert_eq!(value(&there, &format!("apiserver_watch_events_total{{{watch}}}")), 1.0);
    assert_eq!(value(&there, &format!("machinery_response_bytes_total{{{watch}}}")), frame.len() as f64);
    drop(body);
    assert_eq!(value(&page(&client).await, &open), 0.0);
    server.stop().await;
}

/// An event is evaluated only for the watches that the index finds.
#[tokio::test]
async fn an_event_is_evaluated_only_for_indexed_watches() {
    let (server, client) = server().await;
    let all = "/apis/example.com/v1/namespaces/default/widgets";
    let mut bodies = Vec::new();
    let selectors = (0..200).map(|at| format!("labelSelector=at%3D{at}"));
    let others = ["labelSelector=!gone", "fieldSelector=metadata.name%3Db"].map(String::from);
    for selector in selectors.chain(others) {
        let request =
            Request::get(format!("{all}?watch=1&{selector}")).body(Full::<Bytes>::default()).unwrap();
        let mut body = client.send(request).await.into_body();
        // The body yields nothing until it is polled and has a slot.
        assert!(body.frame().now_or_never().is_none());
        bodies.push(body);
    }
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"at": "7", "x": "y"}},
    });
    while value(&page(&client).await, SCANNED) < 1.0 {
        for body in &mut bodies {
            assert!(body.frame().now_or_never().is_none());
        }
        tokio::task::yield_now().await;
    }
    client.post(all, &widget).await.fine();
    for at in [7, 200] {
        bodies[at].frame().await.unwrap().unwrap();
    }
    let there = page(&client).await;
    let asked = r#"machinery_watches_asked_total{group="example.com",version="v1",resource="widgets"}"#;
    assert_eq!((value(&there, asked), value(&there, SCANNED)), (2.0, 1.0), "{there}");
    drop(bodies);
    assert_eq!(value(&page(&client).await, SCANNED), 0.0);
    server.stop().await;
}

const SCANNED: &str = r#"machinery_watches_scanned{group="example.com",version="v1",resource="widgets"}"#;

#[tokio::test]
async fn refusals_by_limits_are_counted() {
    let limits = Limits { in_flight: 0, ..Limits::default() };
    let backend = Memory::new(Options::default());
    let server = ApiServer::builder(backend).limits(limits).start().await.unwrap();
    let client = Client::of(&server);
    assert_eq!(client.get("/api/v1/namespaces").await.code, 429);
    let page = page(&client).await;
    assert_eq!(value(&page, r#"apiserver_request_terminations_total{code="429"}"#), 1.0, "{page}");
    server.stop().await;
}

#[tokio::test]
async fn requests_cannot_create_series() {
    let (server, client) = server().await;
    let lines = |page: String| page.lines().count();
    let ask = async |round: usize| {
        for path in
            ["/apis/x{}.org/v1/things", "/api/v1/namespaces/n{}/things{}", "/x{}", "/livez/x{}", "/%zz{}"]
        {
            client.get(&path.replace("{}", &round.to_string())).await;
        }
    };
    ask(0).await;
    page(&client).await;
    let before = lines(page(&client).await);
    for round in 1..100 {
        ask(round).await;
    }
    assert_eq!(lines(page(&client).await), before);
    server.stop().await;
}

#[tokio::test]
async fn the_page_requires_authorization() {
    let (server, _) = server().await;
    let check = async |identity: Identity, expected: u16| {
        let request = Request::get("/metrics").body(Full::<Bytes>::default()).unwrap();
        let answer = server.service(identity).call(request).await.unwrap();
        assert_eq!(answer.status(), expected);
        answer.into_body().collect().await.unwrap().to_bytes()
    };
    let refused = check(Identity::new("ann"), 403).await;
    let expected = r#"forbidden: User \"ann\" cannot get path \"/metrics\""#;
    assert!(String::from_utf8_lossy(&refused).contains(expected), "{refused:?}");
    check(Identity::new("prometheus").in_group("system:monitoring"), 200).await;
    server.stop().await;
}
