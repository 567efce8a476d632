use kube_core::{CustomResourceExt, Resource};
use serde_json::{Value, json};

use crate::SectionWrites;

const GROUP: &str = "example.com";

crate::kinds! {
    /// A port of a switch.
    #[kind(
        group = GROUP, version = "v1", namespaced, served = "v1beta1", deprecated = "v1beta1",
        shortname = "pt", category = "all", category = "net", selectable = ".spec.nodeName",
        column("Node", ".spec.nodeName"), column("Since", ".status.since"), wide_column("Up", ".status.isUp"),
        column("Ready", ".status.conditions[?(@.type==\"Ready\")].status"),
        immutable = ".spec.nodeName", immutable = ".spec.namespace",
        rule(".spec.vlans[]", "self > 0", "is positive"), rule(".spec", "self.vlans.size() < 9", "too many"),
        sections = ".extendedMetadata", section("spec", [".spec"]), section("link", [".status.isUp"]),
    )]
    #[derive(PartialEq)]
    struct Port {
        /// The desired state.
        pub spec: SwitchPortSpec,
        /// The observed state.
        #[serde(default, skip_serializing_if = "SwitchPortStatus::is_empty")]
        pub status: SwitchPortStatus,
        /// The write times.
        #[serde(default, skip_serializing_if = "SectionWrites::is_empty")]
        pub extended_metadata: SectionWrites,
    }

    #[derive(PartialEq)]
    struct SwitchPortSpec {
        /// The node.
        ///
        /// More about it.
        node_name: String,
        #[serde(default)]
        namespace: Option<String>,
        #[serde(default)]
        vlans: Vec<u16>,
        mode: PortMode,
        #[serde(default)]
        tuning: Tuning,
        source: Option<Source>,
    }

    #[derive(Default, PartialEq)]
    struct SwitchPortStatus {
        /// Whether frames pass.
        #[serde(default)]
        is_up: bool,
        #[serde(default)]
        since: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,
        #[serde(default)]
        conditions: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>,
    }

    #[derive(PartialEq)]
    enum PortMode {
        Access,
        /// Tagged frames.
        TrunkOnly,
    }

    #[serde(default, rename_all = "kebab-case")]
    #[derive(Default, PartialEq)]
    struct Tuning {
        max_frame: u16,
    }

    #[derive(PartialEq)]
    enum Source {
        ConfigMap { map_name: String },
    }

    #[serde(tag = "type")]
    #[derive(PartialEq)]
    enum Action {
        DropFrame,
        SetMark { mark_value: u32 },
    }

    #[serde(rename_all = "lowercase")]
    enum Speed { Fast }
}

mod snake {
    crate::kinds! {
        #![rename_all = "snake_case"]

        #[kind(group = "example.com", version = "v1", cluster, kind_name = "Link", plural = "linkage")]
        pub(super) struct SnakeLink {
            #[serde(default)]
            pub(super) metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            pub(super) spec: LinkSpec,
        }
        pub(super) struct LinkSpec {
            pub(super) max_frame: u16,
        }

        #[kube(group = "example.com", version = "v1", kind = "Cable")]
        pub(super) struct CableSpec {
            pub(super) max_length: u16,
        }
    }
}

impl SwitchPortStatus {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn port() -> Port {
    let spec = SwitchPortSpec {
        node_name: "n1".into(),
        namespace: None,
        vlans: vec![7],
        mode: PortMode::TrunkOnly,
        tuning: Tuning { max_frame: 1500 },
        source: Some(Source::ConfigMap { map_name: "c".into() }),
    };
    Port::named("default", "p", spec)
}

fn definition() -> Value {
    serde_json::to_value(Port::crd()).unwrap()
}

#[test]
fn objects_have_their_type_and_all_top_level_fields() {
    let mut port = port();
    port.extended_metadata.write("spec", jiff::Timestamp::UNIX_EPOCH);
    let json = serde_json::to_value(&port).unwrap();
    assert_eq!(
        json,
        json!({
            "apiVersion": "example.com/v1", "kind": "Port",
            "metadata": {"namespace": "default", "name": "p"},
            "spec": {
                "nodeName": "n1", "namespace": null, "vlans": [7], "mode": "TrunkOnly",
                "tuning": {"max-frame": 1500}, "source": {"configMap": {"mapName": "c"}},
            },
            "extendedMetadata": {"writes": [{"section": "spec", "serverTime": "1970-01-01T00:00:00.000000Z"}]},
        })
    );
    assert_eq!(serde_json::from_value::<Port>(json).unwrap(), port);
    assert_eq!(serde_json::to_value(Speed::Fast).unwrap(), "fast");
    let actions = [Action::DropFrame, Action::SetMark { mark_value: 7 }];
    let expected = json!([{"type": "DropFrame"}, {"type": "SetMark", "markValue": 7}]);
    assert_eq!(serde_json::to_value(&actions).unwrap(), expected);
    assert_eq!(serde_json::from_value::<[Action; 2]>(expected).unwrap(), actions);
}

#[test]
fn a_block_has_a_case_of_fields() {
    let link = snake::SnakeLink::named("l", snake::LinkSpec { max_frame: 9000 });
    let json = serde_json::to_value(&link).unwrap();
    assert_eq!((&json["spec"], &json["kind"]), (&json!({"max_frame": 9000}), &"Link".into()));
    assert_eq!(json["apiVersion"], "example.com/v1");
    assert_eq!(snake::SnakeLink::crd_name(), "linkage.example.com");
    let schema = serde_json::to_value(snake::SnakeLink::crd()).unwrap();
    let fields = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert!(fields["spec"]["properties"]["max_frame"].is_object(), "{fields}");
    let cable = snake::Cable::new("c", snake::CableSpec { max_length: 3 });
    assert_eq!(serde_json::to_value(cable).unwrap()["spec"], json!({"max_length": 3}));
}

#[test]
fn the_definition_has_every_option() {
    let crd = definition();
    assert_eq!(crd["metadata"]["name"], "ports.example.com");
    let spec = &crd["spec"];
    assert_eq!((&spec["group"], &spec["scope"]), (&"example.com".into(), &"Namespaced".into()));
    let names = json!({
        "kind": "Port", "listKind": "PortList", "plural": "ports", "singular": "port",
        "shortNames": ["pt"], "categories": ["all", "net"],
    });
    assert_eq!(spec["names"], names);
    assert_eq!((Port::plural(&()), Port::shortnames()), ("ports".into(), &["pt"][..]));
    let [v1, v1beta1] = spec["versions"].as_array().unwrap().as_slice() else { panic!("{spec}") };
    assert_eq!((&v1["name"], &v1["storage"]), (&"v1".into(), &true.into()));
    assert_eq!((&v1beta1["name"], &v1beta1["storage"]), (&"v1beta1".into(), &false.into()));
    assert_eq!((v1.get("deprecated"), &v1beta1["deprecated"]), (None, &true.into()));
    for same in ["schema", "subresources", "additionalPrinterColumns", "selectableFields", "served"] {
        assert_eq!(v1[same], v1beta1[same]);
    }
    assert_eq!(v1["subresources"], json!({"status": {}}));
    assert_eq!(v1["selectableFields"], json!([{"jsonPath": ".spec.nodeName"}]));
}

#[test]
fn columns_have_the_type_and_description_of_their_field() {
    let columns = &definition()["spec"]["versions"][0]["additionalPrinterColumns"];
    let expected = json!([
        {"name": "Node", "type": "string", "jsonPath": ".spec.nodeName", "description": "The node."},
        {"name": "Since", "type": "date", "jsonPath": ".status.since"},
        {"name": "Up", "type": "boolean", "jsonPath": ".status.isUp", "priority": 1, "description": "Whether frames pass."},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    for (column, expected) in columns.as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        for field in ["name", "type", "jsonPath", "priority"] {
            assert_eq!(column.get(field), expected.get(field), "{column}");
        }
        let described = expected.get("description");
        assert!(described.is_none() || column.get("description") == described, "{column}");
    }
    assert_eq!(columns.as_array().unwrap().len(), 5);
}

#[test]
fn rules_are_at_their_fields() {
    let crd = definition();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let rules = |at: &str| {
        let rules = &schema.pointer(at).unwrap()["x-kubernetes-validations"];
        let rules = rules.as_array().unwrap().iter();
        rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rules("/properties/spec/properties/nodeName"), ["self == oldSelf"]);
    assert_eq!(rules("/properties/spec/properties/vlans/items"), ["self > 0"]);
    let optional = "has(self.__namespace__) == has(oldSelf.__namespace__) && \
                    (!has(self.__namespace__) || self.__namespace__ == oldSelf.__namespace__)";
    assert_eq!(rules("/properties/spec"), [optional, "self.vlans.size() < 9"]);
    let writes = &schema["properties"]["extendedMetadata"]["properties"]["writes"];
    assert_eq!(writes["x-kubernetes-list-map-keys"], json!(["section"]));
    assert_eq!(
        crd["metadata"]["annotations"]["machinery.dev/sections"].as_str().unwrap(),
        r#"{"at":".extendedMetadata","sections":[{"name":"spec","paths":[".spec"]},{"name":"link","paths":[".status.isUp"]}]}"#
    );
}
