//! Admission by the program itself.

use async_trait::async_trait;
use machinery_apiserver::{Admission, ApiServer, Attributes, Denied, Identity, Operation};
use machinery_objects::{Deletion, Preconditions, SourceError, WriteError, Writer};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

use super::hook::{Hook, configure, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, definition};
use crate::typed::{Widget, key, widget as typed};

/// Adds an owner label to widgets; blue ones get none, and only admins delete any.
#[derive(Clone, Default)]
struct Owners {
    asked: Arc<Mutex<Vec<(Operation, String, bool)>>>,
}

#[async_trait]
impl Admission for Owners {
    async fn mutate(&self, asked: &Attributes<'_>, object: &mut Value) -> Result<(), Denied> {
        assert!(asked.object.is_none() && asked.old.is_some() == (asked.operation == Operation::Update));
        if asked.resource == "widgets" && asked.operation == Operation::Create {
            object["metadata"]["labels"]["owner"] = asked.user.user.clone().into();
            object["spec"]["unknown"] = 1.into();
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn validate(&self, asked: &Attributes<'_>) -> Result<(), Denied> {
        self.asked.lock().push((asked.operation, asked.name.to_owned(), asked.dry_run));
        if asked.name == "panic" {
            panic!("by a test");
        }
        match (asked.operation, asked.object) {
            (Operation::Delete, None) if asked.user.user != "admin" => Err(Denied::new("ask an admin")),
            (_, Some(object)) if object["spec"]["color"] == "blue" => Err(Denied::new("no blue").code(422)),
            _ => Ok(()),
        }
    }
}

async fn start(owners: &Owners) -> ApiServer {
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
    builder.admission(owners.clone()).start().await.unwrap()
}

#[tokio::test]
async fn in_process_admission_applies_on_the_wire_and_through_handles() {
    let owners = Owners::default();
    let server = start(&owners).await;
    let (admin, ann) = (Client::of(&server), Client::to(server.service(Identity::new("ann"))));
    let made = ann.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    assert_eq!((&made["metadata"]["labels"], &made["spec"]), (&json!({"owner": "ann"}), &json!({"size": 3})));
    let handle = server.handle::<Widget>(Identity::new("ann"));
    let made = handle.create(&typed("b", "red"), None).await.unwrap().object;
    assert_eq!(made.metadata.labels.unwrap()["owner"], "ann");

    let refused = ann.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"color": "blue"}})).await;
    assert_eq!(refused.refused(), (422, "Invalid", "no blue"));
    let mut blue = typed("b", "blue");
    blue.metadata.labels = None;
    let error = handle.update(&blue, &Preconditions::default()).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Invalid { .. })), "{error:?}");

    let refused = ann.delete(&format!("{WIDGETS}/a")).await;
    assert_eq!(refused.refused(), (403, "Forbidden", "widgets.example.com \"a\" is forbidden: ask an admin"));
    handle.delete(&key("b"), &Deletion::default()).await.unwrap_err();
    assert_eq!(admin.get(WIDGETS).await.fine()["items"].as_array().unwrap().len(), 2);
    admin.delete(WIDGETS).await.fine();
    assert_eq!(admin.get(WIDGETS).await.fine()["items"], json!([]));
    ann.post(&format!("{WIDGETS}?dryRun=All"), &widget("c", &json!({}))).await.fine();
    assert_eq!(owners.asked.lock().last(), Some(&(Operation::Create, "c".into(), true)));
}

#[tokio::test]
async fn a_panic_of_admission_refuses_one_request() {
    let owners = Owners::default();
    let server = start(&owners).await;
    let client = Client::of(&server);
    let refused = client.post(WIDGETS, &widget("panic", &json!({}))).await;
    assert_eq!((refused.code, refused.refused().1), (500, "InternalError"));
    let handle = server.handle::<Widget>(Identity::admin());
    handle.create(&typed("panic", "red"), None).await.unwrap_err();
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
}

#[tokio::test]
async fn webhooks_are_called_for_writes_through_a_handle() {
    let hook = Hook::new(|_, review| {
        let color = &review["request"]["object"]["spec"]["color"];
        super::hook::Reply::Response(
            json!({"allowed": color != "red", "status": {"message": "no red", "code": 403}}),
        )
    })
    .await;
    let server = start(&Owners::default()).await;
    configure(&Client::of(&server), &validating("all", &[webhook("all", &hook.at("/"), &json!({}))])).await;
    let handle = server.handle::<Widget>(Identity::new("ann"));
    let error = handle.create(&typed("a", "red"), None).await.unwrap_err();
    assert!(format!("{error:?}").contains("admission webhook"), "{error:?}");
    handle.create(&typed("a", "green"), None).await.unwrap();
    let request = &hook.seen()[1];
    assert_eq!(request["userInfo"]["username"], "ann");
    assert_eq!(request["object"]["metadata"]["labels"]["owner"], "ann", "the program is asked before");
}
