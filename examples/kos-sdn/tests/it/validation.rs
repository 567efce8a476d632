//! Validation and stamping of single objects by the server.

use kos::model::{AttachmentSpec, IPLock, NetworkAttachment, Section, Subnet};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use machinery::objects::{Preconditions, Writer as _};

use crate::server::{ServerFixture, refused};

const NEVER: &str = "Forbidden: attempt to update immutable field";

#[tokio::test]
async fn invalid_subnet_is_rejected() {
    let fixture = ServerFixture::new().await;
    let check = async |vni: u32, block: &str, expected: &[&str]| {
        let made = fixture.subnets.create(&Subnet::new("n", "a", vni, block), None).await;
        assert_eq!(refused(made), expected, "{vni} {block}");
    };
    let range = |vni: u32| format!("spec.vni: Invalid value: {vni}: must be in [1,2097151]");
    check(0, "10.0.0.0/24", &[&range(0)]).await;
    check(2_097_152, "10.0.0.0/24", &[&range(2_097_152)]).await;
    let public = "spec.ipv4: Invalid value: \"11.0.0.0/24\": must be compliant with RFC 1918 and is not";
    check(0, "11.0.0.0/24", &[&range(0), public]).await;
    check(1, "10.0.0.0", &["spec.ipv4: Invalid value: \"10.0.0.0\": invalid CIDR address: 10.0.0.0"]).await;
    let mapped = "spec.ipv4: Invalid value: \"::ffff:10.0.0.0/120\": must be an IPv4 CIDR block, such as 10.1.0.0/16, and \
                  ::ffff:10.0.0.0/120 is one of IPv6";
    check(1, "::ffff:10.0.0.0/120", &[mapped]).await;
}

/// The original accepted any values.
#[tokio::test]
async fn attachment_without_node_or_subnet_is_rejected() {
    let fixture = ServerFixture::new().await;
    let check = async |node: &str, subnet: &str, fields: &[&str]| {
        let made = fixture.attachments.create(&NetworkAttachment::new("n", "a", node, subnet), None).await;
        let found: Vec<String> =
            refused(made).iter().map(|why| why.split(':').next().unwrap().to_owned()).collect();
        assert_eq!(found, fields, "{node} {subnet}");
    };
    check("", "s", &["spec.node"]).await;
    check("node-1", "", &["spec.subnet"]).await;
    check("Node 1", "s/t", &["spec.node", "spec.subnet"]).await;
}

fn lock(name: &str) -> IPLock {
    let owner = OwnerReference {
        api_version: "network.example.com/v1alpha1".into(),
        kind: "NetworkAttachment".into(),
        name: "a".into(),
        uid: "u".into(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    IPLock::new("n", name, "s", owner)
}

/// The original neither validated locks nor made them immutable.
#[tokio::test]
async fn lock_with_malformed_name_is_rejected() {
    let fixture = ServerFixture::new().await;
    let made = refused(fixture.locks.create(&lock("v1-0-10-0-0-2"), None).await);
    assert_eq!(made.len(), 1);
    assert!(
        made[0].starts_with("metadata.name: Invalid value: \"v1-0-10-0-0-2\": must be v1-VNI-O1-O2-O3-O4"),
        "{made:?}"
    );
    fixture.locks.create(&lock("v1-1-10-0-0-2"), None).await.unwrap();
}

#[tokio::test]
async fn immutable_fields_cannot_change() {
    let fixture = ServerFixture::new().await;
    let only_if = Preconditions::default();
    let made = fixture.subnets.create(&Subnet::new("n", "a", 1, "10.0.0.0/24"), None).await.unwrap().object;
    let mut subnet = made;
    (subnet.spec.vni, subnet.spec.ipv4) = (0, "10.0.1.0/24".into());
    let expected = [format!("spec.vni: {NEVER}"), format!("spec.ipv4: {NEVER}")];
    assert_eq!(refused(fixture.subnets.update(&subnet, &only_if).await), expected);

    let made =
        fixture.attachments.create(&NetworkAttachment::new("n", "a", "x", "y"), None).await.unwrap().object;
    let mut attachment = made;
    attachment.spec = AttachmentSpec {
        node: "z".into(),
        subnet: "z".into(),
        post_create_exec: vec!["z".into()],
        post_delete_exec: vec!["z".into()],
    };
    let expected = ["node", "subnet", "postCreateExec"].map(|field| format!("spec.{field}: {NEVER}"));
    assert_eq!(refused(fixture.attachments.update(&attachment, &only_if).await), expected);

    let made = fixture.locks.create(&lock("v1-1-10-0-0-2"), None).await.unwrap().object;
    let mut lock = made;
    lock.spec.subnet_name = "z".into();
    let expected = [format!("spec.subnetName: {NEVER}")];
    assert_eq!(refused(fixture.locks.update(&lock, &only_if).await), expected);
}

#[tokio::test]
async fn spec_and_status_are_written_and_stamped_separately() {
    let fixture = ServerFixture::new().await;
    let only_if = Preconditions::default();
    let mut sent = NetworkAttachment::new("n", "a", "node-1", "s");
    sent.status.ipv4 = "10.0.0.2".into();
    sent.extended_metadata.write(Section::Status, jiff::Timestamp::UNIX_EPOCH);
    let made = fixture.attachments.create(&sent, None).await.unwrap().object;
    let sections = |object: &NetworkAttachment| -> Vec<String> {
        object.extended_metadata.writes.iter().map(|write| write.section.clone()).collect()
    };
    assert_eq!((sections(&made), made.status.ipv4.as_str()), (vec!["spec".to_owned()], ""));
    assert_eq!(made.metadata.generation, Some(1));

    let mut changed = made.clone();
    changed.status.address_vni = 17;
    changed.status.ipv4 = "10.0.0.2".into();
    changed.spec.post_delete_exec = vec!["/bin/x".into()];
    let by_status = fixture.attachments.update_status(&changed, &only_if).await.unwrap().object;
    assert_eq!((by_status.spec.post_delete_exec.len(), by_status.status.address_vni), (0, 17));
    assert_eq!(sections(&by_status), ["status.address", "spec"]);
    assert_eq!(by_status.metadata.generation, Some(1));

    let mut changed = by_status.clone();
    changed.status.ipv4 = "10.0.0.3".into();
    changed.spec.post_delete_exec = vec!["/bin/x".into()];
    changed.extended_metadata = sent.extended_metadata;
    let by_main = fixture.attachments.update(&changed, &only_if).await.unwrap().object;
    assert_eq!((by_main.spec.post_delete_exec.len(), by_main.status.ipv4.as_str()), (1, "10.0.0.2"));
    assert_eq!(sections(&by_main), ["spec", "status.address"]);
    assert_eq!(by_main.metadata.generation, Some(2));
    let written = |object: &NetworkAttachment, section| object.extended_metadata.written(section).unwrap();
    assert!(written(&by_main, Section::Spec) > written(&made, Section::Spec));
    assert_eq!(written(&by_main, Section::Address), written(&by_status, Section::Address));

    let same = fixture.attachments.update_status(&by_main, &only_if).await.unwrap().object;
    assert_eq!(same.metadata.resource_version, by_main.metadata.resource_version, "no change is no write");
}

#[tokio::test]
async fn field_selectors_of_agents_match() {
    let fixture = ServerFixture::new().await;
    for (name, node) in [("a", "node-1"), ("b", "node-2")] {
        fixture.attachments.create(&NetworkAttachment::new("n", name, node, "s"), None).await.unwrap();
    }
    let mut b = NetworkAttachment::new("n", "b", "node-2", "s");
    (b.status.address_vni, b.status.ipv4, b.status.host_ip) = (17, "10.0.0.2".into(), "192.0.2.1".into());
    fixture.attachments.update_status(&b, &Preconditions::default()).await.unwrap();
    let check =
        async |fields: &str, names: &[&str]| assert_eq!(fixture.selected(fields).await, names, "{fields}");
    check("spec.node=node-1", &["a"]).await;
    check("spec.node!=node-1,status.addressVNI=17,status.ipv4!=,status.hostIP!=", &["b"]).await;
    check("status.addressVNI=", &["a"]).await;
    check("status.ipv4=", &["a"]).await;
    check("spec.subnet=s", &["a", "b"]).await;
}
