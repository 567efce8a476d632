//! Parses the operations of a JSON patch.

use serde_json::{Map, Value};

use super::limits::OPERATIONS;
use super::pointer::Pointer;
use crate::json::plain_type_name;
use crate::patch::refused::{rejected, too_large};
use crate::refusal::Refusal;

/// One operation of a JSON patch.
#[derive(Clone, Debug)]
pub(crate) struct PatchOperation {
    pub(super) path: Pointer,
    pub(super) act: Act,
    /// Names of unknown members, which strict field validation reports.
    pub(in crate::patch) unknown: Vec<String>,
}

/// The action. An omitted value is null, as in Kubernetes.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Add(Value),
    Remove,
    Replace(Value),
    Move { from: Pointer },
    Copy { from: Pointer },
    Test(Value),
}

const MEMBERS: [&str; 4] = ["op", "path", "from", "value"];

impl PatchOperation {
    pub(in crate::patch) fn list(body: &Value) -> Result<Vec<Self>, Refusal> {
        match body {
            Value::Array(items) if items.len() > OPERATIONS => {
                let said = "The allowed maximum operations in a JSON patch is";
                Err(too_large(format!("{said} {OPERATIONS}, got {}", items.len())))
            }
            Value::Array(items) => items.iter().map(Self::parse).collect(),
            Value::Null => Ok(Vec::new()),
            other => Err(mismatch(other, "Go value of type []handlers.jsonPatchOp")),
        }
    }

    fn parse(item: &Value) -> Result<Self, Refusal> {
        let Value::Object(members) = item else {
            return Err(mismatch(item, "Go value of type handlers.jsonPatchOp"));
        };
        let [op, path, from] = ["op", "path", "from"].map(|name| text(members, name));
        let (op, path, from) = (op?, path?, from?);
        let op = op.unwrap_or("unknown");
        let pointer = |name: &str, text: Option<&str>| {
            let text = text.ok_or_else(|| rejected(format!("operation {op:?} has no {name:?}")))?;
            Pointer::parse(text)
        };
        let value = || members.get("value").cloned().unwrap_or(Value::Null);
        let act = match op {
            "add" => Act::Add(value()),
            "remove" => Act::Remove,
            "replace" => Act::Replace(value()),
            "move" => Act::Move { from: pointer("from", from)? },
            "copy" => Act::Copy { from: pointer("from", from)? },
            "test" => Act::Test(value()),
            _ => return Err(rejected(format!("Unexpected kind: {op}"))),
        };
        let unknown = members.keys().filter(|name| !MEMBERS.contains(&name.as_str())).cloned().collect();
        Ok(Self { path: pointer("path", path)?, act, unknown })
    }
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Refusal> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(mismatch(other, &format!("Go struct field jsonPatchOp.{name} of type string"))),
    }
}

fn mismatch(value: &Value, into: &str) -> Refusal {
    let name = plain_type_name(value);
    Refusal::bad_request(format!("error decoding patch: json: cannot unmarshal {name} into {into}"))
}
