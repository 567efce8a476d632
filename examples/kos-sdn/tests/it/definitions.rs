//! The definitions of the kinds, for any cluster.

use kos::model::{IPLock, NetworkAttachment, Subnet, manifest, manifests, role_manifests};
use machinery::apiserver::Identity;
use machinery::kube::kube_client::Client;
use machinery::objects::{Freshness, Kind, ListWatch as _, Preconditions, Writer as _, Written};
use serde_json::{Value, json};

use crate::server::{Stage, key, refused, stranger};

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

/// As one that nobody but the file knows of takes them.
#[tokio::test]
async fn a_server_takes_the_definitions() {
    stranger().await.stop().await;
}

/// They are more than the rest of an object, and a program has no use for them.
#[tokio::test]
async fn nobody_keeps_managed_fields_and_the_server_does() {
    let stage = Stage::new().await;
    let subnet = Subnet::new("n", "s", 1, "10.0.0.0/24");
    stage.subnets.create(&subnet, None).await.unwrap();
    let new = NetworkAttachment::new("n", "a", "x", "s");
    let mut written = stage.attachments.create(&new, None).await.unwrap().object;
    let raw = stage.server.handle_of::<Value>(Kind::of::<NetworkAttachment>().unwrap(), Identity::admin());
    let fields = async || {
        raw.get(&key("n", "a"), Freshness::Newest).await.unwrap().unwrap()["metadata"]["managedFields"]
            .clone()
    };
    let plane = stage.plane().await;
    let writer = plane.writer::<NetworkAttachment>().unwrap();
    for lock in ["1", "2"] {
        assert_eq!(written.metadata.managed_fields, None);
        assert!(fields().await[0]["fieldsV1"]["f:spec"].get("f:node").is_some(), "{}", fields().await);
        written.status.lock_uid = lock.into();
        written = match lock {
            "1" => stage.attachments.update_status(&written, &Preconditions::default()).await.unwrap().object,
            _ => writer.update_status(&written, &Preconditions::default()).await.unwrap().object,
        };
    }
    let read = stage.attachments.get(&key("n", "a"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!((read.metadata.managed_fields.as_ref(), read.status.lock_uid.as_str()), (None, "2"));
    assert!(fields().await.as_array().is_some_and(|all| all.len() > 1), "who wrote the status is there, too");
    let subnet = stage.subnets.get(&key("n", "s"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(subnet.metadata.managed_fields, None);
    let lock: IPLock = serde_json::from_value(json!({
        "metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "spec": {"subnetName": "s"}
    }))
    .unwrap();
    assert_eq!(lock.metadata.managed_fields, None);
    plane.stop().await;
    stage.server.stop().await;
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

/// On a cluster that has nothing of ours but the definitions.
#[tokio::test]
async fn the_rules_of_the_definitions_hold() {
    let stage = Stage::of(stranger().await).await;
    let made = |object: Result<_, _>| refused::<Written<Subnet>>(object);
    let none = made(stage.subnets.create(&Subnet::new("n", "zero", 0, "10.0.0.0/24"), None).await);
    assert_eq!(none, ["spec.vni: Invalid value: 0: must be in [1,2097151]"]);
    let mut subnet =
        stage.subnets.create(&Subnet::new("n", "s", 1, "10.0.0.0/24"), None).await.unwrap().object;
    subnet.spec.vni = 2;
    let fixed = "attempt to update immutable field";
    let other = made(stage.subnets.update(&subnet, &Preconditions::default()).await);
    assert_eq!(other, [format!("spec.vni: Invalid value: 2: {fixed}")]);

    let new = NetworkAttachment::new("n", "a", "x", "s");
    let mut attachment = stage.attachments.create(&new, None).await.unwrap().object;
    attachment.spec.node = "y".into();
    attachment.spec.post_create_exec = vec!["/bin/true".into()];
    let moved = refused(stage.attachments.update(&attachment, &Preconditions::default()).await);
    let exec = format!("spec: Invalid value: postCreateExec: {fixed}");
    assert_eq!(moved, [exec, format!("spec.node: Invalid value: \"y\": {fixed}")]);
    stage.server.stop().await;
}

/// As kubectl shows them: beside a server that has our hooks, and beside one that has the definitions only.
#[tokio::test]
async fn people_see_what_matters_in_columns() {
    for stage in [Stage::new().await, Stage::of(stranger().await).await] {
        stage.subnets.create(&Subnet::new("n", "s", 17, "10.0.0.0/24"), None).await.unwrap();
        let mut one = stage
            .attachments
            .create(&NetworkAttachment::new("n", "a", "node-1", "s"), None)
            .await
            .unwrap()
            .object;
        one.status.address_vni = 17;
        one.status.ipv4 = "10.0.0.2".into();
        one.status.mac_address = "06:00:00:02:00:11".into();
        one.status.ifc_name = "kos060000020011".into();
        stage.attachments.update_status(&one, &Preconditions::default()).await.unwrap();
        let client = Client::new(stage.server.service(Identity::admin()), "n");
        let shown = |plural: &'static str| {
            let request =
                http::Request::get(format!("/apis/network.example.com/v1alpha1/namespaces/n/{plural}"));
            let request = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
            let client = client.clone();
            async move {
                let table: Value = client.request(request.body(Vec::new()).unwrap()).await.unwrap();
                let names =
                    table["columnDefinitions"].as_array().unwrap().iter().map(|one| one["name"].clone());
                (Value::from_iter(names), table["rows"][0]["cells"].clone())
            }
        };
        let (names, cells) = shown("networkattachments").await;
        assert_eq!(names, json!(["Name", "Node", "Subnet", "VNI", "IP", "MAC", "Ready", "Age"]));
        let expected = json!(["a", "node-1", "s", 17, "10.0.0.2", "06:00:00:02:00:11", "kos060000020011"]);
        assert_eq!(cells.as_array().unwrap()[..7], expected.as_array().unwrap()[..]);
        let (names, cells) = shown("subnets").await;
        assert_eq!(names, json!(["Name", "VNI", "CIDR", "Validated", "Age"]));
        assert_eq!(cells.as_array().unwrap()[..3], json!(["s", 17, "10.0.0.0/24"]).as_array().unwrap()[..]);
        stage.server.stop().await;
    }
}
