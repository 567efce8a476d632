//! Fair shares of requests: waiting requests of one user leave places to all others, and admins
//! always find one.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use machinery_apiserver::{ApiServer, Identity, Limits};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::admission::hook::{GROUP, Hook, Reply, configure, mutating, validating, webhook};
use crate::client::{Answer, Client, definition};
use crate::interposed::Interposed;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const FUTURE: &str = "?resourceVersion=9000000000";
const WAITING: &str = "machinery_requests_waiting";

fn few(in_flight: usize) -> Limits {
    Limits { in_flight, ..Limits::default() }
}

async fn server(limits: Limits) -> ApiServer {
    let builder = ApiServer::builder(Memory::new(Options::default())).limits(limits);
    builder.crds([definition()]).start().await.unwrap()
}

fn user(server: &ApiServer, name: &str) -> Client {
    Client::to(server.service(Identity::new(name)))
}

fn named(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}})
}

/// Returns the sum of a metric over its labels.
async fn sum(client: &Client, metric: &str) -> f64 {
    let page = client.get("/metrics").await.fine();
    let of = |line: &&str| line.starts_with(metric) && line[metric.len()..].starts_with('{');
    let lines = page.as_str().unwrap().lines().filter(of);
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// Waits until a metric has a value.
async fn until(client: &Client, metric: &str, expected: f64) {
    let mut now = 0.0;
    let reached = async {
        while now < expected {
            sleep(Duration::from_millis(5)).await;
            now = sum(client, metric).await;
        }
    };
    if timeout(Duration::from_secs(30), reached).await.is_err() {
        panic!("{metric} is {now} and not {expected}");
    }
}

/// Sends a request `times` times at once, with the number in place of `{}`.
fn flood(
    client: &Client,
    method: &Method,
    path: &str,
    body: impl Fn(usize) -> String,
    times: usize,
) -> JoinSet<Answer> {
    let mut all = JoinSet::new();
    for at in 0..times {
        let (client, method, body) = (client.again(), method.clone(), body(at));
        let path = path.replace("{}", &at.to_string());
        all.spawn(
            async move { client.ask(method, &path, &[("content-type", "application/json")], &body).await },
        );
    }
    all
}

/// Requests of other users and of an admin succeed, reads and writes.
async fn others_are_served(server: &ApiServer) {
    for (client, name) in [(user(server, "polite"), "polite"), (Client::of(server), "admin")] {
        client.post(MAPS, &named(name)).await.fine();
        client.get(&format!("{MAPS}/{name}")).await.fine();
        client.get(MAPS).await.fine();
        client.delete(&format!("{MAPS}/{name}")).await.fine();
    }
}

/// A viewer took all places by requests for a revision of the future, and others were refused.
#[tokio::test(start_paused = true)]
async fn a_viewer_of_future_revisions_leaves_places_to_others() {
    let server = server(few(8)).await;
    let (admin, viewer) = (Client::of(&server), user(&server, "viewer"));
    let paths = [
        format!("{MAPS}/a{FUTURE}"),
        format!("{MAPS}{FUTURE}"),
        format!("{MAPS}{FUTURE}&resourceVersionMatch=NotOlderThan"),
        format!("{MAPS}{FUTURE}&resourceVersionMatch=Exact&limit=1"),
    ];
    let mut floods: Vec<_> =
        paths.iter().map(|path| flood(&viewer, &Method::GET, path, |_| String::new(), 100)).collect();
    until(&admin, WAITING, 400.0).await;
    others_are_served(&server).await;
    assert_eq!(sum(&admin, WAITING).await, 400.0, "the others were served meanwhile");
    for (path, flood) in paths.iter().zip(&mut floods) {
        while let Some(answer) = flood.join_next().await {
            let answer = answer.unwrap();
            assert_eq!(answer.refused().1, "Timeout", "{path}: {answer:?}");
        }
    }
    assert_eq!(sum(&admin, WAITING).await, 0.0);
    server.stop().await;
}

/// Writes that waited for one hanging webhook took all places, and even the admin could not delete
/// the webhook.
#[tokio::test]
async fn a_hanging_webhook_leaves_places_to_others_and_can_be_deleted() {
    for make in [validating as fn(&str, &[Value]) -> Value, mutating] {
        let hook = Hook::new(|_, _| Reply::Nothing).await;
        let server = server(few(8)).await;
        let admin = Client::of(&server);
        let configuration = make("hangs", &[webhook("hangs", &hook.at("/"), &json!({}))]);
        let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
        configure(&admin, &configuration).await;
        let body = |at: usize| widget(&format!("w{at}")).to_string();
        let flood = flood(&user(&server, "writer"), &Method::POST, WIDGETS, body, 200);
        until(&admin, WAITING, 200.0).await;
        others_are_served(&server).await;
        admin.delete(&format!("{GROUP}/{plural}/hangs")).await.fine();
        user(&server, "polite").post(WIDGETS, &widget("afterwards")).await.fine();
        assert_eq!(sum(&admin, WAITING).await, 200.0, "the others were served meanwhile");
        assert!(hook.connections() <= 128, "{} connections to one webhook", hook.connections());
        drop(flood);
        server.stop().await;
    }
}

/// One user's requests beyond its share are refused, with a time; those of others are not.
#[tokio::test(start_paused = true)]
async fn requests_beyond_the_share_of_a_user_are_refused_with_a_retry() {
    let server = server(Limits { admitted: 40, ..few(8) }).await;
    let (admin, viewer) = (Client::of(&server), user(&server, "viewer"));
    let path = format!("{MAPS}{FUTURE}");
    let _flood = flood(&viewer, &Method::GET, &path, |_| String::new(), 100);
    let rejected = "apiserver_flowcontrol_rejected_requests_total";
    until(&admin, rejected, 81.0).await;
    assert_eq!(sum(&admin, WAITING).await, 19.0, "half of the places without the admins' ones");
    let refused = viewer.send(Request::get(MAPS).body(Full::default()).unwrap()).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    let body: Value =
        serde_json::from_slice(&refused.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(
        (&body["reason"], &body["details"]["retryAfterSeconds"]),
        (&json!("TooManyRequests"), &json!(1))
    );
    others_are_served(&server).await;
    server.stop().await;
}

/// A server whose store hangs in each write of the ConfigMap `slow`, until it is notified.
async fn slow_writes(limits: Limits) -> (ApiServer, Interposed, Arc<Notify>) {
    let store = Interposed::over(Memory::new(Options::default()));
    let server = ApiServer::builder(store.clone()).limits(limits).start().await.unwrap();
    let notify = Arc::new(Notify::new());
    let wait = notify.clone();
    store.before("core/configmaps/default/slow", async move { wait.notified().await }).await;
    (server, store, notify)
}

/// Sends a request while the test goes on.
fn beside<F>(client: &Client, send: impl FnOnce(Client) -> F) -> JoinSet<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let mut all = JoinSet::new();
    all.spawn(send(client.again()));
    all
}

async fn answer(mut sent: JoinSet<Answer>) -> Value {
    sent.join_next().await.unwrap().unwrap().fine()
}

/// A request that finds no free seat is queued, and refused only after its time.
#[tokio::test(start_paused = true)]
async fn a_queued_request_is_executed_in_turn_or_refused_after_its_time() {
    let limits = Limits { queue_time: Duration::from_millis(300), ..few(1) };
    let (server, _store, notify) = slow_writes(limits).await;
    let (ann, bob) = (user(&server, "ann"), user(&server, "bob"));
    let slow = beside(&ann, |ann| async move { ann.post(MAPS, &named("slow")).await });
    until(&ann, "apiserver_flowcontrol_current_executing_requests", 1.0).await;
    let began = Instant::now();
    let refused = bob.get(MAPS).await;
    assert!(began.elapsed() >= Duration::from_millis(300), "it is queued first");
    assert_eq!(refused.refused().1, "TooManyRequests", "{refused:?}");
    let queued = beside(&bob, |bob| async move { bob.get(MAPS).await });
    until(&ann, "apiserver_flowcontrol_current_inqueue_requests", 1.0).await;
    notify.notify_one();
    answer(slow).await;
    let names = answer(queued).await["items"].to_string();
    assert!(names.contains("\"slow\""), "it is executed after the write: {names}");
    server.stop().await;
}

/// Requests that are executed, not only those that wait, left no place to an admin.
#[tokio::test(start_paused = true)]
async fn an_admin_has_a_seat_while_users_use_all_others() {
    let (server, _store, notify) = slow_writes(few(2)).await;
    let (ann, admin) = (user(&server, "ann"), Client::of(&server));
    let slow = beside(&ann, |ann| async move { ann.post(MAPS, &named("slow")).await });
    until(&admin, "apiserver_flowcontrol_current_executing_requests", 1.0).await;
    let queued = beside(&ann, |ann| async move { ann.get(MAPS).await });
    until(&admin, "apiserver_flowcontrol_current_inqueue_requests", 1.0).await;
    admin.post(MAPS, &named("admin")).await.fine();
    notify.notify_one();
    answer(slow).await;
    answer(queued).await;
    server.stop().await;
}

/// A viewer took all watches, all long lists or all bytes of bodies.
#[tokio::test]
async fn watches_lists_and_bodies_are_shared_fairly() {
    let limits = Limits { watches: 40, long_lists: 40, bodies_bytes: 40_000, ..Limits::default() };
    let server = server(limits).await;
    let (viewer, polite, admin) = (user(&server, "viewer"), user(&server, "polite"), Client::of(&server));
    for at in 0..20 {
        let mut map = named(&format!("m{at}"));
        map["data"] = json!({"text": "x".repeat(10_000)});
        admin.post(MAPS, &map).await.fine();
    }
    let watch = format!("{MAPS}?watch=1");
    for path in [MAPS, watch.as_str()] {
        let get = || Request::get(path).body(Full::default()).unwrap();
        let mut held = Vec::new();
        let refused = loop {
            let answer = viewer.send(get()).await;
            if answer.status() != 200 {
                break answer;
            }
            held.push(answer);
            assert!(held.len() < 40, "{path}: the viewer has all");
        };
        assert_eq!((refused.status().as_u16(), held.len()), (429, 19), "{path}");
        assert_eq!(polite.send(get()).await.status(), 200, "{path}");
        assert_eq!(admin.send(get()).await.status(), 200, "{path}");
    }
    let merge = format!("{MAPS}/m0?dryRun=All");
    polite.merge(&merge, &json!({"data": {"text": "x".repeat(25_000)}})).await.fine();
    let most = "x".repeat(39_000);
    let refused = viewer.merge(&merge, &json!({"data": {"text": most}})).await;
    assert_eq!(refused.refused().1, "TooManyRequests", "{refused:?}");
    admin.merge(&merge, &json!({"data": {"text": most}})).await.fine();
    server.stop().await;
}

/// The names that dashboards of Kubernetes know, and the headers of its responses.
#[tokio::test]
async fn flow_control_has_the_metrics_and_headers_of_kubernetes() {
    let server = server(Limits::default()).await;
    let (admin, ann) = (Client::of(&server), user(&server, "ann"));
    let robot = Client::to(server.service(Identity::service_account("default", "robot")));
    let mut uids = Vec::new();
    for client in [&admin, &ann, &robot] {
        let answer = client.send(Request::get(MAPS).body(Full::default()).unwrap()).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        uids.push((header("x-kubernetes-pf-flowschema-uid"), header("x-kubernetes-pf-prioritylevel-uid")));
    }
    uids.dedup();
    assert_eq!(uids.len(), 3, "{uids:?}");
    let page = admin.get("/metrics").await.fine();
    for line in [
        r#"apiserver_flowcontrol_dispatched_requests_total{priority_level="global-default",flow_schema="global-default"} 1"#,
        r#"apiserver_flowcontrol_dispatched_requests_total{priority_level="workload-low",flow_schema="service-accounts"} 1"#,
        r#"apiserver_flowcontrol_request_wait_duration_seconds_count{priority_level="exempt",flow_schema="exempt",execute="true"} 1"#,
        r#"apiserver_flowcontrol_current_inqueue_requests{priority_level="exempt",flow_schema="exempt"} 0"#,
        r#"apiserver_flowcontrol_current_executing_requests{priority_level="exempt",flow_schema="exempt"} 0"#,
        r#"apiserver_flowcontrol_nominal_limit_seats{priority_level="global-default"} 100"#,
        r#"machinery_limit{of="admitted"} 4096"#,
    ] {
        assert!(page.as_str().unwrap().lines().any(|there| there == line), "{line}: {page}");
    }
    server.stop().await;
}
