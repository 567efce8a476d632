//! Planted values that only a get of their object may return: all logs, metrics, traces and events
//! are searched for them.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use machinery_sync::Mutex;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Subscriber, subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use crate::admission::hook::{Hook, Reply, configure, mutating, validating, webhook};
use crate::audit::{SECRETS, server};
use crate::client::Client;

const PLANTED: &str = "pl4nted-v4lue";

/// All log lines of this thread, at every level.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<String>>);

impl<S: Subscriber> Layer<S> for LogLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.line(attributes.metadata().name(), |visit| attributes.record(visit));
    }

    fn on_record(&self, _: &Id, record: &Record<'_>, _: Context<'_, S>) {
        self.line("then", |visit| record.record(visit));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.line(event.metadata().target(), |visit| event.record(visit));
    }
}

impl LogLines {
    fn line(&self, of: &str, record: impl FnOnce(&mut dyn Visit)) {
        let mut line = LogLine(of.to_owned());
        record(&mut line);
        self.0.lock().push_str(&(line.0 + "\n"));
    }
}

struct LogLine(String);

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

#[tokio::test]
async fn secrets_are_in_no_log_metric_trace_or_event() {
    let said = LogLines::default();
    // With a single subscriber, a thread without one may disable a call site for all threads.
    let _another = Dispatch::new(Registry::default());
    let _noting = subscriber::set_default(Registry::default().with(said.clone()));
    // A webhook that receives the secret, and repeats it.
    let hook = Hook::new(|path, review| {
        let told = review["request"]["object"].to_string();
        let uid = &review["request"]["uid"];
        let response = json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": told});
        let of = |response| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        let told = || told.clone();
        let with = |field: &str| {
            let mut response = response.clone();
            response[field] = told().into();
            of(response)
        };
        let garbage = match path.split('?').next().unwrap_or_default() {
            "/garbage" => told(),
            "/type" => json!({"apiVersion": told(), "kind": told(), "response": response}).to_string(),
            "/object" => json!({"apiVersion": review["request"]["object"], "kind": 1}).to_string(),
            "/uid" => with("uid").to_string(),
            "/allowed" => with("allowed").to_string(),
            "/patch" => of(response.clone()).to_string(),
            "/patch-type" => with("patchType").to_string(),
            "/encoded" => with("patch").to_string().replace(&told(), &STANDARD.encode(told())),
            _ => String::new(),
        };
        if !garbage.is_empty() {
            return Reply::Bytes(200, garbage.into_bytes());
        }
        let told = told();
        let status = json!({"message": told, "code": 403, "reason": PLANTED, "details": {"name": PLANTED}});
        let allowed = review["request"]["name"] != "no";
        Reply::Response(json!({"allowed": allowed, "status": status, "warnings": [told], "auditAnnotations": {"a": told}}))
    })
    .await;
    let (server, client, lines) = server("rules: [{level: RequestResponse}]").await;
    let secrets =
        json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}]);
    let garbage = json!({"rules": secrets, "failurePolicy": "Ignore"});
    let broken = ["garbage", "type", "object", "uid", "allowed", "patch", "patch-type", "encoded"];
    let broken = broken.map(|way| webhook(way, &hook.at(&format!("/{way}")), &garbage));
    let mut hooks = broken.to_vec();
    hooks.push(webhook("all", &hook.at("/"), &json!({"rules": secrets})));
    configure(&client, &validating("all", &hooks)).await;
    configure(&client, &mutating("broken", &broken)).await;

    let encoded = STANDARD.encode(PLANTED);
    let secret = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"k": encoded}, "stringData": {"s": PLANTED},
            "metadata": {"name": name, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": PLANTED}},
        })
    };
    client.post(SECRETS, &secret("a")).await.fine();
    // An invalid owner reference causes an event.
    let mut owned = secret("owned");
    let elsewhere = json!({"metadata": {"name": "x"}});
    let elsewhere = client.post("/api/v1/namespaces/kube-system/configmaps", &elsewhere).await.fine();
    let owner = elsewhere["metadata"]["uid"].clone();
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": owner}]);
    client.post(SECRETS, &owned).await.fine();
    assert_eq!(client.post(SECRETS, &secret("no")).await.code, 403);
    let apply = [("content-type", "application/apply-patch+yaml")];
    let at = |name: &str| format!("{SECRETS}/{name}?fieldManager=m");
    client.ask(Method::PATCH, &at("b"), &apply, &secret("b").to_string()).await.fine();
    client.put(&format!("{SECRETS}/a"), &secret("a")).await.fine();
    client.merge(&format!("{SECRETS}/a"), &json!({"stringData": {"t": PLANTED}})).await.fine();
    client.get(SECRETS).await.fine();
    assert!(
        client.post(SECRETS, &json!({"metadata": {"name": "c"}, "data": {"k": PLANTED}})).await.code >= 400
    );
    let review = json!({"spec": {"token": PLANTED}});
    client.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.fine();
    let bearer = format!("Bearer {PLANTED}");
    let refused =
        Client::to(server.open_service()).ask(Method::GET, SECRETS, &[("authorization", &bearer)], "").await;
    assert_eq!(refused.code, 401);
    assert!(!refused.body.to_string().contains(PLANTED), "{refused:?}");
    client.ask(Method::GET, &format!("{SECRETS}?token={PLANTED}"), &[("cookie", PLANTED)], "").await.fine();
    let with_password = json!({"url": format!("https://me:{PLANTED}@localhost:1/")});
    let wrong = validating("wrong", &[webhook("wrong", &with_password, &json!({}))]);
    let configurations = format!("{}/validatingwebhookconfigurations", crate::admission::hook::GROUP);
    assert_eq!(client.post(&configurations, &wrong).await.code, 422, "nothing secret can be in a url");
    client.delete(&format!("{SECRETS}/a")).await.fine();

    let metrics = client.get("/metrics").await.fine();
    let mut events = json!({});
    for _ in 0..1000 {
        events = client.get("/api/v1/events").await.fine();
        if events["items"].as_array().is_some_and(|events| !events.is_empty()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_ne!(events["items"], json!([]), "what it cannot own is told of");
    let log = said.0.lock().clone();
    assert!(
        log.matches("a webhook failed").count() > 60 && log.matches("request method").count() > 10,
        "{log}"
    );
    // A configuration is not secret; a planted value in one is logged with it.
    let others = |line: &&str| !line.contains("\"resource\":\"validatingwebhookconfigurations\"");
    let audited: Vec<String> = lines.text().lines().filter(others).map(str::to_owned).collect();
    let of_secrets = audited.iter().filter(|line| line.contains("\"resource\":\"secrets\""));
    assert!(of_secrets.count() > 16, "{audited:#?}");
    for (of, text) in [
        ("log", log),
        ("metrics", metrics.to_string()),
        ("events", events.to_string()),
        ("audit", audited.join("\n")),
    ] {
        for value in [PLANTED, &*encoded] {
            let line = text.lines().find(|line| line.contains(value));
            assert_eq!(line, None, "{of}");
        }
    }
}
