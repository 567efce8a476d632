//! The audit log, from the reader's side.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use machinery_apiserver::{ApiServer, Audit, AuditFile, AuditPolicy, AuditSink, Builder, Identity, Listen};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};

use crate::client::{Client, definition};

/// A sink that keeps events, until it fails.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    text: Arc<Mutex<Vec<u8>>>,
    broken: Arc<AtomicBool>,
}

impl AuditSink for Lines {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is full"));
        }
        self.text.lock().extend_from_slice(lines);
        Ok(())
    }
}

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.text.lock().clone()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The events since the last call.
    pub(crate) fn take(&self) -> Vec<Value> {
        let events = self.events();
        self.text.lock().clear();
        events
    }

    /// The only one since the last call.
    #[track_caller]
    pub(crate) fn one(&self) -> Value {
        let mut events = self.take();
        assert_eq!(events.len(), 1, "{events:#?}");
        events.remove(0)
    }

    /// Returns the first event with this stage and verb, waiting for it if necessary.
    pub(crate) async fn wait(&self, stage: &str, verb: &str) -> Value {
        for _ in 0..1000 {
            let events = self.events();
            if let Some(event) = events.iter().find(|event| event["stage"] == stage && event["verb"] == verb)
            {
                return event.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("no {stage} of a {verb}: {}", self.text());
    }
}

fn policy(rules: &str) -> AuditPolicy {
    AuditPolicy::read(&format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}")).unwrap()
}

pub(crate) const ALL: &str = "omitStages: [RequestReceived]\nrules: [{level: RequestResponse}]";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";

pub(crate) fn builder(rules: &str) -> (Builder, Lines) {
    let lines = Lines::default();
    let builder = ApiServer::builder(Memory::new(Options::default()))
        .crds([definition()])
        .rbac()
        .audit(Audit::new(policy(rules), lines.clone()));
    (builder, lines)
}

pub(crate) async fn server(rules: &str) -> (ApiServer, Client, Lines) {
    let (builder, lines) = builder(rules);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    (server, client, lines)
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

#[tokio::test]
async fn every_verb_is_logged_with_request_and_response() {
    let (_server, client, lines) = server(ALL).await;
    client.post(WIDGETS, &widget("a")).await.fine();
    let event = lines.one();
    assert_eq!((&event["kind"], &event["apiVersion"]), (&json!("Event"), &json!("audit.k8s.io/v1")));
    assert_eq!((&event["level"], &event["stage"]), (&json!("RequestResponse"), &json!("ResponseComplete")));
    assert_eq!((&event["verb"], &event["requestURI"]), (&json!("create"), &json!(WIDGETS)));
    assert_eq!(
        event["user"],
        json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]})
    );
    let about = json!({"resource": "widgets", "namespace": "default", "name": "a", "apiGroup": "example.com", "apiVersion": "v1"});
    assert_eq!(event["objectRef"], about);
    assert_eq!(event["responseStatus"], json!({"metadata": {}, "code": 201}));
    assert_eq!(event["requestObject"]["spec"], json!({"color": "red"}));
    assert_eq!(event["responseObject"]["spec"], json!({"color": "red", "size": 3}));
    assert_eq!(
        event["annotations"],
        json!({"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""})
    );
    for field in ["requestReceivedTimestamp", "stageTimestamp"] {
        let time = event[field].as_str().unwrap();
        assert!(
            time.parse::<Timestamp>().is_ok() && time.len() == "2026-11-24T02:10:37.123456Z".len(),
            "{time}"
        );
    }

    let one = format!("{WIDGETS}/a");
    let mut there = client.get(&one).await.fine();
    let event = lines.one();
    assert_eq!((&event["verb"], &event["responseObject"]), (&json!("get"), &there));
    assert_eq!(event["requestObject"], Value::Null);
    there["spec"]["color"] = "green".into();
    client.put(&one, &there).await.fine();
    let event = lines.one();
    assert_eq!(event["verb"], "update");
    for field in ["uid", "resourceVersion"] {
        assert_eq!(event["objectRef"][field], there["metadata"][field], "{field}");
    }
    client.merge(&one, &json!({"spec": {"size": 7}})).await.fine();
    let event = lines.one();
    assert_eq!((&event["verb"], &event["requestObject"]), (&json!("patch"), &json!({"spec": {"size": 7}})));
    client.merge(&format!("{one}/status"), &json!({"status": {"x": 1}})).await.fine();
    assert_eq!(lines.one()["objectRef"]["subresource"], "status");
    let list = client.get(WIDGETS).await.fine();
    let event = lines.one();
    assert_eq!((&event["verb"], &event["responseObject"]), (&json!("list"), &list));
    assert_eq!(event["objectRef"]["name"], Value::Null);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    let header = [("content-type", "application/json")];
    client.ask(Method::DELETE, &one, &header, &options.to_string()).await.fine();
    let event = lines.one();
    assert_eq!((&event["verb"], &event["requestObject"]), (&json!("delete"), &options));
    client.delete(WIDGETS).await.fine();
    assert_eq!(lines.one()["verb"], "deletecollection");
    client.get("/healthz").await.fine();
    let event = lines.one();
    assert_eq!((&event["verb"], &event["requestURI"]), (&json!("get"), &json!("/healthz")));
    assert_eq!(event["objectRef"], Value::Null);
    let named = json!({"metadata": {"generateName": "x-"}, "data": {}});
    let made = client.post(MAPS, &named).await.fine();
    assert_eq!(lines.one()["objectRef"]["name"], made["metadata"]["name"]);
    let yaml = [("content-type", "application/yaml")];
    client.ask(Method::POST, MAPS, &yaml, "metadata: {name: yaml}\ndata: {k: v}").await.fine();
    assert_eq!(lines.one()["requestObject"]["data"], json!({"k": "v"}));
}

#[tokio::test]
async fn each_level_logs_its_parts() {
    for (level, sent, answered) in
        [("Metadata", false, false), ("Request", true, false), ("RequestResponse", true, true)]
    {
        let rules =
            format!("omitStages: [RequestReceived]\nrules: [{{level: {level}, omitManagedFields: true}}]");
        let (_server, client, lines) = server(&rules).await;
        client.post(MAPS, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await.fine();
        let event = lines.one();
        assert_eq!((&event["level"], &event["objectRef"]["name"]), (&json!(level), &json!("a")));
        assert_eq!(event["requestObject"].is_object(), sent, "{level}");
        assert_eq!(event["responseObject"].is_object(), answered, "{level}");
        assert_eq!(event["responseObject"]["metadata"]["managedFields"], Value::Null);
        client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
        let event = lines.one();
        let status = &event["responseStatus"];
        assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("AlreadyExists")));
        assert_eq!(status["details"]["name"], "a");
        assert_eq!(event["responseObject"]["kind"] == "Status", answered);
    }
    let (_server, client, lines) = server("rules: [{level: Metadata, verbs: [list]}]").await;
    client.get(&format!("{MAPS}/none")).await;
    assert_eq!(lines.take(), Vec::<Value>::new(), "no rule matches");
    client.get(MAPS).await.fine();
    let stages: Vec<Value> = lines.take().iter().map(|event| event["stage"].clone()).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseComplete"]);
}

#[tokio::test]
async fn a_rule_for_a_name_applies_to_selection_by_name() {
    let of_a = "{level: Metadata, resources: [{resources: [configmaps], resourceNames: [a]}]}";
    let rules = format!("omitStages: [RequestReceived, ResponseComplete]\nrules: [{of_a}, {{level: None}}]");
    let (_server, client, lines) = server(&rules.replace(", ResponseComplete", "")).await;
    let (_other, watcher, begun) = server(&rules).await;
    let get = async |client: &Client, query: &str| {
        let request = Request::get(format!("{MAPS}?{query}")).body(Full::default()).unwrap();
        drop(client.send(request).await);
    };
    for (fields, is_of_a) in [
        ("metadata.name=a", true),
        ("metadata.name%3D%3Da,metadata.namespace=default", true),
        ("metadata.name=b", false),
        ("metadata.name!=a", false),
        ("metadata.name=", false),
        ("metadata.namespace=a", false),
        ("a", false),
        ("", false),
    ] {
        let expected = if is_of_a { vec![json!("a")] } else { vec![] };
        let names = |lines: &Lines| -> Vec<Value> {
            lines.take().iter().map(|event| event["objectRef"]["name"].clone()).collect()
        };
        get(&client, &format!("fieldSelector={fields}")).await;
        assert_eq!(names(&lines), expected, "a list by {fields}");
        get(&watcher, &format!("watch=1&fieldSelector={fields}")).await;
        assert_eq!(names(&begun), expected, "a watch by {fields}");
    }
    client.delete(&format!("{MAPS}?fieldSelector=metadata.name=a")).await.fine();
    assert_eq!(
        lines.take(),
        Vec::<Value>::new(),
        "what is deleted by a selector has no name, as in Kubernetes"
    );
}

#[tokio::test]
async fn refused_requests_are_logged() {
    let (server, admin, lines) = server(ALL).await;
    let nobody = Client::to(server.open_service());
    let refused = nobody.ask(Method::GET, SECRETS, &[("authorization", "Bearer planted")], "").await;
    assert_eq!(refused.code, 401);
    let event = lines.one();
    assert_eq!((&event["stage"], &event["user"]), (&json!("ResponseComplete"), &json!({})));
    assert_eq!((&event["responseStatus"]["code"], &event["verb"]), (&json!(401), &json!("list")));
    assert!(!event.to_string().contains("planted"));

    let bob = Client::to(server.service(Identity::new("bob")));
    assert_eq!(bob.get(MAPS).await.code, 403);
    let event = lines.one();
    assert_eq!((&event["responseStatus"]["code"], &event["user"]["username"]), (&json!(403), &json!("bob")));
    assert_eq!(event["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert_eq!(bob.get("/metrics").await.code, 403);
    assert_eq!(lines.one()["annotations"]["authorization.k8s.io/decision"], "forbid");

    let binding = json!({
        "metadata": {"name": "bobs"}, "subjects": [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    });
    admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await.fine();
    lines.take();
    for _ in 0..1000 {
        if bob.get(MAPS).await.code == 200 {
            break;
        }
        lines.take();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let reason = "RBAC: allowed by ClusterRoleBinding \"bobs\" of ClusterRole \"view\" to User \"bob\"";
    assert_eq!(lines.one()["annotations"]["authorization.k8s.io/reason"], reason);

    let as_bob = [("impersonate-user", "bob")];
    admin.ask(Method::GET, MAPS, &as_bob, "").await.fine();
    let event = lines.one();
    assert_eq!(event["user"]["username"], "admin");
    let other = json!({"username": "bob", "groups": ["system:authenticated"]});
    assert_eq!(event["impersonatedUser"], other);
    assert_eq!(bob.ask(Method::GET, MAPS, &[("impersonate-user", "admin")], "").await.code, 403);
    let event = lines.one();
    assert_eq!((&event["impersonatedUser"], &event["user"]["username"]), (&Value::Null, &json!("bob")));
    assert_eq!(event["annotations"]["authorization.k8s.io/decision"], "forbid");
}

#[tokio::test]
async fn the_id_of_a_request_is_in_its_answer_and_its_events() {
    let (_server, client, lines) = server("rules: [{level: Metadata}]").await;
    let ask = async |said: Option<&str>| {
        let mut request = Request::get(MAPS).header("user-agent", "a-client");
        if let Some(said) = said {
            request = request.header("audit-id", said);
        }
        let answer = client.send(request.body(Full::<Bytes>::default()).unwrap()).await;
        answer.headers()["audit-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(ask(Some("mine")).await, "mine");
    let ids: Vec<Value> = lines.take().iter().map(|event| event["auditID"].clone()).collect();
    assert_eq!(ids, ["mine", "mine"]);
    assert_eq!(ask(Some(&"x".repeat(100))).await, "x".repeat(100), "only the log truncates it");
    let (one, two) = (ask(None).await, ask(None).await);
    assert_ne!(one, two);
    let events = lines.take();
    assert_eq!(events[0]["auditID"], "x".repeat(64));
    assert_eq!((&events[2]["auditID"], &events[5]["auditID"]), (&json!(one), &json!(two)));
    assert_eq!(events[0]["userAgent"], "a-client");
}

#[tokio::test]
async fn a_watch_is_in_the_log_when_it_begins_and_when_it_ends() {
    let (_server, client, lines) = server("rules: [{level: RequestResponse}]").await;
    let request = Request::get(format!("{MAPS}?watch=1")).body(Full::<Bytes>::default()).unwrap();
    let answer = client.send(request).await;
    assert_eq!(answer.status(), 200);
    let stages = |lines: &Lines| -> Vec<String> {
        lines.events().iter().map(|event| event["stage"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(stages(&lines), ["RequestReceived", "ResponseStarted"]);
    drop(answer);
    let event = lines.wait("ResponseComplete", "watch").await;
    assert_eq!((&event["responseStatus"]["code"], &event["responseObject"]), (&json!(200), &Value::Null));
    assert_eq!(stages(&lines).len(), 3);
}

#[tokio::test]
async fn a_list_that_is_sent_in_parts_is_in_the_log_when_it_ends() {
    let (_server, client, lines) = server(ALL).await;
    for number in 0..5 {
        let long = json!({"metadata": {"name": format!("a{number}")}, "data": {"k": "x".repeat(40_000)}});
        client.post(MAPS, &long).await.fine();
    }
    let list = client.get(MAPS).await.fine();
    assert_eq!(lines.wait("ResponseComplete", "list").await["responseObject"], list);
    lines.take();
    let answer = client.send(Request::get(MAPS).body(Full::<Bytes>::default()).unwrap()).await;
    let mut body = answer.into_body();
    body.frame().await.unwrap().unwrap();
    drop(body);
    let event = lines.wait("ResponseComplete", "list").await;
    let why = "responseObject: the client did not take all of it";
    assert_eq!(event["annotations"]["machinery.dev/left-out"], why);
    for number in 5..20 {
        let long = json!({"metadata": {"name": format!("a{number}")}, "data": {"k": "x".repeat(40_000)}});
        client.post(MAPS, &long).await.fine();
    }
    lines.take();
    client.get(MAPS).await.fine();
    let event = lines.wait("ResponseComplete", "list").await;
    assert_eq!(event["annotations"]["machinery.dev/left-out"], "responseObject: it is too long");
}

#[tokio::test]
async fn a_request_with_a_closed_connection_is_logged() {
    let (_server, client, lines) = server(ALL).await;
    // A body that is never sent.
    let (sender, body) = tokio::sync::oneshot::channel::<()>();
    let body = http_body_util::StreamBody::new(futures::stream::once(async move {
        let _ = body.await;
        Ok::<_, std::convert::Infallible>(http_body::Frame::data(Bytes::new()))
    }));
    let request = Request::post(MAPS).body(Box::pin(body)).unwrap();
    let asking = client.send_any(request);
    let waited = tokio::time::timeout(std::time::Duration::from_millis(50), asking).await;
    assert!(waited.is_err(), "it waits for the body");
    drop(sender);
    let event = lines.wait("ResponseComplete", "create").await;
    assert_eq!(event["responseStatus"]["code"], 499);
}

tokio::task_local! {
    /// The number of clock reads of a request.
    static LOOKS: Cell<usize>;
}

#[tokio::test]
async fn a_panic_is_in_the_log() {
    let (builder, lines) = builder("rules: [{level: Metadata}]");
    // The audit log reads the clock twice, then the handler.
    let clock = || {
        let looks = LOOKS.try_with(|looks| looks.replace(looks.get() + 1));
        assert_ne!(looks, Ok(2), "the clock stands still");
        Timestamp::now()
    };
    let server = builder.clock(clock).start().await.unwrap();
    let client = Client::of(&server);
    let map = json!({"metadata": {"name": "a"}});
    let answer = LOOKS.scope(Cell::new(0), client.post(MAPS, &map)).await;
    assert_eq!(answer.code, 500, "{answer:?}");
    let events = lines.take();
    assert_eq!(events.len(), 2, "{events:#?}");
    assert_eq!((&events[1]["stage"], &events[1]["responseStatus"]["code"]), (&json!("Panic"), &json!(500)));
}

const PLANTED: &str = "pl4nted-v4lue";

#[tokio::test]
async fn no_line_has_the_value_of_a_secret() {
    let (_server, client, lines) = server("rules: [{level: RequestResponse}]").await;
    let encoded = base64::engine::general_purpose::STANDARD.encode(PLANTED);
    let one = format!("{SECRETS}/a");
    let secret = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"k": encoded}, "stringData": {"s": PLANTED},
            "metadata": {"name": name, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": PLANTED}},
        })
    };
    client.post(SECRETS, &secret("a")).await.fine();
    let mut watch =
        client.send(Request::get(format!("{SECRETS}?watch=1")).body(Full::default()).unwrap()).await;
    watch.body_mut().frame().await.unwrap().unwrap();
    client.get(&one).await.fine();
    client.get(SECRETS).await.fine();
    client.get("/api/v1/secrets").await.fine();
    client.put(&one, &secret("a")).await.fine();
    client.merge(&one, &json!({"stringData": {"t": PLANTED}})).await.fine();
    let add = json!([{"op": "add", "path": "/stringData", "value": {"u": PLANTED}}]).to_string();
    client.ask(Method::PATCH, &one, &[("content-type", "application/json-patch+json")], &add).await.fine();
    // Its validation errors would contain its values.
    let wrong = json!({"metadata": {"name": "b"}, "data": {"k": PLANTED}});
    assert!(client.post(SECRETS, &wrong).await.code >= 400);
    let wrong = json!({"metadata": {"name": "b"}, "data": PLANTED});
    assert!(client.post(SECRETS, &wrong).await.code >= 400);
    let wrong =
        json!({"metadata": {"name": "b"}, "type": "kubernetes.io/tls", "data": {"k": encoded}, PLANTED: 1});
    assert!(client.post(&format!("{SECRETS}?fieldValidation=Strict"), &wrong).await.code >= 400);
    // In another's place.
    assert!(client.post(MAPS, &secret("a")).await.code >= 400);
    let token = json!({"spec": {"token": PLANTED}});
    client.post("/apis/authentication.k8s.io/v1/tokenreviews", &token).await.fine();
    client.get(&format!("{MAPS}?token={PLANTED}")).await.fine();
    assert_eq!(client.get(&format!("{MAPS}?access_token=%zz{PLANTED}")).await.code, 400);
    client.ask(Method::GET, MAPS, &[("authorization", &format!("Bearer {PLANTED}"))], "").await.fine();
    client.delete(SECRETS).await.fine();
    drop(watch);
    lines.wait("ResponseComplete", "watch").await;
    let text = lines.text();
    assert!(text.lines().count() > 30, "{text}");
    for value in [PLANTED, &*encoded] {
        assert!(!text.contains(value), "{}", text.lines().find(|line| line.contains(value)).unwrap());
    }
    let create = lines.events().into_iter().find(|event| event["verb"] == "create").unwrap();
    assert_eq!((&create["level"], &create["objectRef"]["name"]), (&json!("Metadata"), &Value::Null));
}

#[tokio::test]
async fn failed_audit_writes_are_counted_and_refuse_requests_only_if_configured() {
    let metric = async |client: &Client, name: &str| {
        let page = client.get("/metrics").await.fine();
        let page = page.as_str().unwrap().to_owned();
        let line = page.lines().find(|line| line.starts_with(name));
        line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
    };
    let (error, rejected) = ("apiserver_audit_error_total", "apiserver_audit_requests_rejected_total");
    let rules = "rules: [{level: None, verbs: [get]}, {level: Metadata}]";
    let (_server, client, lines) = server(rules).await;
    lines.broken.store(true, Ordering::Relaxed);
    client.post(MAPS, &json!({"metadata": {"name": "a"}})).await.fine();
    assert_eq!((metric(&client, error).await, metric(&client, rejected).await), (2, 0));
    lines.broken.store(false, Ordering::Relaxed);
    client.post(MAPS, &json!({"metadata": {"name": "b"}})).await.fine();
    assert_eq!(lines.events().len(), 2, "it goes on");
    assert_eq!(metric(&client, error).await, 2);

    let lines = Lines::default();
    let audit = Audit::new(policy(rules), lines.clone()).strict();
    let server = ApiServer::builder(Memory::new(Options::default())).audit(audit).start().await.unwrap();
    let client = Client::of(&server);
    lines.broken.store(true, Ordering::Relaxed);
    let refused = client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!(refused.code, 500, "{refused:?}");
    assert!(refused.refused().2.contains("could not be logged, and so was not done"));
    assert_eq!(client.get(&format!("{MAPS}/a")).await.code, 404);
    assert_eq!(metric(&client, rejected).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn a_file_has_all_events_over_the_wire_and_over_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("audit.log");
    for _ in 0..2 {
        let file = AuditFile::open(&path).unwrap().max_bytes(2000);
        let audit = Audit::new(policy(ALL), file);
        let server =
            ApiServer::builder(Memory::new(Options::default())).rbac().audit(audit).start().await.unwrap();
        let listen =
            Listen { insecure: true, ..Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki")) };
        let access = server.listen(listen).await.unwrap();
        let config = kube_client::Config::new(access.url.parse().unwrap());
        let client = kube_client::Client::try_from(config).unwrap();
        for _ in 0..10 {
            client.apiserver_version().await.unwrap();
        }
        server.stop().await;
    }
    let files = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    assert!(files.len() > 2, "{files:?}");
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.iter().filter(|event| event["requestURI"] == "/version").count(), 20);
    assert!(events.iter().all(|event| event["sourceIPs"] == json!(["127.0.0.1"])));
}
