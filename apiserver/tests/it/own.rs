//! Rust types as kinds: served as any kind, with their hooks applied to all writers.

use kube_core::CustomResourceExt;
use machinery_apiserver::{ApiServer, Identity, KindOf, StartError, Wrong};
use machinery_objects::{InvalidField, Kind, Preconditions, Scope, SourceError, WriteError, Writer};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, definition};
use crate::typed::{Widget, WidgetStatus, widget};

/// Widgets with a size derived from an immutable color, and a phase that the server sets and
/// counts.
fn widgets(kind: KindOf<Widget>) -> KindOf<Widget> {
    let wrong = |field: &str, reason: &str| InvalidField { field: field.into(), reason: reason.into() };
    kind.defaulting(|widget| {
        let length = widget.spec.color.as_deref().map_or(0, str::len);
        widget.spec.size.get_or_insert(length as i64);
    })
    .validating(move |new, old| match old {
        Some(old) if old.spec.color != new.spec.color => vec![wrong("spec.color", "a color stays")],
        _ if new.spec.tags.is_none() => vec![wrong("spec.tags", "there are always tags")],
        _ => Vec::new(),
    })
    .status(|new, old| {
        let phase = match old.and_then(|old| old.status.as_ref()) {
            None => "Pending".into(),
            Some(status) => format!("{}+", status.phase),
        };
        new.status = Some(WidgetStatus { phase });
        new.spec.tags = None; // only the status counts
    })
}

async fn start(kind: KindOf<Widget>) -> Result<ApiServer, StartError> {
    ApiServer::builder(Memory::new(Options::default())).kind(kind).start().await
}

fn object(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "spec": spec,
        "metadata": {"name": name, "namespace": "default"},
    })
}

const PATH: &str = "/apis/example.com/v1/namespaces/default/widgets";

#[tokio::test]
async fn hooks_of_a_kind_apply_on_the_wire_and_through_a_handle() {
    for derived in [true, false] {
        let kind = if derived { KindOf::new() } else { KindOf::defined(definition_without_defaults()) };
        let server = start(widgets(kind)).await.unwrap();
        let (wire, handle) = (Client::of(&server), server.handle::<Widget>(Identity::admin()));

        let on_wire = wire.post(PATH, &object("a", &json!({"color": "red", "tags": ["x"]}))).await.fine();
        let mut red = widget("b", "red");
        red.spec.tags = Some(vec!["x".into()]);
        let through = serde_json::to_value(handle.create(&red, None).await.unwrap().object).unwrap();
        for made in [&on_wire, &through] {
            assert_eq!(made["spec"], json!({"color": "red", "size": 3, "tags": ["x"]}));
            assert_eq!(made["status"], json!({"phase": "Pending"}));
        }

        let refused = wire.post(PATH, &object("c", &json!({"color": "red"}))).await;
        let why = "Widget.example.com \"c\" is invalid: spec.tags: Required value: there are always tags";
        assert_eq!(refused.refused(), (422, "Invalid", why));
        assert_eq!(refused.body["details"]["causes"][0]["field"], "spec.tags");
        let mut blue = red.clone();
        blue.spec.color = Some("blue".into());
        let error = handle.update(&blue, &Preconditions::default()).await.unwrap_err();
        let WriteError::Source(SourceError::Invalid { reason, causes }) = error else { panic!("{error:?}") };
        let why = "Widget.example.com \"b\" is invalid: spec.color: Invalid value: \"blue\": a color stays";
        assert_eq!((reason.as_str(), causes[0].field.as_str()), (why, "spec.color"));
        let patch = json!({"spec": {"color": "blue"}});
        let refused = wire.merge(&format!("{PATH}/a"), &patch).await;
        assert_eq!((refused.code, refused.refused().1), (422, "Invalid"));

        let changed = wire.merge(&format!("{PATH}/a"), &json!({"spec": {"size": 9}})).await.fine();
        assert_eq!(
            (&changed["status"]["phase"], &changed["spec"]["tags"]),
            (&json!("Pending+"), &json!(["x"]))
        );
        red.spec.size = Some(9);
        let changed = handle.update(&red, &Preconditions::default()).await.unwrap().object;
        assert_eq!(changed.status.unwrap().phase, "Pending+");
        let up = json!({"status": {"phase": "Up"}});
        let written = wire.merge(&format!("{PATH}/a/status"), &up).await.fine();
        assert_eq!(written["status"], up["status"], "who writes the status has the word there");
    }
}

fn definition_without_defaults() -> Value {
    let mut definition = definition();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size";
    definition.pointer_mut(spec).unwrap().as_object_mut().unwrap().remove("default");
    definition
}

#[tokio::test]
async fn it_is_served_as_any_kind_is() {
    let server = start(KindOf::defined(definition())).await.unwrap();
    let wire = Client::of(&server);
    wire.post(PATH, &object("a", &json!({"color": "red"}))).await.fine();
    let resources = wire.get("/apis/example.com/v1").await.fine();
    let names: Vec<&str> =
        resources["resources"].as_array().unwrap().iter().filter_map(|kind| kind["name"].as_str()).collect();
    assert_eq!(names, ["widgets", "widgets/status"]);
    let openapi = wire.get("/openapi/v3/apis/example.com/v1").await.fine();
    assert!(openapi["components"]["schemas"].as_object().unwrap().contains_key("com.example.v1.Widget"));
    let headers = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = wire.ask(http::Method::GET, PATH, &headers, "").await.fine();
    assert_eq!(table["columnDefinitions"][1]["name"], "Color");
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red"]));
    let none = wire.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await.fine();
    assert_eq!(none["items"], json!([]), "it needs no definition in the store");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    wire.post("/api/v1/namespaces", &namespace).await.fine();
    let mut inside = object("b", &json!({}));
    inside["metadata"]["namespace"] = "n".into();
    wire.post("/apis/example.com/v1/namespaces/n/widgets", &inside).await.fine();
    wire.delete("/api/v1/namespaces/n").await.fine();
    for _ in 0..600 {
        if wire.get("/api/v1/namespaces/n").await.code == 404 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the namespace does not go");
}

#[tokio::test]
async fn an_object_that_is_not_of_the_type_is_refused() {
    let mut loose = definition();
    loose["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    loose["spec"]["versions"][0]["selectableFields"] = json!([]);
    let server = start(KindOf::defined(loose)).await.unwrap();
    let wire = Client::of(&server);
    let refused = wire.post(PATH, &object("a", &json!({"size": "large"}))).await;
    let why =
        "Widget.example.com \"a\" is invalid: <nil>: Forbidden: invalid type: string \"large\", expected i64";
    assert_eq!(refused.refused(), (422, "Invalid", why));
    let more = json!({"color": "red", "more": {"x": null}});
    let made = wire.post(PATH, &object("a", &more)).await.fine();
    assert_eq!(made["spec"], more, "what the type does not know stays");
}

#[tokio::test]
async fn a_definition_of_its_name_is_refused_either_way() {
    const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let store = Memory::new(Options::default());
    let builder = || ApiServer::builder(store.clone());
    let server = builder().kind(KindOf::<Widget>::new()).start().await.unwrap();
    let wire = Client::of(&server);
    let refused = wire.post(CRDS, &definition()).await;
    let why = "CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.com\" is invalid: metadata.name: Forbidden: \
               the program that the server is in serves this kind itself";
    assert_eq!(refused.refused(), (422, "Invalid", why));
    let crds = Kind::new(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Scope::Cluster,
    );
    let crds = server.handle_of::<Value>(crds.unwrap(), Identity::admin());
    assert!(crds.create(&definition(), None).await.is_err());

    let mut like = definition();
    like["metadata"]["name"] = "gadgets.example.com".into();
    like["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    wire.post(CRDS, &like).await.fine();
    let told = wire.get(&format!("{CRDS}/gadgets.example.com")).await.fine();
    let refused = told["status"]["conditions"].as_array().unwrap().iter();
    let accepted = refused.clone().find(|condition| condition["type"] == "NamesAccepted").unwrap();
    assert_eq!(accepted["status"], "False", "{told:#}");
    wire.delete(&format!("{CRDS}/gadgets.example.com")).await.fine();
    server.stop().await;

    let name = "widgets.example.com".to_owned();
    let refused = |found: Result<ApiServer, StartError>| match found.err() {
        Some(StartError::Definition { name: found, why }) if found == name => why,
        other => panic!("{other:?}"),
    };
    let both = builder().kind(KindOf::<Widget>::new()).crds([definition()]).start().await;
    assert!(refused(both).contains("serves this kind itself"));
    let twice = builder().kind(KindOf::<Widget>::new()).kind(KindOf::<Widget>::new()).start().await;
    assert!(refused(twice).contains("another kind has one of its names"));
    builder().crds([definition()]).start().await.unwrap().stop().await;
    assert!(refused(builder().kind(KindOf::<Widget>::new()).start().await).contains("the store has one"));
}

#[tokio::test]
async fn a_built_in_kind_cannot_be_replaced_by_a_definition() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store).start().await.unwrap();
    let wire = Client::of(&server);
    let mut roles = definition();
    let group = "rbac.authorization.k8s.io";
    roles["metadata"]["name"] = format!("roles.{group}").into();
    roles["spec"]["group"] = group.into();
    roles["spec"]["names"] = json!({"plural": "roles", "kind": "Role"});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let refused = wire.post(crds, &roles).await;
    assert!(refused.refused().2.contains("protected groups must have approval annotation"), "{refused:?}");
    roles["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    wire.post(crds, &roles).await.fine();
    let path = format!("/apis/{group}/v1/namespaces/default/roles");
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "a"}, "spec": {"color": "red"},
    });
    assert_eq!(wire.post(&path, &widget).await.fine().get("spec"), None, "it is a role still");
}

#[tokio::test]
async fn an_invalid_kind_fails_the_start() {
    let why = async |definition: Value| match start(KindOf::defined(definition)).await.err() {
        Some(StartError::Definition { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let mut unserved = two_versions();
    unserved["spec"]["versions"][0]["served"] = false.into();
    assert!(why(unserved).await.contains("must be served"));
    let mut sections = definition();
    sections["metadata"]["annotations"] = json!({"machinery.dev/sections": "{}"});
    assert!(why(sections).await.contains("machinery.dev/sections: missing field"));
    let mut misnamed = definition();
    misnamed["metadata"]["name"] = "other".into();
    assert!(why(misnamed).await.contains("metadata.name"));
    assert!(why(json!({})).await.contains("spec.group"));
    assert_eq!(Widget::crd_name(), "widgets.example.com");
}

fn two_versions() -> Value {
    let mut two = definition();
    let mut second = two["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = ("v1beta1".into(), false.into());
    two["spec"]["versions"].as_array_mut().unwrap().push(second);
    two
}

/// Objects are stored in one version, and the hooks of the type apply to writes of each.
#[tokio::test]
async fn a_kind_in_several_versions_has_its_hooks_in_each() {
    let one_color = |widget: &Widget| widget.spec.color.clone();
    let taken = |_: &Widget, others: &[std::sync::Arc<Widget>]| {
        let reason = "the color is taken".to_owned();
        others.first().map(|_| InvalidField { field: "spec.color".into(), reason }).into_iter().collect()
    };
    let kind: KindOf<Widget> = KindOf::defined(two_versions()).guard("color", one_color, taken);
    let server = start(kind.defaulting(|widget| widget.spec.size = Some(7))).await.unwrap();
    let wire = Client::of(&server);
    let old_path = PATH.replace("/v1/", "/v1beta1/");
    let of = |version: &str, name: &str, color: &str| {
        let mut object = object(name, &json!({"color": color}));
        object["apiVersion"] = format!("example.com/{version}").into();
        object
    };
    let made = wire.post(&old_path, &of("v1beta1", "a", "red")).await.fine();
    assert_eq!((&made["apiVersion"], &made["spec"]["size"]), (&"example.com/v1beta1".into(), &7.into()));
    let same = wire.get(&format!("{PATH}/a")).await.fine();
    assert_eq!((&same["apiVersion"], &same["spec"]), (&"example.com/v1".into(), &made["spec"]));
    for (path, version) in [(PATH, "v1"), (&*old_path, "v1beta1")] {
        let refused = wire.post(path, &of(version, "b", "red")).await;
        assert!(refused.refused().2.contains("the color is taken"), "{refused:?}");
        wire.post(path, &of(version, version, if version == "v1" { "blue" } else { "green" })).await.fine();
    }
    let listed = wire.get(&old_path).await.fine();
    let versions = listed["items"].as_array().unwrap().iter().map(|item| item["apiVersion"].clone());
    assert_eq!(versions.collect::<Vec<_>>(), vec![Value::from("example.com/v1beta1"); 3]);
    let changed =
        wire.merge(&format!("{old_path}/a"), &json!({"metadata": {"labels": {"x": "y"}}})).await.fine();
    assert_eq!(changed["spec"], made["spec"]);
    let groups = wire.get("/apis").await.fine();
    let group = groups["groups"].as_array().unwrap().iter().find(|group| group["name"] == "example.com");
    assert_eq!(group.unwrap()["versions"].as_array().unwrap().len(), 2);
}

/// Widgets with a server-side note of the last write, beside the metadata; their color is
/// immutable.
fn noted() -> KindOf<Value> {
    let mut definition = definition();
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    schema["last"] = json!({"type": "object", "properties": {
        "part": {"type": "string"}, "time": {"type": "string"},
    }});
    KindOf::<Value>::defined(definition)
        .validating(|new, old| {
            let wrong = InvalidField { field: "spec.color".into(), reason: "a color stays".into() };
            let changed = old.is_some_and(|old| old["spec"]["color"] != new["spec"]["color"]);
            changed.then_some(Wrong::Forbidden(wrong)).into_iter().collect()
        })
        .stamping(|new, old, now| {
            let of = |part: &str| json!({"part": part, "time": now.to_string()});
            new["spec"]["size"] = json!(17); // only what is the server's counts
            new["last"] = match old {
                None => of("all"),
                Some(old) if old["status"] != new["status"] => of("status"),
                Some(old) if old["spec"]["tags"] != new["spec"]["tags"] => of("tags"),
                Some(old) => old["last"].clone(),
            };
        })
}

#[tokio::test]
async fn stamped_fields_belong_to_the_server_on_every_write_path() {
    let server = ApiServer::builder(Memory::new(Options::default())).kind(noted()).start().await.unwrap();
    let wire = Client::of(&server);
    let one = format!("{PATH}/a");
    let mut sent = object("a", &json!({"color": "red", "size": 1}));
    sent["last"] = json!({"part": "mine"});
    let made = wire.post(PATH, &sent).await.fine();
    assert_eq!((&made["last"]["part"], &made["spec"]["size"]), (&json!("all"), &json!(1)));
    made["last"]["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();

    let same = wire.merge(&one, &json!({"last": {"part": "mine", "time": null}})).await.fine();
    assert_eq!(
        same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"],
        "nothing was written"
    );
    let changed = wire.merge(&one, &json!({"spec": {"tags": ["x"]}})).await.fine();
    assert_eq!((&changed["last"]["part"], &changed["metadata"]["generation"]), (&json!("tags"), &json!(2)));
    let up = json!({"status": {"phase": "Up"}, "last": {"part": "mine"}});
    let up = wire.merge(&format!("{one}/status"), &up).await.fine();
    assert_eq!((&up["last"]["part"], &up["metadata"]["generation"]), (&json!("status"), &json!(2)));

    let refused = wire.merge(&one, &json!({"spec": {"color": "blue"}})).await;
    let why = "Widget.example.com \"a\" is invalid: spec.color: Forbidden: a color stays";
    assert_eq!(refused.refused(), (422, "Invalid", why));
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "FieldValueForbidden");
}
