//! Properties of server-side apply, for any objects in any order.

use serde_json::{Value, json};

use crate::json;
use crate::managed::{ListMeta, NotApplied, Versions, Write, applied, check_items};
use crate::schema::Schema;

/// A sequence of applies: the first line is a schema, each other line a manager, `!` if by force,
/// and an object. Applying again changes nothing; without force no other manager loses a field; and
/// the object has no fields beyond the applied ones.
///
/// # Panics
/// The property does not hold.
pub fn applies(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Some(Ok(json)) = lines.next().map(json::read) else { return };
    let Ok(schema) = Schema::parse(&json.value, "schema") else { return };
    let mut live: Option<Value> = None;
    let mut said = 0;
    let mut vague = false;
    for line in lines.take(8) {
        let Some((manager, force, object)) = application(line, &schema) else { continue };
        said += object.to_string().len();
        let write = Write {
            manager: &manager,
            subresource: None,
            api_version: "example.com/v1",
            now: "2026-01-01T00:00:00Z",
            versions: &SchemaRoot(&schema),
        };
        let new = match applied(live.as_ref(), &object, force, &[], &write) {
            Ok(new) => new,
            Err(NotApplied::Conflicts(conflicts)) => {
                assert!(!force && !conflicts.listed.is_empty(), "{conflicts:?}");
                continue;
            }
            Err(why) => panic!("objects with unique keys are applied: {why:?}"),
        };
        vague |= is_vague(&object);
        if !vague {
            assert_eq!(applied(Some(&new), &object, false, &[], &write).as_ref(), Ok(&new), "twice is once");
        }
        // Without any entries, the first apply attributes the live fields to a manager of earlier
        // writes.
        if let (false, Some(live)) =
            (force, live.as_ref().filter(|live| live["metadata"]["managedFields"].is_array()))
        {
            assert_eq!(entries(&new, &manager), entries(live, &manager), "others keep what they have");
        }
        let mut bare = new.clone();
        bare["metadata"].as_object_mut().and_then(|metadata| metadata.remove("managedFields"));
        assert!(bare.to_string().len() <= said, "{bare} is more than was applied");
        live = Some(new);
    }
}

struct SchemaRoot<'a>(&'a Schema);

impl Versions for SchemaRoot<'_> {
    fn lists(&self, _: &str) -> Option<&dyn ListMeta> {
        Some(self.0)
    }
}

/// Returns whether the object has an empty list or null, for which Kubernetes' merges are
/// order-dependent: an emptied list becomes null, one without an owner is empty, one that existed
/// stays; and so it does here.
fn is_vague(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() || fields.values().any(is_vague),
        Value::Array(items) => items.is_empty() || items.iter().any(is_vague),
        _ => false,
    }
}

/// Returns the managedFields entries of all managers but one.
fn entries<'a>(object: &'a Value, but: &str) -> Vec<&'a Value> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["manager"] != but).collect()
}

/// Parses a line, if a server would accept it this far.
fn application(line: &[u8], schema: &Schema) -> Option<(String, bool, Value)> {
    let (by, object) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
    let by = std::str::from_utf8(by).ok()?;
    let (manager, force) = by.strip_suffix('!').map_or((by, false), |manager| (manager, true));
    let mut object = json::read(object).ok()?.value;
    // The version and the metadata are judged before; names, labels and so on are as in any other object.
    let fields = object.as_object_mut()?;
    fields.insert("apiVersion".into(), "example.com/v1".into());
    fields.insert("kind".into(), "Thing".into());
    fields.insert("metadata".into(), json!({"name": "a"}));
    let fits = schema.unknown(&object).is_empty()
        && schema.validate(&object, None).is_empty()
        && check_items(&object, schema).is_ok();
    (fits && !manager.is_empty()).then(|| (manager.to_owned(), force, object))
}
