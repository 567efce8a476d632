//! The CustomResourceDefinitions, for any cluster.

use kos::model::{IPLock, NetworkAttachment, Subnet, manifests, role_manifests};
use machinery::apiserver::Identity;
use machinery::kube::kube_client::Client;
use machinery::kube_core::CustomResourceExt as _;
use machinery::objects::{Freshness, Kind, ListWatch as _, Preconditions, Writer as _, Written};
use serde_json::{Value, json};

use crate::server::{ServerFixture, foreign_server, key, refused};

const FILE: &str = include_str!("../../deploy/crds.yaml");

#[test]
fn the_definitions_in_the_tree_are_current() {
    let now = manifests().unwrap();
    assert!(now == FILE, "regenerate them: cargo run -p kos -- crds > examples/kos-sdn/deploy/crds.yaml");
    for rule in ["attempt to update immutable field", "must be in [1,2097151]"] {
        assert!(now.contains(rule));
    }
    assert_eq!(now.matches("self == oldSelf").count(), 5);
}

#[test]
fn the_roles_in_the_tree_are_current() {
    let file = include_str!("../../deploy/roles.yaml");
    let now = role_manifests().unwrap();
    assert!(now == file, "regenerate them: cargo run -p kos -- roles > examples/kos-sdn/deploy/roles.yaml");
}

/// A server without our code accepts them.
#[tokio::test]
async fn server_accepts_the_definitions() {
    foreign_server().await.stop().await;
}

/// They are larger than the rest of an object, and unused by programs.
#[tokio::test]
async fn managed_fields_are_stored_but_not_cached() {
    let fixture = ServerFixture::new().await;
    let subnet = Subnet::new("n", "s", 1, "10.0.0.0/24");
    fixture.subnets.create(&subnet, None).await.unwrap();
    let new = NetworkAttachment::new("n", "a", "x", "s");
    let mut written = fixture.attachments.create(&new, None).await.unwrap().object;
    let raw = fixture.server.handle_of::<Value>(Kind::of::<NetworkAttachment>().unwrap(), Identity::admin());
    let fields = async || {
        raw.get(&key("n", "a"), Freshness::Newest).await.unwrap().unwrap()["metadata"]["managedFields"]
            .clone()
    };
    let plane = fixture.plane().await;
    let writer = plane.writer::<NetworkAttachment>().unwrap();
    for lock in ["1", "2"] {
        assert_eq!(written.metadata.managed_fields, None);
        assert!(fields().await[0]["fieldsV1"]["f:spec"].get("f:node").is_some(), "{}", fields().await);
        written.status.lock_uid = lock.into();
        written = match lock {
            "1" => {
                fixture.attachments.update_status(&written, &Preconditions::default()).await.unwrap().object
            }
            _ => writer.update_status(&written, &Preconditions::default()).await.unwrap().object,
        };
    }
    let read = fixture.attachments.get(&key("n", "a"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!((read.metadata.managed_fields.as_ref(), read.status.lock_uid.as_str()), (None, "2"));
    assert!(
        fields().await.as_array().is_some_and(|all| all.len() > 1),
        "the manager of the status is recorded"
    );
    let subnet = fixture.subnets.get(&key("n", "s"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(subnet.metadata.managed_fields, None);
    let lock: IPLock = serde_json::from_value(json!({
        "metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "spec": {"subnetName": "s"}
    }))
    .unwrap();
    assert_eq!(lock.metadata.managed_fields, None);
    plane.stop().await;
    fixture.server.stop().await;
}

#[test]
fn every_rule_path_exists_in_the_schema() {
    let definition = serde_json::to_value(NetworkAttachment::crd()).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let rules =
        |at: &str| definition.pointer(&format!("{spec}{at}/x-kubernetes-validations/0/rule")).cloned();
    assert_eq!(rules("/properties/node"), Some(json!("self == oldSelf")));
    assert_eq!(rules("/properties/subnet"), Some(json!("self == oldSelf")));
    assert!(rules("").is_some());
}

/// On a cluster that has only the definitions.
#[tokio::test]
async fn the_rules_of_the_definitions_hold() {
    let fixture = ServerFixture::of(foreign_server().await).await;
    let made = |object: Result<_, _>| refused::<Written<Subnet>>(object);
    let none = made(fixture.subnets.create(&Subnet::new("n", "zero", 0, "10.0.0.0/24"), None).await);
    assert_eq!(none, ["spec.vni: Invalid value: 0: must be in [1,2097151]"]);
    let mut subnet =
        fixture.subnets.create(&Subnet::new("n", "s", 1, "10.0.0.0/24"), None).await.unwrap().object;
    subnet.spec.vni = 2;
    let immutable = "attempt to update immutable field";
    let other = made(fixture.subnets.update(&subnet, &Preconditions::default()).await);
    assert_eq!(other, [format!("spec.vni: Invalid value: 2: {immutable}")]);

    let new = NetworkAttachment::new("n", "a", "x", "s");
    let mut attachment = fixture.attachments.create(&new, None).await.unwrap().object;
    attachment.spec.node = "y".into();
    attachment.spec.post_create_exec = vec!["/bin/true".into()];
    let moved = refused(fixture.attachments.update(&attachment, &Preconditions::default()).await);
    let exec = format!("spec: Invalid value: postCreateExec: {immutable}");
    assert_eq!(moved, [exec, format!("spec.node: Invalid value: \"y\": {immutable}")]);
    fixture.server.stop().await;
}

/// As kubectl shows them, on our server and on a server with definitions only.
#[tokio::test]
async fn printer_columns_show_the_status() {
    for fixture in [ServerFixture::new().await, ServerFixture::of(foreign_server().await).await] {
        fixture.subnets.create(&Subnet::new("n", "s", 17, "10.0.0.0/24"), None).await.unwrap();
        let mut one = fixture
            .attachments
            .create(&NetworkAttachment::new("n", "a", "node-1", "s"), None)
            .await
            .unwrap()
            .object;
        one.status.address_vni = 17;
        one.status.ipv4 = "10.0.0.2".into();
        one.status.prefix_length = Some(24);
        one.status.mac_address = "06:00:00:02:00:11".into();
        one.status.ifc_name = "kos060000020011".into();
        fixture.attachments.update_status(&one, &Preconditions::default()).await.unwrap();
        let client = Client::new(fixture.server.service(Identity::admin()), "n");
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
        assert_eq!(names, json!(["Name", "Node", "Subnet", "VNI", "IP", "Prefix", "MAC", "Ready", "Age"]));
        let expected =
            json!(["a", "node-1", "s", 17, "10.0.0.2", 24, "06:00:00:02:00:11", "kos060000020011"]);
        assert_eq!(cells.as_array().unwrap()[..8], expected.as_array().unwrap()[..]);
        let (names, cells) = shown("subnets").await;
        assert_eq!(names, json!(["Name", "VNI", "CIDR", "Validated", "Age"]));
        assert_eq!(cells.as_array().unwrap()[..3], json!(["s", 17, "10.0.0.0/24"]).as_array().unwrap()[..]);
        fixture.server.stop().await;
    }
}
