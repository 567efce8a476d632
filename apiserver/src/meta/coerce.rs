//! Decodes metadata: fields of known types, and no others.

use serde_json::{Map, Value};

use super::time;
use crate::bounded::short;
use crate::json::type_name;

/// Metadata of known fields only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coerced {
    /// The metadata without empty values: nulls, empty strings, empty lists.
    pub(crate) meta: Map<String, Value>,
    /// The paths of the unknown fields that were dropped: `metadata.labelz`.
    pub(crate) unknown: Vec<String>,
}

/// Checks the types of metadata, and drops unknown fields, as Go's decoder does.
///
/// An error has Go's wording of the wrong type; the caller adds the kind around it
/// ([`crate::request::cannot_be_handled`]).
pub(crate) fn coerce(metadata: &Value) -> Result<Coerced, String> {
    let mut unknown = Vec::new();
    let meta = match metadata {
        Value::Null => Map::new(),
        Value::Object(map) => record(map, &OBJECT, "", &mut unknown)?,
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                type_name(other)
            ));
        }
    };
    let unknown = unknown.into_iter().map(|path| format!("metadata.{path}")).collect();
    Ok(Coerced { meta, unknown })
}

/// Maximum number of unknown fields in a warning or refusal.
const MAX_UNKNOWN: usize = 100;

/// A type of Go, as its errors name it, and its fields.
struct RecordType {
    name: &'static str,
    fields: &'static [(&'static str, FieldType)],
}

#[derive(Clone, Copy)]
enum FieldType {
    /// A text with Go's name of its type; always written, or only if not empty.
    Text(&'static str),
    FullText(&'static str),
    Whole,
    /// An integer that is kept even if it is zero.
    FullWhole,
    Truth,
    Time,
    Texts,
    TextMap,
    Records(&'static str, &'static RecordType),
    Anything,
}

const OBJECT: RecordType = RecordType {
    name: "ObjectMeta",
    fields: &[
        ("annotations", FieldType::TextMap),
        ("creationTimestamp", FieldType::Time),
        ("deletionGracePeriodSeconds", FieldType::FullWhole),
        ("deletionTimestamp", FieldType::Time),
        ("finalizers", FieldType::Texts),
        ("generateName", FieldType::Text("string")),
        ("generation", FieldType::Whole),
        ("labels", FieldType::TextMap),
        ("managedFields", FieldType::Records("[]v1.ManagedFieldsEntry", &MANAGED)),
        ("name", FieldType::Text("string")),
        ("namespace", FieldType::Text("string")),
        ("ownerReferences", FieldType::Records("[]v1.OwnerReference", &OWNER)),
        ("resourceVersion", FieldType::Text("string")),
        ("selfLink", FieldType::Text("string")),
        ("uid", FieldType::Text("types.UID")),
    ],
};

const OWNER: RecordType = RecordType {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", FieldType::FullText("string")),
        ("blockOwnerDeletion", FieldType::Truth),
        ("controller", FieldType::Truth),
        ("kind", FieldType::FullText("string")),
        ("name", FieldType::FullText("string")),
        ("uid", FieldType::FullText("types.UID")),
    ],
};

const MANAGED: RecordType = RecordType {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", FieldType::Text("string")),
        ("fieldsType", FieldType::Text("string")),
        ("fieldsV1", FieldType::Anything),
        ("manager", FieldType::Text("string")),
        ("operation", FieldType::Text("v1.ManagedFieldsOperationType")),
        ("subresource", FieldType::Text("string")),
        ("time", FieldType::Time),
    ],
};

fn record(
    map: &Map<String, Value>,
    record: &RecordType,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<Map<String, Value>, String> {
    let mut made = Map::new();
    for (key, kind) in record.fields {
        if let FieldType::FullText(_) = kind {
            made.insert((*key).to_owned(), "".into());
        }
    }
    // In the order of the keys: of several wrong types the first is reported.
    for (key, value) in map {
        let Some((_, kind)) = record.fields.iter().find(|(known, _)| known == key) else {
            if unknown.len() < MAX_UNKNOWN {
                unknown.push(format!("{path}{}", short(key)));
            }
            continue;
        };
        let place = FieldPosition { record: record.name, path: format!("{path}{key}") };
        if let Some(value) = coerced(value, *kind, &place, unknown)? {
            made.insert(key.clone(), value);
        }
    }
    Ok(made)
}

/// The position of a value, in Go's notation.
struct FieldPosition {
    record: &'static str,
    path: String,
}

impl FieldPosition {
    fn wrong(&self, value: &Value, expected: &str) -> String {
        let (found, Self { record, path }) = (type_name(value), self);
        // Indexes of lists are not part of the path.
        let path: String =
            path.split('[').map(|part| part.split_once(']').map_or(part, |(_, after)| after)).collect();
        format!("json: cannot unmarshal {found} into Go struct field {record}.{path} of type {expected}")
    }
}

/// Returns the normalized value; `None` if it is empty.
fn coerced(
    value: &Value,
    kind: FieldType,
    place: &FieldPosition,
    unknown: &mut Vec<String>,
) -> Result<Option<Value>, String> {
    if value.is_null() {
        return Ok(None);
    }
    match (kind, value) {
        (FieldType::Text(_) | FieldType::FullText(_), Value::String(text)) => {
            Ok((!text.is_empty()).then(|| value.clone()))
        }
        (FieldType::Text(name) | FieldType::FullText(name), _) => Err(place.wrong(value, name)),
        (FieldType::Whole | FieldType::FullWhole, _) => match value.as_i64() {
            Some(0) if matches!(kind, FieldType::Whole) => Ok(None),
            Some(_) => Ok(Some(value.clone())),
            None => Err(place.wrong(value, "int64")),
        },
        (FieldType::Truth, Value::Bool(_)) | (FieldType::Anything, _) => Ok(Some(value.clone())),
        (FieldType::Truth, _) => Err(place.wrong(value, "bool")),
        (FieldType::Time, Value::String(text)) => Ok(time::read(text)?.map(Value::from)),
        (FieldType::Time, _) => Err(place.wrong(value, "string")),
        (FieldType::Texts, Value::Array(items)) => {
            let items = items.iter().map(|item| text(item, place)).collect::<Result<Vec<_>, _>>()?;
            Ok((!items.is_empty()).then_some(Value::Array(items)))
        }
        (FieldType::Texts, _) => Err(place.wrong(value, "[]string")),
        (FieldType::TextMap, Value::Object(map)) => {
            let map = map.iter().map(|(key, item)| Ok((key.clone(), text(item, place)?)));
            let map = map.collect::<Result<Map<_, _>, String>>()?;
            Ok((!map.is_empty()).then_some(Value::Object(map)))
        }
        (FieldType::TextMap, _) => Err(place.wrong(value, "map[string]string")),
        (FieldType::Records(_, of), Value::Array(items)) => {
            let nothing = Map::new();
            let items = items.iter().enumerate().map(|(at, item)| match item {
                Value::Null => record(&nothing, of, "", unknown).map(Value::Object),
                Value::Object(map) => {
                    record(map, of, &format!("{}[{at}].", place.path), unknown).map(Value::Object)
                }
                other => Err(place.wrong(other, &format!("v1.{}", of.name))),
            });
            let items = items.collect::<Result<Vec<_>, _>>()?;
            Ok((!items.is_empty()).then_some(Value::Array(items)))
        }
        (FieldType::Records(name, _), _) => Err(place.wrong(value, name)),
    }
}

fn text(item: &Value, place: &FieldPosition) -> Result<Value, String> {
    match item {
        Value::String(_) => Ok(item.clone()),
        Value::Null => Ok("".into()),
        other => Err(place.wrong(other, "string")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(metadata: Value, expected: Value, unknown: &[&str]) {
        let coerced = coerce(&metadata).unwrap();
        assert_eq!(
            (Value::Object(coerced.meta.clone()), coerced.unknown),
            (expected.clone(), unknown.iter().map(ToString::to_string).collect())
        );
        assert_eq!(Value::Object(coerce(&expected).unwrap().meta), expected);
    }

    fn refused(metadata: Value, why: &str) {
        assert_eq!(coerce(&metadata), Err(why.to_owned()));
    }

    #[test]
    fn known_fields_are_kept() {
        let whole = json!({
            "name": "a", "generateName": "g", "namespace": "n", "selfLink": "s", "uid": "u", "resourceVersion": "1",
            "generation": 2, "creationTimestamp": "2026-11-21T09:30:38Z", "deletionTimestamp": "2026-11-21T09:30:38Z",
            "deletionGracePeriodSeconds": 0, "labels": {"a": "b"}, "annotations": {"c": ""},
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": false,
                                 "blockOwnerDeletion": true}],
            "finalizers": ["f"],
            "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "2026-11-21T09:30:38Z",
                               "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}, "subresource": "status"}],
        });
        check(whole.clone(), whole, &[]);
        check(Value::Null, json!({}), &[]);
    }

    #[test]
    fn empty_values_are_dropped() {
        check(
            json!({"name": "", "labels": {}, "annotations": null, "finalizers": [], "creationTimestamp": null, "generation": 0,
                   "ownerReferences": [], "managedFields": [], "deletionTimestamp": "0001-01-01T00:00:00Z"}),
            json!({}),
            &[],
        );
        check(
            json!({"labels": {"a": null}, "finalizers": [null]}),
            json!({"labels": {"a": ""}, "finalizers": [""]}),
            &[],
        );
        let nobody = json!({"apiVersion": "", "kind": "", "name": "", "uid": ""});
        check(json!({"ownerReferences": [null, {}]}), json!({"ownerReferences": [nobody, nobody]}), &[]);
    }

    #[test]
    fn unknown_fields_are_dropped_and_reported() {
        check(
            json!({"Name": "a", "clusterName": "c", "ownerReferences": [{"uid": "u", "x": 1}], "managedFields": [{"y": 1}]}),
            json!({"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": "u"}], "managedFields": [{}]}),
            &[
                "metadata.Name",
                "metadata.clusterName",
                "metadata.managedFields[0].y",
                "metadata.ownerReferences[0].x",
            ],
        );
    }

    #[test]
    fn times_are_normalized() {
        check(
            json!({"creationTimestamp": "2026-11-21T09:30:38.941890+01:00"}),
            json!({"creationTimestamp": "2026-11-21T08:30:38Z"}),
            &[],
        );
        assert!(
            coerce(&json!({"deletionTimestamp": "soon"})).unwrap_err().starts_with("parsing time \"soon\"")
        );
        refused(
            json!({"creationTimestamp": 1}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
        );
    }

    #[test]
    fn wrong_types() {
        let field = |found: &str, path: &str, expected: &str| {
            format!("json: cannot unmarshal {found} into Go struct field {path} of type {expected}")
        };
        refused(json!("x"), "json: cannot unmarshal string into Go value of type v1.ObjectMeta");
        refused(json!({"name": 1}), &field("number", "ObjectMeta.name", "string"));
        refused(json!({"uid": []}), &field("array", "ObjectMeta.uid", "types.UID"));
        refused(json!({"generation": 1.5}), &field("number 1.5", "ObjectMeta.generation", "int64"));
        refused(json!({"labels": {"a": 1}}), &field("number", "ObjectMeta.labels", "string"));
        refused(json!({"annotations": []}), &field("array", "ObjectMeta.annotations", "map[string]string"));
        refused(json!({"finalizers": "x"}), &field("string", "ObjectMeta.finalizers", "[]string"));
        refused(json!({"finalizers": [{}]}), &field("object", "ObjectMeta.finalizers", "string"));
        refused(
            json!({"ownerReferences": [1]}),
            &field("number", "ObjectMeta.ownerReferences", "v1.OwnerReference"),
        );
        refused(
            json!({"ownerReferences": [{"uid": 1}]}),
            &field("number", "OwnerReference.ownerReferences.uid", "types.UID"),
        );
        refused(
            json!({"ownerReferences": [{"controller": "x"}]}),
            &field("string", "OwnerReference.ownerReferences.controller", "bool"),
        );
        refused(
            json!({"managedFields": {}}),
            &field("object", "ObjectMeta.managedFields", "[]v1.ManagedFieldsEntry"),
        );
    }

    proptest::proptest! {
        #[test]
        fn decoding_metadata_is_idempotent(key in "name|labels|ownerReferences|finalizers|x|managedFields|generation|creationTimestamp",
                                    json in r#"null|1|""|"a"|\[\]|\{\}|\["a"\]|\{"a":"b"\}|\[\{"uid":"u","z":1\}\]|\[\{"time":null\}\]"#) {
            let metadata = serde_json::from_str::<Value>(&format!("{{\"{key}\":{json}}}")).unwrap();
            if let Ok(once) = coerce(&metadata) {
                let twice = coerce(&Value::Object(once.meta.clone())).unwrap();
                proptest::prop_assert_eq!(twice, Coerced { meta: once.meta, unknown: Vec::new() });
            }
        }
    }
}
