//! `kubectl explain` of metadata and definitions, and the output of `kubectl apply`.

use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};

use super::Kubectl;

#[tokio::test(flavor = "multi_thread")]
async fn definitions_and_metadata_are_explained() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let Some(kubectl) = Kubectl::start(&server).await else { return };
    let all = ["openAPIV3Schema", "<JSONSchemaProps>", "The schema of objects."];
    kubectl.says("explain crd.spec.versions.schema", "", &all);
    kubectl.says(
        "explain crd.spec.versions",
        "",
        &["<[]CustomResourceDefinitionVersion>", "selectableFields", "<[]SelectableField>"],
    );
    kubectl.says(
        "explain pod.metadata",
        "",
        &["Standard object's metadata", "creationTimestamp", "CreationTimestamp is a timestamp"],
    );
    kubectl.says("explain configmap", "", &["APIVersion defines", "metadata\t<ObjectMeta>"]);
}

const MAP: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels:
    app: shop
data:
  color: red
  config.yaml: |
    a: 1
binaryData:
  logo: aGVsbG8=
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_config_map_is_applied_as_unchanged() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let Some(kubectl) = Kubectl::start(&server).await else { return };
    kubectl.says("apply -f -", MAP, &["configmap/settings created"]);
    for _ in 0..2 {
        kubectl.says("apply -f -", MAP, &["configmap/settings unchanged"]);
    }
    kubectl.says("apply -f -", &MAP.replace("red", "blue"), &["configmap/settings configured"]);
    kubectl.says("apply -f -", &MAP.replace("red", "blue"), &["configmap/settings unchanged"]);
}
