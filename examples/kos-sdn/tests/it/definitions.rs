//! The definitions of the kinds, for any cluster.

use kos::model::{IPLock, NetworkAttachment, Subnet, manifest, manifests, role_manifests};
use machinery::apiserver::{ApiServer, KindOf};
use machinery::store::{Memory, Options};
use serde_json::{Value, json};

const FILE: &str = include_str!("../../deploy/crds.yaml");

#[test]
fn the_definitions_in_the_tree_are_current() {
    let now = manifests().unwrap();
    assert!(now == FILE, "write them anew: cargo run -p kos -- crds > examples/kos-sdn/deploy/crds.yaml");
    for rule in ["attempt to update immutable field", "must be in [1,2097151]"] {
        assert!(now.contains(rule));
    }
    assert_eq!(now.matches("self == oldSelf").count(), 5);
}

#[test]
fn the_roles_in_the_tree_are_current() {
    let file = include_str!("../../deploy/roles.yaml");
    let now = role_manifests().unwrap();
    assert!(now == file, "write them anew: cargo run -p kos -- roles > examples/kos-sdn/deploy/roles.yaml");
}

/// As one that nobody but the file knows of takes them: rules are all that our server does not take from others.
#[tokio::test]
async fn a_server_takes_the_definitions() {
    fn without_rules(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("x-kubernetes-validations");
                fields.values_mut().for_each(without_rules);
            }
            Value::Array(items) => items.iter_mut().for_each(without_rules),
            _ => {}
        }
    }
    let mut definitions = [manifest::<Subnet>(), manifest::<NetworkAttachment>(), manifest::<IPLock>()]
        .map(|definition| serde_json::to_value(definition).unwrap());
    definitions.iter_mut().for_each(without_rules);
    let [subnets, attachments, locks] = definitions.map(KindOf::<Value>::defined);
    let builder =
        ApiServer::builder(Memory::new(Options::default())).kind(subnets).kind(attachments).kind(locks);
    builder.start().await.unwrap().stop().await;
}

#[test]
fn a_path_to_each_rule_leads_somewhere() {
    let definition = serde_json::to_value(manifest::<NetworkAttachment>()).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let rules =
        |at: &str| definition.pointer(&format!("{spec}{at}/x-kubernetes-validations/0/rule")).cloned();
    assert_eq!(rules("/properties/node"), Some(json!("self == oldSelf")));
    assert_eq!(rules("/properties/subnet"), Some(json!("self == oldSelf")));
    assert!(rules("").is_some());
}
