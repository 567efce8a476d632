//! Sets of fields as `FieldsV1` encodes them: a tree of path elements, where `.` marks an element
//! with children that is in the set itself.

use serde_json::{Map, Value, json};

use super::{FieldSet, PathElement};

/// The JSON is not a set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MalformedFields;

impl From<serde_json::Error> for MalformedFields {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

impl FieldSet {
    /// The set as `FieldsV1`.
    pub(crate) fn to_json(&self) -> Value {
        let mut tree = Map::new();
        for element in &self.members {
            tree.insert(element.to_text(), json!({}));
        }
        for (element, below) in &self.children {
            let mut below = below.to_json();
            if self.members.contains(element) {
                below["."] = json!({});
            }
            tree.insert(element.to_text(), below);
        }
        Value::Object(tree)
    }

    /// The set that a `FieldsV1` is. Steps that are not known are left out.
    pub(crate) fn from_json(fields: &Value) -> Result<Self, MalformedFields> {
        read(fields).map(|(set, _)| set)
    }
}

/// Returns the set below a path element, and whether the element itself is in the set.
fn read(fields: &Value) -> Result<(FieldSet, bool), MalformedFields> {
    let mut set = FieldSet::default();
    let mut member = false;
    let tree = match fields {
        Value::Null => return Ok((set, true)),
        Value::Object(tree) => tree,
        _ => return Err(MalformedFields),
    };
    for (text, below) in tree {
        if text == "." {
            member = true;
            continue;
        }
        let Some(element) = PathElement::parse(text)? else { continue };
        let (below, itself) = read(below)?;
        set.merge_child(element, below, itself);
    }
    let member = member || set.is_empty();
    Ok((set, member))
}
