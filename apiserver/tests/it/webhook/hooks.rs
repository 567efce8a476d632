//! Hooks through a webhook have the effect that they have in process.

use async_trait::async_trait;
use jiff::Timestamp;
use machinery_apiserver::{
    Admission, AdmissionHooks, AdmissionReadError, AdmissionReader, AdmissionRule, ApiServer, Attributes,
    Denied, KindOf, Operation, WebhookEndpoint, WebhookLimits, Wrong,
};
use machinery_objects::{InvalidField, Kind};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::fixture::{Files, RunningWebhook, WebhookAuthority, review, run};
use crate::audit::{ALL, builder};
use crate::client::{Client, definition};
use crate::typed::Widget;

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Widgets with defaults and validation.
fn kind() -> KindOf<Widget> {
    KindOf::<Widget>::defined(definition())
        .defaulting(|widget| {
            widget.spec.color = Some(widget.spec.color.take().unwrap_or_else(|| "red".into()))
        })
        .validating(|widget, old| {
            let wrong =
                |field: &str, reason: &str| InvalidField { field: field.into(), reason: reason.into() };
            let mut errors = Vec::new();
            if widget.spec.size.is_some_and(|size| size > 9) {
                errors.push(Wrong::Invalid(wrong("spec.size", "must be 9 at the most")));
            }
            if old.is_some_and(|old| old.spec.color != widget.spec.color) {
                errors.push(Wrong::Forbidden(wrong("spec.color", "it never changes")));
            }
            errors
        })
}

/// Labels, warns, annotates and denies.
struct LabellingPlugin;

#[async_trait]
impl Admission for LabellingPlugin {
    fn name(&self) -> &str {
        "plugin.example.com"
    }

    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Denied> {
        object["metadata"]["labels"]["by/user"] = attributes.user.user.clone().into();
        attributes.warn("it is labelled");
        Ok(())
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        attributes.annotate("operation", attributes.operation.name());
        match (attributes.operation, attributes.name) {
            (Operation::Delete, "kept") => Err(Denied::new("it is kept")),
            (_, "panics") => panic!("as a test requests"),
            (_, "reads") => {
                let error = attributes.list::<Widget>(None).await.unwrap_err();
                assert_eq!(error, AdmissionReadError::NoStore);
                Err(error.into())
            }
            _ => Ok(()),
        }
    }
}

fn hooks() -> AdmissionHooks {
    let all = [Operation::Create, Operation::Update, Operation::Delete];
    let rule = AdmissionRule::of::<Widget>().operations(all);
    AdmissionHooks::new("widgets.example.com").kind(kind()).admission(LabellingPlugin, [rule])
}

/// A server with the definition only, and the webhook of these hooks, installed by the manifests.
async fn through_a_webhook() -> (ApiServer, Client, RunningWebhook, Files, crate::audit::Lines) {
    let authority = WebhookAuthority::new("hooks");
    let files = Files::new(&authority);
    let webhook = run(hooks(), files.tls(), WebhookLimits::default()).await;
    let (builder, lines) = builder(ALL);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    let url = format!("https://localhost:{}/", webhook.address.port());
    let manifests = hooks().manifests(&WebhookEndpoint::url(url).ca_bundle(&authority.pem)).unwrap();
    let paths = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    for (path, document) in paths.into_iter().zip(manifests.split("---\n").skip(1)) {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{path}");
        let headers = [("content-type", "application/yaml")];
        client.ask(http::Method::POST, &path, &headers, document).await.fine();
    }
    (server, client, webhook, files, lines)
}

/// The answers to the same writes on a server, without times and UIDs.
async fn answers(client: &Client) -> Vec<(u16, Value)> {
    let widget = |name: &str, spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec});
    let at = |name: &str| format!("{WIDGETS}/{name}");
    let mut answers = Vec::new();
    for (name, spec) in [
        ("plain", json!({})),
        ("green", json!({"color": "green", "size": 9})),
        ("large", json!({"size": 10})),
        ("kept", json!({"tags": ["a/b", "~"]})),
        ("panics", json!({})),
    ] {
        answers.push(client.post(WIDGETS, &widget(name, spec)).await);
    }
    answers.push(client.merge(&at("green"), &json!({"spec": {"color": "blue"}})).await);
    answers.push(client.merge(&at("green"), &json!({"spec": {"size": 3}, "status": {"phase": "x"}})).await);
    answers.push(client.merge(&format!("{}/status", at("green")), &json!({"status": {"phase": "y"}})).await);
    answers.push(client.post(&format!("{WIDGETS}?dryRun=All"), &widget("dry", json!({}))).await);
    answers.push(client.delete(&at("plain")).await);
    answers.push(client.delete(&at("kept")).await);
    answers.push(client.get(WIDGETS).await);
    answers.into_iter().map(|answer| (answer.code, comparable(answer.body))).collect()
}

/// Removes parts that no two servers have in common, and the owners of fields.
fn comparable(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for name in
                ["uid", "creationTimestamp", "managedFields", "resourceVersion", "generation", "message"]
            {
                fields.remove(name);
            }
            fields.values_mut().for_each(|field| *field = comparable(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = comparable(item.take())),
        _ => {}
    }
    value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_through_a_webhook_have_the_effect_that_they_have_in_process() {
    let (server, client, webhook, _files, lines) = through_a_webhook().await;
    let own = ApiServer::builder(Memory::new(Options::default())).kind(kind()).admission(LabellingPlugin);
    let own = own.start().await.unwrap();
    let (elsewhere, here) = (answers(&client).await, answers(&Client::of(&own)).await);
    for (number, (elsewhere, here)) in elsewhere.iter().zip(&here).enumerate() {
        assert_eq!(elsewhere.0, here.0, "write {number}: {elsewhere:?} and {here:?}");
        if elsewhere.0 < 400 {
            assert_eq!(elsewhere.1, here.1, "write {number}");
        }
    }
    // The message is that of the server, with the name of the webhook.
    let large = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"size": 10}});
    let refused = client.post(WIDGETS, &large).await;
    let message = refused.refused().2;
    assert!(message.contains("spec.size: Invalid value: 10: must be 9 at the most"), "{message}");
    assert_eq!(refused.body["details"]["causes"][0]["field"], "spec.size");
    lines.take();
    let request = http::Request::post(WIDGETS).header("content-type", "application/json");
    let body =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
    let answer = client.send(request.body(body.to_string().into()).unwrap()).await;
    assert_eq!(answer.headers()["warning"], "299 - \"it is labelled\"");
    let annotations = lines.one()["annotations"].clone();
    assert_eq!(annotations["validate.widgets.example.com/operation"], "CREATE", "{annotations}");
    for server in [server, own] {
        server.stop().await;
    }
    webhook.stop().await;
}

#[tokio::test]
async fn a_panic_of_a_hook_denies_one_request() {
    let authority = WebhookAuthority::new("a");
    let files = Files::new(&authority);
    let webhook = run(hooks(), files.tls(), WebhookLimits::default()).await;
    let panics = webhook.review(&authority.pem, "/validate", &review("panics", &json!({}))).await;
    assert_eq!((&panics["allowed"], &panics["status"]["code"]), (&false.into(), &500.into()));
    let reads = webhook.review(&authority.pem, "/validate", &review("reads", &json!({}))).await;
    assert!(reads["status"]["message"].as_str().unwrap().contains("AdmissionHooks::reader"), "{reads}");
    let fine = webhook.review(&authority.pem, "/validate", &review("a", &json!({}))).await;
    assert_eq!(fine, json!({"uid": "u", "allowed": true, "auditAnnotations": {"operation": "CREATE"}}));
    webhook.stop().await;
}

#[tokio::test]
async fn a_mutation_is_answered_with_a_json_patch() {
    let review = review("a", &json!({}));
    let answered = hooks().review(super::phase("/mutate"), &review, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(answered["response"]["patchType"], "JSONPatch");
    let patch = answered["response"]["patch"].as_str().unwrap();
    use base64::Engine as _;
    let patch = base64::engine::general_purpose::STANDARD.decode(patch).unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    let expected = json!([
        {"op": "add", "path": "/metadata/labels", "value": {"by/user": "ann"}},
        {"op": "add", "path": "/spec/color", "value": "red"},
    ]);
    assert_eq!(patch, expected);
}

/// The status of an object is a subresource: a webhook changes none.
#[tokio::test]
async fn a_mutation_keeps_the_status_and_unknown_fields() {
    let mutated = async |request: Value| {
        let mut whole = review("a", &json!({}));
        for (field, value) in request.as_object().unwrap() {
            whole["request"][field] = value.clone();
        }
        let hooks = AdmissionHooks::new("widgets.example.com").kind(kind());
        let answer = hooks.review(super::phase("/mutate"), &whole, Timestamp::UNIX_EPOCH).await.unwrap();
        let Some(patch) = answer["response"]["patch"].as_str().map(str::to_owned) else { return Value::Null };
        use base64::Engine as _;
        serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(patch).unwrap()).unwrap()
    };
    let object = |status: Value| json!({"spec": {"color": "red", "new": 1}, "status": status, "metadata": {"name": "a"}});
    let created = mutated(json!({"object": object(json!({"phase": "x"}))})).await;
    assert_eq!(created, json!([{"op": "remove", "path": "/status"}]));
    let old = object(json!({"phase": "x", "unknown": [1]}));
    let updated =
        mutated(json!({"operation": "UPDATE", "object": object(json!({"phase": "y", "unknown": [1]})), "oldObject": old})).await;
    assert_eq!(updated, json!([{"op": "replace", "path": "/status/phase", "value": "x"}]));
    let same = mutated(json!({"operation": "UPDATE", "object": old, "oldObject": old})).await;
    assert_eq!(same, Value::Null, "an update without changes has no patch");
    // Writes of the status itself pass, and an object that the schema will refuse.
    let status =
        json!({"operation": "UPDATE", "subResource": "status", "object": {"spec": {}}, "oldObject": old});
    assert_eq!(mutated(status).await, Value::Null);
    assert_eq!(mutated(json!({"object": {"spec": {"size": "nine"}}})).await, Value::Null);
}

#[tokio::test]
async fn a_plugin_is_called_for_the_requests_of_its_rules() {
    let response = async |change: &[(&str, Value)]| {
        let mut review = review("kept", &json!({"color": "red"}));
        for (pointer, value) in change {
            *review.pointer_mut(pointer).unwrap() = value.clone();
        }
        let answer = hooks().review(super::phase("/validate"), &review, Timestamp::UNIX_EPOCH).await.unwrap();
        answer["response"].clone()
    };
    let called = json!({"operation": "CREATE"});
    assert_eq!(response(&[]).await["auditAnnotations"], called);
    let gadgets = ("/request/resource/resource", "gadgets".into());
    let foreign = ("/request/resource/group", "other.example.com".into());
    for change in [gadgets, foreign, ("/request/resource/version", "v2".into())] {
        let response = response(std::slice::from_ref(&change)).await;
        assert_eq!(response, json!({"uid": "u", "allowed": true}), "{change:?}");
    }
    let delete = [
        ("/request/operation", "DELETE".into()),
        ("/request/oldObject", json!({"metadata": {"name": "kept"}})),
        ("/request/object", Value::Null),
    ];
    let response = response(&delete).await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&false.into(), &403.into()),
        "{response}"
    );
}

/// Reads one widget.
struct OneWidget;

#[async_trait]
impl AdmissionReader for OneWidget {
    async fn get(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, AdmissionReadError> {
        Ok(self.list(kind, namespace).await?.into_iter().find(|object| object["metadata"]["name"] == name))
    }

    async fn list(&self, kind: &Kind, namespace: Option<&str>) -> Result<Vec<Value>, AdmissionReadError> {
        match (kind.plural(), namespace) {
            ("widgets", Some("default")) => {
                Ok(vec![json!({"metadata": {"name": "one"}, "spec": {"size": 7}})])
            }
            ("widgets", _) => Ok(vec![json!({"metadata": {"name": "two"}, "spec": {"size": "seven"}})]),
            _ => Err(AdmissionReadError::NotServed { reason: kind.to_string() }),
        }
    }
}

/// Denies what it has read.
struct ReadingPlugin;

#[async_trait]
impl Admission for ReadingPlugin {
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        let all = attributes.list::<Widget>(attributes.namespace).await?;
        let one = attributes.get::<Widget>(attributes.namespace, "one").await?;
        let none = attributes.get::<Widget>(attributes.namespace, "none").await?;
        let error = attributes.list::<k8s_openapi::api::core::v1::Secret>(None).await.unwrap_err();
        assert!(matches!(error, AdmissionReadError::NotServed { .. }), "{error}");
        let undecodable = attributes.list::<Widget>(None).await.unwrap_err();
        assert!(matches!(undecodable, AdmissionReadError::Undecodable { .. }), "{undecodable}");
        Err(Denied::new(format!("{} {:?} {}", all.len(), one.unwrap().spec.size, none.is_none())))
    }
}

#[tokio::test]
async fn a_plugin_in_a_webhook_reads_by_its_reader() {
    let hooks = AdmissionHooks::new("widgets.example.com").reader(OneWidget);
    let hooks = hooks.admission(ReadingPlugin, [AdmissionRule::of::<Widget>()]);
    let review = review("a", &json!({}));
    let answer = hooks.review(super::phase("/validate"), &review, Timestamp::UNIX_EPOCH).await.unwrap();
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert!(message.ends_with("1 Some(7) true"), "{message}");
}

/// In a cluster webhooks are called for the deletions of its controllers.
#[tokio::test]
async fn deletions_of_a_cascade_are_allowed_without_a_call() {
    let allowed = async |user: &str| {
        let mut review = review("kept", &json!({}));
        review["request"]["operation"] = "DELETE".into();
        review["request"]["oldObject"] = review["request"]["object"].take();
        review["request"]["userInfo"]["username"] = user.into();
        let answer = hooks().review(super::phase("/validate"), &review, Timestamp::UNIX_EPOCH).await.unwrap();
        answer["response"]["allowed"] == true
    };
    assert!(!allowed("ann").await);
    for controller in ["namespace-controller", "generic-garbage-collector"] {
        assert!(allowed(&format!("system:serviceaccount:kube-system:{controller}")).await);
        assert!(!allowed(&format!("system:serviceaccount:default:{controller}")).await);
    }
}

#[tokio::test]
async fn a_labelled_rule_selects_objects_that_have_or_had_the_label() {
    let called = async |new: Value, old: Value| {
        let rule = AdmissionRule::of::<Widget>().labelled("reviewed", "yes");
        let hooks = AdmissionHooks::new("widgets.example.com").admission(LabellingPlugin, [rule]);
        let mut review = review("a", &json!({}));
        review["request"]["operation"] = "UPDATE".into();
        review["request"]["object"]["metadata"]["labels"] = new;
        review["request"]["oldObject"] = json!({"metadata": {"name": "a", "labels": old}});
        let answer = hooks.review(super::phase("/validate"), &review, Timestamp::UNIX_EPOCH).await.unwrap();
        answer["response"].get("auditAnnotations").is_some()
    };
    let label = |value: &str| json!({"reviewed": value});
    assert!(called(label("yes"), Value::Null).await);
    assert!(called(Value::Null, label("yes")).await);
    assert!(!called(label("no"), Value::Null).await);
}
