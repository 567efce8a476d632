use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::Resource;
use kube_client::api::DynamicObject;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::*;
use crate::testing::Host;

const TEXT: &str = r#"{"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "managedFields": [{"manager": "m",
    "operation": "Update", "fieldsV1": {"f:spec": {"f:metadata": {"managedFields": {}}}}}], "namespace": "n",
    "resourceVersion": "7", "labels": {"managedFields": "l", "m\u0065tadata": "\u006c"}, "annotations": {"managedFields": "a"},
    "managed\u0046ields": [], "ownerReferences": [{"apiVersion": "v1", "kind": "O", "name": "o", "uid": "u"}],
    "creationTimestamp": "2026-11-22T10:00:00Z"},
    "spec": {"rack": 1, "containers": [{"name": "c"}], "metadata": {"managedFields": [1]}}, "managedFields": 3,
    "status": {"managedFields": "s"}, "data": {"managedFields": "d", "metadata": "{\"managedFields\": []}"}}"#;

/// Decodes from a text, from a reader and from a value.
fn read<O: DeserializeOwned + PartialEq + Debug>(text: &str) -> Result<O, String> {
    let read: WithoutManagedFields<O> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    assert_eq!(serde_json::from_reader::<_, WithoutManagedFields<O>>(text.as_bytes()).unwrap(), read);
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_value::<WithoutManagedFields<O>>(value).unwrap(), read);
    Ok(read.0)
}

fn without(mut object: Value) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

/// Checks that a type decodes as from a text without managed fields.
fn check<O: DeserializeOwned + PartialEq + Debug>() {
    let slim: O = read(TEXT).unwrap();
    let cleared: O = serde_json::from_value(without(serde_json::from_str(TEXT).unwrap())).unwrap();
    assert_eq!(slim, cleared);
}

#[test]
fn custom_metadata_loses_managed_fields_in_every_format() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Own {
        #[serde(deserialize_with = "crate::metadata_without_managed_fields")]
        metadata: ObjectMeta,
        spec: Value,
    }
    let own: Own = serde_json::from_str(TEXT).unwrap();
    let whole: Value = serde_json::from_str(TEXT).unwrap();
    assert_eq!(serde_json::from_value::<Own>(whole.clone()).unwrap(), own);
    assert_eq!(serde_json::from_reader::<_, Own>(TEXT.as_bytes()).unwrap(), own);
    let mut metadata: ObjectMeta = serde_json::from_value(whole["metadata"].clone()).unwrap();
    assert!(metadata.managed_fields.take().is_some());
    assert_eq!((own.metadata, own.spec), (metadata, whole["spec"].clone()));
}

#[test]
fn a_type_of_kube_equals_one_with_cleared_managed_fields() {
    fn check<K: Resource<DynamicType = ()> + DeserializeOwned + PartialEq + Debug>() {
        let text = TEXT.replace("Thing", &K::kind(&()));
        let mut whole: K = serde_json::from_str(&text).unwrap();
        whole.meta_mut().managed_fields.take().expect("it had some");
        assert_eq!(read::<K>(&text), Ok(whole));
    }
    check::<ConfigMap>();
    check::<Pod>();
    check::<Node>();
    let slim: DynamicObject = read(TEXT).unwrap();
    assert_eq!((slim.metadata.managed_fields, &slim.data["managedFields"]), (None, &json!(3)));
    assert_eq!(slim.metadata.annotations.unwrap()["managedFields"], "a");
}

#[derive(Debug, Deserialize, PartialEq)]
struct Flat {
    kind: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct FlatMetadata {
    metadata: Named,
    #[serde(flatten)]
    rest: Value,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Named {
    name: Option<Box<str>>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Newtype(Option<Optional>);

#[derive(Debug, Deserialize, PartialEq)]
struct Optional {
    metadata: Option<Fields>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Fields(BTreeMap<Field, Value>);

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Field(Option<FieldName>);

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
enum FieldName {
    Name,
    Namespace,
    ResourceVersion,
    Labels,
    Annotations,
    OwnerReferences,
    CreationTimestamp,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    No { never: u8 },
    Yes { metadata: Value, spec: Value },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    Thing { metadata: Value, data: Value },
}

#[test]
fn every_shape_of_type_loses_managed_fields() {
    check::<Value>();
    check::<Map<String, Value>>();
    check::<Flat>();
    check::<FlatMetadata>();
    check::<Newtype>();
    check::<Untagged>();
    check::<Tagged>();
    check::<Host>();
}

#[test]
fn managed_fields_are_not_decoded() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Whole {
        metadata: OwnMetadata,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct OwnMetadata {
        #[serde(default)]
        managed_fields: Option<Never>,
    }
    #[derive(Debug, PartialEq)]
    struct Never;
    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("nobody reads it")
        }
    }
    let text = r#"{"metadata": {"managedFields": [{"a": 1}]}}"#;
    assert_eq!(read(text), Ok(Whole { metadata: OwnMetadata { managed_fields: None } }));
}

#[test]
fn texts_are_still_borrowed() {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        #[serde(borrow)]
        metadata: BTreeMap<&'a str, Cow<'a, RawValue>>,
        kind: &'a str,
    }
    let read: WithoutManagedFields<Borrowed<'_>> =
        serde_json::from_str(r#"{"kind": "K", "metadata": {"managedFields": [], "name": "a"}}"#).unwrap();
    assert_eq!(read.kind, "K");
    assert_eq!(
        read.metadata.iter().map(|(key, value)| (*key, value.get())).collect::<Vec<_>>(),
        [("name", "\"a\"")]
    );
}

#[test]
fn values_other_than_maps_are_unchanged() {
    for text in [
        r#"{"metadata": 1}"#,
        r#"{"metadata": ["managedFields"]}"#,
        r#"{"metadata": null}"#,
        "3",
        "[{}]",
        "{}",
    ] {
        assert_eq!(read::<Value>(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}

#[test]
fn errors_are_those_of_the_type() {
    for text in [
        r#"{"metadata": {"name": 1, "managedFields": []}}"#,
        r#"{"metadata": {"managedFields": []}, "spec": {"rack": "high"}}"#,
        r#"{"metadata": {"managedFields": []}}"#,
        r#"{"metadata": {"managedFields": [}}"#,
        r#"{"metadata": {"managedFields": [{"#,
        r#"{"metadata": {"name": "a"}, "metadata": {}}"#,
        r#"{"metadata": 1}"#,
        "3",
        "",
    ] {
        let whole = serde_json::from_str::<Host>(text).unwrap_err().to_string();
        assert_eq!(read::<Host>(text), Err(whole));
    }
}

#[test]
fn it_is_serialized_unchanged() {
    let slim: WithoutManagedFields<DynamicObject> = serde_json::from_str(TEXT).unwrap();
    assert_eq!(serde_json::to_value(&slim).unwrap(), serde_json::to_value(&slim.0).unwrap());
    assert!(serde_json::to_value(&slim).unwrap()["metadata"].get("managedFields").is_none());
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|halves| Value::from(f64::from(halves) / 2.0)),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inside| {
        let key = prop_oneof![Just("metadata".to_owned()), Just("managedFields".to_owned()), ".{0,3}"];
        prop_oneof![
            3 => prop::collection::btree_map(key, inside.clone(), 0..6).prop_map(|map| map.into_iter().collect()),
            1 => prop::collection::vec(inside, 0..4).prop_map(Value::from),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_loses_its_managed_fields_and_nothing_else(object in json(), metadata in json(), inside: bool) {
        let mut object = object;
        if let (true, Value::Object(object)) = (inside, &mut object) {
            object.insert("metadata".into(), metadata);
        }
        prop_assert_eq!(read::<Value>(&object.to_string()), Ok(without(object)));
    }
}
