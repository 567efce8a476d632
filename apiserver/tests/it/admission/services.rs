//! Warnings, audit annotations and reads of in-process admission.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_core::ResourceExt as _;
use machinery_apiserver::{
    Admission, AdmissionReadError, ApiServer, Attributes, Denied, Identity, Limits, Operation,
};
use machinery_objects::{Kind, Scope, Writer as _};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};

use super::{WIDGETS, widget};
use crate::audit::{ALL, SECRETS, builder};
use crate::client::{Client, definition};
use crate::typed::{Widget, widget as typed};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Warns about and annotates every write.
struct RemarkingPlugin;

#[async_trait]
impl Admission for RemarkingPlugin {
    fn name(&self) -> &str {
        "remarks.example.com"
    }

    async fn mutate(&self, attributes: &Attributes<'_>, _: &mut Value) -> Result<(), Denied> {
        attributes.annotate("phase", "mutate");
        attributes.warn("it is reviewed");
        Ok(())
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        attributes.annotate("phase", "validate");
        attributes.annotate("operation", attributes.operation.name());
        attributes.annotate("not/a name", "x");
        attributes.annotate(
            "content",
            attributes.object.map(|object| object["data"].to_string()).unwrap_or_default(),
        );
        attributes.warn("it is reviewed");
        attributes.warn(format!("{} is checked", attributes.name));
        if attributes.name == "no" { Err(Denied::new("not this one")) } else { Ok(()) }
    }
}

fn warnings(answer: &http::Response<machinery_apiserver::Body>) -> Vec<String> {
    let all = answer.headers().get_all("warning").iter();
    all.map(|value| value.to_str().unwrap().to_owned()).collect()
}

async fn post(client: &Client, path: &str, object: &Value) -> http::Response<machinery_apiserver::Body> {
    let request = http::Request::post(path).header("content-type", "application/json");
    let body = http_body_util::Full::from(object.to_string());
    client.send(request.body(body).unwrap()).await
}

#[tokio::test]
async fn warnings_of_admission_reach_the_client_of_allowed_and_denied_requests() {
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
    let server = builder.admission(RemarkingPlugin).start().await.unwrap();
    let client = Client::of(&server);
    for (name, code) in [("a", 201), ("no", 403)] {
        let answer = post(&client, WIDGETS, &widget(name, &json!({}))).await;
        let expected = ["it is reviewed".to_owned(), format!("{name} is checked")]
            .map(|text| format!("299 - \"{text}\""));
        assert_eq!((answer.status().as_u16(), warnings(&answer)), (code, expected.to_vec()));
    }
    // Through a handle the warnings are logged, and the write is admitted.
    server.handle::<Widget>(Identity::admin()).create(&typed("b", "red"), None).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn annotations_of_admission_are_in_the_audit_log() {
    let (builder, lines) = builder(ALL);
    let server = builder.admission(RemarkingPlugin).start().await.unwrap();
    let client = Client::of(&server);
    for (name, code) in [("a", 201), ("no", 403)] {
        lines.take();
        assert_eq!(
            client.post(MAPS, &json!({"metadata": {"name": name}, "data": {"k": "v"}})).await.code,
            code
        );
        let annotations = lines.one()["annotations"].clone();
        let of = |key: &str| annotations[format!("remarks.example.com/{key}")].clone();
        assert_eq!((of("phase"), of("operation")), ("mutate".into(), "CREATE".into()), "{annotations}");
        assert_eq!(of("content"), r#"{"k":"v"}"#);
        assert_eq!(
            annotations["machinery.dev/left-out"],
            "annotations of remarks.example.com: a key is no name"
        );
    }
    lines.take();
    client.post(SECRETS, &json!({"metadata": {"name": "a"}, "stringData": {"k": "pl4nted"}})).await.fine();
    let annotations = lines.one()["annotations"].clone();
    assert_eq!(annotations["remarks.example.com/content"], "REDACTED", "{annotations}");
    server.stop().await;
}

/// The calls of a plugin: by name, the ConfigMaps and Secrets that it has read.
type Reads = Arc<Mutex<Vec<(String, Vec<String>, Vec<String>)>>>;

/// Reads ConfigMaps, lets others write, and reads again.
struct Reader {
    reads: Reads,
    writer: Arc<Mutex<Option<Client>>>,
}

impl Reader {
    async fn read(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        let names = |maps: Vec<ConfigMap>| {
            maps.iter()
                .map(|map| format!("{}{}", map.name_any(), map.data.as_ref().map_or(0, |data| data.len())))
                .collect::<Vec<_>>()
        };
        let maps = names(attributes.list::<ConfigMap>(Some("default")).await?);
        let secrets = attributes.list::<Secret>(None).await?;
        let secrets = secrets.iter().map(|secret| secret.name_any()).collect();
        self.reads.lock().push((attributes.name.to_owned(), maps, secrets));
        Ok(())
    }
}

#[async_trait]
impl Admission for Reader {
    async fn mutate(&self, attributes: &Attributes<'_>, _: &mut Value) -> Result<(), Denied> {
        if attributes.resource != "widgets" {
            return Ok(());
        }
        self.read(attributes).await?;
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            writer.post(MAPS, &json!({"metadata": {"name": "later"}})).await.fine();
            writer.post(SECRETS, &json!({"metadata": {"name": "later"}})).await.fine();
            writer.merge(&format!("{MAPS}/a"), &json!({"data": {"k": "v"}})).await.fine();
            writer.delete(&format!("{MAPS}/b")).await.fine();
            writer.merge(&format!("{WIDGETS}/w"), &json!({"spec": {"size": 7}})).await;
        }
        Ok(())
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        if attributes.resource != "widgets" {
            return Ok(());
        }
        self.read(attributes).await?;
        let read = attributes.get::<ConfigMap>(Some("default"), "later").await?;
        let listed = self.reads.lock().last().unwrap().1.contains(&"later0".to_owned());
        assert_eq!(read.is_some(), listed, "a get and a list are of one revision");
        assert_eq!(attributes.get::<ConfigMap>(Some("default"), "missing").await?, None);
        assert!(attributes.get::<Namespace>(None, "default").await?.is_some());
        Ok(())
    }
}

#[tokio::test]
async fn admission_reads_other_objects_at_one_revision() {
    let (reads, writer) = (Reads::default(), Arc::new(Mutex::new(None)));
    let reader = Reader { reads: reads.clone(), writer: writer.clone() };
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
    let server = builder.admission(reader).start().await.unwrap();
    let client = Client::of(&server);
    for name in ["a", "b"] {
        client.post(MAPS, &json!({"metadata": {"name": name}})).await.fine();
    }
    *writer.lock() = Some(client.again());
    client.post(WIDGETS, &widget("w", &json!({}))).await.fine();
    let before = ("w".to_owned(), vec!["a0".to_owned(), "b0".into()], Vec::new());
    let after = ("w".to_owned(), vec!["a1".to_owned(), "later0".into()], vec!["later".to_owned()]);
    // `mutate` and `validate` see one state, whatever was written in between.
    assert_eq!(*reads.lock(), [before.clone(), before.clone()]);

    // A conflict repeats admission, on a newer state.
    for (path, name) in [(MAPS, "later"), (SECRETS, "later")] {
        client.delete(&format!("{path}/{name}")).await.fine();
    }
    client.merge(&format!("{MAPS}/a"), &json!({"data": null})).await.fine();
    client.post(MAPS, &json!({"metadata": {"name": "b"}})).await.fine();
    reads.lock().clear();
    *writer.lock() = Some(client.again());
    let changed = client.merge(&format!("{WIDGETS}/w"), &json!({"spec": {"tags": ["t"]}})).await.fine();
    assert_eq!(changed["spec"]["size"], 7);
    let all = reads.lock().clone();
    // The write in between is admitted as well, on its own newer revision.
    assert_eq!((&all[0], &all[1], &all[2]), (&before, &after, &after));
    assert_eq!(&all[3], &before, "the first attempt, until its commit fails");
    assert_eq!(&all[4..], [after.clone(), after]);
    server.stop().await;
}

/// Refuses with the error of its read.
struct Broken;

#[async_trait]
impl Admission for Broken {
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        if attributes.operation != Operation::Create || attributes.resource != "widgets" {
            return Ok(());
        }
        let unknown = Kind::new("example.com/v9", "Other", "others", Scope::Namespaced).unwrap();
        let error = attributes.list_of::<Value>(&unknown, None).await.unwrap_err();
        assert!(matches!(error, AdmissionReadError::NotServed { .. }), "{error:?}");
        let maps = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
        let error = attributes.get_of::<u32>(&maps, Some("default"), "a").await.unwrap_err();
        assert!(matches!(error, AdmissionReadError::Undecodable { .. }), "{error:?}");
        attributes.list::<ConfigMap>(None).await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_read_over_the_limit_refuses_the_request_with_the_remedy() {
    let limits = Limits { admission_objects: 2, ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]).limits(limits);
    let server = builder.admission(Broken).start().await.unwrap();
    let client = Client::of(&server);
    for name in ["a", "b"] {
        client.post(MAPS, &json!({"metadata": {"name": name}})).await.fine();
    }
    client.post(WIDGETS, &widget("w", &json!({}))).await.fine();
    client.post(MAPS, &json!({"metadata": {"name": "c"}})).await.fine();
    let refused = client.post(WIDGETS, &widget("v", &json!({}))).await;
    assert_eq!(refused.code, 500, "{refused:?}");
    assert!(
        refused.refused().2.contains("name a namespace, or raise Limits::admission_objects"),
        "{refused:?}"
    );
    server.stop().await;
}
