//! Definitions on a cluster that differ from those of the program.

use machinery::apiserver::{ApiServer, Identity};
use machinery::k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube::kube_client::Client;
use machinery::kube_core::CustomResourceExt;
use machinery::objects::{Freshness, ListWatch, ObjectKey, Writer as _};
use machinery::serde_json::{Value, from_value, json};
use machinery::store::{Memory, Options};
use machinery::{Plane, PlaneError};

use crate::kinds::Disk;

async fn server(definition: &Value) -> ApiServer {
    ApiServer::builder(Memory::new(Options::default())).crds([definition.clone()]).start().await.unwrap()
}

async fn start(server: &ApiServer, updates: bool) -> Result<Plane, PlaneError> {
    let plane =
        machinery::kube_client(Client::new(server.service(Identity::admin()), "default")).kind::<Disk>();
    let plane = if updates { plane.update_definitions() } else { plane };
    plane.start().await
}

async fn stored(server: &ApiServer) -> Value {
    let definitions = server.handle::<CustomResourceDefinition>(Identity::admin());
    let key = ObjectKey::new(None, Disk::crd_name()).unwrap();
    let definition = definitions.get(&key, Freshness::Newest).await.unwrap().unwrap();
    machinery::serde_json::to_value(&*definition).unwrap()
}

fn older() -> Value {
    let mut older = machinery::serde_json::to_value(Disk::crd()).unwrap();
    for version in older["spec"]["versions"].as_array_mut().unwrap() {
        version["additionalPrinterColumns"] = json!([]);
        let status = version.pointer_mut("/schema/openAPIV3Schema/properties/status").unwrap();
        status["properties"].as_object_mut().unwrap().remove("note");
        status.as_object_mut().unwrap().remove("default");
    }
    older["metadata"]["labels"] = json!({"team": "storage"});
    older
}

#[tokio::test]
async fn p19_a_compatible_definition_is_updated_on_request() {
    let server = server(&older()).await;
    let before = stored(&server).await;
    start(&server, false).await.unwrap().stop().await;
    assert_eq!(stored(&server).await, before, "without a request it is only compared");

    start(&server, true).await.unwrap().stop().await;
    let after = stored(&server).await;
    let program = machinery::serde_json::to_value(Disk::crd()).unwrap();
    assert_eq!(machinery::differences(&program, &after), []);
    assert_eq!(after["metadata"]["labels"]["team"], "storage");
    start(&server, true).await.unwrap().stop().await;
    assert_eq!(stored(&server).await["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    server.stop().await;
}

#[tokio::test]
async fn p19_an_incompatible_definition_is_an_error_that_names_the_difference() {
    let mut older = older();
    for version in older["spec"]["versions"].as_array_mut().unwrap() {
        let spec = version.pointer_mut("/schema/openAPIV3Schema/properties/spec/properties").unwrap();
        spec["rack"] = json!({"type": "string"});
    }
    let server = server(&older).await;
    let before = stored(&server).await;
    start(&server, false).await.unwrap().stop().await;
    let error = start(&server, true).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        error.contains("versions[v1].schema.spec.rack: string on the server, absent in this program"),
        "{error}"
    );
    assert!(error.contains("serve a further version") && !error.contains("note"), "{error}");
    assert_eq!(stored(&server).await, before);
    server.stop().await;
}

#[tokio::test]
async fn p19_a_server_that_has_the_kind_itself_has_no_definition_to_compare() {
    let builder = ApiServer::builder(Memory::new(Options::default()));
    let server = builder.kind(machinery::apiserver::KindOf::<Disk>::new()).start().await.unwrap();
    start(&server, true).await.unwrap().stop().await;
    server.stop().await;
}

/// A requested update that cannot be made is no silence.
#[tokio::test]
async fn p19_a_definition_that_cannot_be_read_is_an_error_if_an_update_is_requested() {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().crds([older()]);
    let server = server.start().await.unwrap();
    let roles = server.handle::<ClusterRole>(Identity::admin());
    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["example.com"], "resources": ["disks"], "verbs": ["list"]}],
    });
    roles.create(&from_value(role).unwrap(), None).await.unwrap();
    let bindings = server.handle::<ClusterRoleBinding>(Identity::admin());
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    });
    bindings.create(&from_value(binding).unwrap(), None).await.unwrap();
    let plane = || {
        let service = server.service(Identity::new("reader").in_group("system:authenticated"));
        machinery::kube_client(Client::new(service, "default")).kind::<Disk>()
    };
    plane().start().await.unwrap().stop().await;
    let error = plane().update_definitions().start().await.err().unwrap().to_string();
    assert!(error.contains("permit `get` of customresourcedefinitions"), "{error}");
    server.stop().await;
}
