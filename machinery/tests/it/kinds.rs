//! Kinds of the macro on a server: all options, and mistakes in them.

use machinery::apiserver::{ApiServer, Identity, KindOf};
use machinery::kube_core::CustomResourceExt;
use machinery::objects::{
    FieldTerm, Filter, Kind, ListRequest, ListWatch, Object, Preconditions, Writer, Written,
};
use machinery::serde_json::{Value, json};
use machinery::store::{Memory, Options};
use machinery::{Conditions, SectionWrites};

const GROUP: &str = "example.com";

machinery::kinds! {
    #![rename_all = "snake_case"]

    /// A disk of a host.
    #[kind(
        group = GROUP, version = "v1", namespaced, served = "v1beta1", deprecated = "v1beta1",
        shortname = "dk", category = "all", selectable = ".spec.node_name",
        column("Node", ".spec.node_name"), column("Used", ".status.used_bytes"),
        immutable = ".spec.node_name", immutable = ".spec.pool",
        rule(".spec.size_bytes", "self > 0", "a disk is not empty"),
        sections = ".writes", section("spec", [".spec"]), section("used", [".status.used_bytes"]),
    )]
    #[derive(PartialEq)]
    pub(crate) struct Disk {
        pub(crate) spec: DiskSpec,
        #[serde(default)]
        pub(crate) status: DiskStatus,
        #[serde(default)]
        pub(crate) writes: SectionWrites,
    }

    #[derive(PartialEq)]
    pub(crate) struct DiskSpec {
        pub(crate) node_name: String,
        pub(crate) size_bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) pool: Option<String>,
    }

    #[derive(Default, PartialEq)]
    pub(crate) struct DiskStatus {
        #[serde(default)]
        pub(crate) used_bytes: u64,
        #[serde(default)]
        pub(crate) note: String,
        #[serde(default, skip_serializing_if = "Conditions::is_empty")]
        pub(crate) conditions: Conditions,
    }
}

mod mistaken {
    machinery::kinds! {
        #[kind(group = "example.com", version = "v1", cluster, column("Size", ".spec.sise"))]
        pub(super) struct Column {
            spec: SizeSpec,
        }
        #[kind(group = "example.com", version = "v1", cluster, rule(".spec.sise", "self > 0", "positive"))]
        pub(super) struct Ruled {
            spec: SizeSpec,
        }
        #[kind(group = "example.com", version = "v1", cluster, immutable = ".spec.sise")]
        pub(super) struct Fixed {
            spec: SizeSpec,
        }
        #[kind(group = "example.com", version = "v1", cluster, selectable = ".spec.sise")]
        pub(super) struct Selected {
            spec: SizeSpec,
        }
        #[kind(group = "example.com", version = "v1", cluster, section("size", [".spec.size"]))]
        pub(super) struct Sectioned {
            spec: SizeSpec,
        }
        pub(super) struct SizeSpec {
            size: u32,
        }
    }
}

pub(crate) fn disk(name: &str, node_name: &str) -> Disk {
    Disk::named("default", name, DiskSpec { node_name: node_name.into(), size_bytes: 7, pool: None })
}

fn sections(disk: &Disk) -> Vec<&str> {
    disk.writes.writes.iter().map(|write| write.section.as_str()).collect()
}

/// The kind on an embedded server, and its definition on a server of definitions only.
pub(crate) async fn servers() -> [ApiServer; 2] {
    let builder = || ApiServer::builder(Memory::new(Options::default()));
    let definition = machinery::serde_json::to_value(Disk::crd()).unwrap();
    [
        builder().kind(KindOf::<Disk>::new()).start().await.unwrap(),
        builder().crds([definition]).start().await.unwrap(),
    ]
}

#[tokio::test]
async fn p18_one_source_defines_a_kind_for_this_server_and_any_cluster() {
    for server in servers().await {
        let disks = server.handle::<Disk>(Identity::admin());
        let made = disks.create(&disk("a", "n1"), None).await.unwrap().object;
        disks.create(&disk("b", "n2"), None).await.unwrap();
        let refused = |error: Result<_, machinery::objects::WriteError>| match error {
            Err(error) => error.to_string(),
            Ok(Written { object, .. }) => panic!("{object:?}"),
        };
        let mut moved = made.clone();
        moved.spec.node_name = "n2".into();
        let error = refused(disks.update(&moved, &Preconditions::default()).await);
        assert!(
            error.contains("spec.node_name: Invalid value: \"n2\": attempt to update immutable field"),
            "{error}"
        );
        let mut pooled = made.clone();
        pooled.spec.pool = Some("fast".into());
        let error = refused(disks.update(&pooled, &Preconditions::default()).await);
        assert!(error.contains("pool: attempt to update immutable field"), "{error}");
        let mut empty = disk("c", "n1");
        empty.spec.size_bytes = 0;
        let error = refused(disks.create(&empty, None).await);
        assert!(error.contains("spec.size_bytes: Invalid value: 0: a disk is not empty"), "{error}");

        let selected = FieldTerm::equals("spec.node_name", "n2").unwrap();
        let filter = Filter { fields: [selected].into_iter().collect(), ..Filter::default() };
        let plane_kind = Kind::of::<Disk>().unwrap();
        let of_n2 = ListRequest { filter, ..ListRequest::default() };
        let source = server.handle_of::<Disk>(plane_kind, Identity::admin());
        let listed = source.list(of_n2).await.unwrap();
        let names: Vec<_> = listed.items.iter().map(|object| object.key().name().to_owned()).collect();
        assert_eq!(names, ["b"]);
        let old =
            Kind::new("example.com/v1beta1", "Disk", "disks", machinery::objects::Scope::Namespaced).unwrap();
        let old = server.handle_of::<Value>(old, Identity::admin());
        let key = "default/a".parse().unwrap();
        let same = old.get(&key, machinery::objects::Freshness::Newest).await.unwrap().unwrap();
        assert_eq!(same["spec"], json!({"node_name": "n1", "size_bytes": 7}));
        server.stop().await;
    }
}

#[tokio::test]
async fn p18_an_embedded_server_stamps_the_sections_of_a_kind() {
    let [server, other] = servers().await;
    let disks = server.handle::<Disk>(Identity::admin());
    let mut forged = disk("a", "n1");
    forged.writes.write("used", machinery::k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    forged.status.used_bytes = 3;
    let mut made = disks.create(&forged, None).await.unwrap().object;
    assert_eq!((sections(&made), made.status.used_bytes), (vec!["spec"], 0));
    made.status.note = "no section".into();
    let made = disks.update_status(&made, &Preconditions::default()).await.unwrap().object;
    assert_eq!(sections(&made), ["spec"]);
    let mut used = made.clone();
    used.status.used_bytes = 3;
    let used = disks.update_status(&used, &Preconditions::default()).await.unwrap().object;
    assert_eq!(sections(&used), ["used", "spec"]);
    assert_eq!(used.writes.written("spec"), made.writes.written("spec"));
    assert!(used.writes.written("used") > used.writes.written("spec"));
    server.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn p18_a_path_to_an_unknown_field_is_an_error_at_the_start() {
    async fn check<K>(expected: &str)
    where
        K: CustomResourceExt + machinery::serde::Serialize + machinery::serde::de::DeserializeOwned,
        K: Send + Sync + 'static,
    {
        let server =
            ApiServer::builder(Memory::new(Options::default())).kind(KindOf::<K>::new()).start().await;
        let error = server.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    check::<mistaken::Column>("the kind has no field .spec.sise").await;
    check::<mistaken::Ruled>("undefined field 'sise'").await;
    check::<mistaken::Fixed>("undefined field 'sise'").await;
    check::<mistaken::Selected>(".spec.sise").await;
    check::<mistaken::Sectioned>("machinery.dev/sections").await;
}
