//! The types of kube as objects.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as SelectorSpec;
use kube_core::DynamicObject;
use kube_core::discovery::ApiResource;
use kube_core::metadata::PartialObjectMeta;
use machinery_objects::{
    Kind, LabelSelector, Labels, Object, ObjectKey, OwnerRef, ResourceVersion, Revision, Scope, Uid,
};
use serde::de::DeserializeOwned;
use serde_json::json;

const METADATA: &str = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
    "namespace": "lab", "name": "settings", "uid": "1-2-3", "resourceVersion": "17",
    "labels": {"tier": "front", "app": "web"}, "finalizers": ["example.com/hold"],
    "deletionTimestamp": "2026-11-21T09:30:38Z",
    "ownerReferences": [
        {"apiVersion": "net.example.com/v1", "kind": "Host", "name": "db", "uid": "9", "controller": true},
        {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": ""}]}}"#;

#[test]
fn p10_every_resource_of_kube_is_an_object() {
    fn check<K: Object + DeserializeOwned>() {
        let object: K = serde_json::from_str(METADATA).unwrap();
        assert_eq!(object.key(), "lab/settings".parse().unwrap());
        assert_eq!(object.version().and_then(|version| version.revision()), Some(Revision(17)));
        assert_eq!(object.labels().to_string(), "app=web,tier=front");
        assert_eq!((object.uid(), object.is_deleting()), (Some("1-2-3"), true));
        assert_eq!(object.finalizers(), ["example.com/hold"]);
        let host = Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced).unwrap();
        let owner = OwnerRef::owner(&host, &"db".parse().unwrap(), Uid::new("9").unwrap());
        assert_eq!(object.owners(), [OwnerRef { controller: true, ..owner }]);
    }
    check::<ConfigMap>();
    check::<DynamicObject>();
    check::<PartialObjectMeta<ConfigMap>>();
}

#[test]
fn p10_the_trace_is_read_from_the_annotation() {
    let check = |annotations: &str, expected: bool| {
        let text = format!(r#"{{"metadata": {{"annotations": {annotations}}}}}"#);
        let object: ConfigMap = serde_json::from_str(&text).unwrap();
        assert_eq!(object.traceparent().is_some(), expected, "{text}");
    };
    check(
        r#"{"machinery.dev/traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        true,
    );
    check(r#"{"machinery.dev/traceparent": "none"}"#, false);
    check(r#"{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#, false);
    check("null", false);
}

#[test]
fn p10_unusable_names_and_versions_are_absent() {
    let check = |metadata: &str, expected: Option<&str>| {
        let object: ConfigMap = serde_json::from_str(&format!(r#"{{"metadata": {metadata}}}"#)).unwrap();
        let key = expected.map_or_else(ObjectKey::unnamed, |text| text.parse().unwrap());
        assert_eq!((object.key(), object.version()), (key, None));
        assert!(object.labels().is_empty() && object.uid().is_none() && object.owners().is_empty());
        assert!(!object.is_deleting() && object.finalizers().is_empty());
    };
    check("{}", None);
    check(r#"{"generateName": "a-", "namespace": "lab"}"#, None);
    check(r#"{"name": ""}"#, None);
    check(r#"{"name": "lab/a", "resourceVersion": ""}"#, None);
    check(r#"{"name": "..", "namespace": "lab", "uid": ""}"#, None);
    check(r#"{"name": "a", "namespace": ""}"#, Some("a"));
}

/// A custom type, also one with a parameter, implements the trait beside all of kube's.
struct Entry<P>(ObjectKey, Arc<P>);

impl<P: Send + Sync + 'static> Object for Entry<P> {
    fn key(&self) -> ObjectKey {
        self.0.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        None
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

#[test]
fn p10_own_types_are_objects_beside_those_of_kube() {
    let entry = Entry("lab/a".parse().unwrap(), Arc::new(ConfigMap::default()));
    assert_eq!((entry.key().name(), entry.1.key().is_unnamed()), ("a", true));
    assert_eq!((entry.version(), entry.uid()), (None, None));
}

#[test]
fn types_and_discovered_resources_have_kinds() {
    assert_eq!(Kind::of::<ConfigMap>(), Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced));
    assert_eq!(Kind::of::<Node>(), Kind::new("v1", "Node", "nodes", Scope::Cluster));
    let resource = ApiResource::erase::<ConfigMap>(&());
    assert_eq!(Kind::of_resource(&resource, Scope::Namespaced), Kind::of::<ConfigMap>());
}

#[test]
fn label_selectors_of_specs_are_converted() {
    let check = |spec: &str, expected: Option<&str>| {
        let spec: SelectorSpec = serde_json::from_str(spec).unwrap();
        let selector = LabelSelector::try_from(&spec).ok().map(|selector| selector.to_string());
        assert_eq!(selector.as_deref(), expected);
    };
    check("{}", Some(""));
    check(
        r#"{"matchLabels": {"b": "x", "a": "y"}, "matchExpressions": [
            {"key": "c", "operator": "NotIn", "values": ["q", "p"]}, {"key": "d", "operator": "DoesNotExist"}]}"#,
        Some("a=y,b=x,c notin (p,q),!d"),
    );
    check(r#"{"matchExpressions": [{"key": "c", "operator": "In"}]}"#, None);
}

#[test]
fn p10_an_owner_is_written_as_it_was_read() {
    let owner = json!({
        "apiVersion": "net.example.com/v1", "kind": "Host", "name": "db-0", "uid": "1-2", "controller": true, "blockOwnerDeletion": true,
    });
    let object: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "a", "ownerReferences": [owner] } })).unwrap();
    let [read] = &*object.owners() else { panic!("it has an owner") };
    assert_eq!(object.metadata.owner_references, Some(vec![read.into()]));
}
