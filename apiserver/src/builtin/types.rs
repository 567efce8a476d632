//! The table of message types: which fields a built-in kind has, with their types, protobuf numbers and ways to merge.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

mod recorded;
#[cfg(test)]
mod tests;

/// What `record/types` found in the tags of the Go types, and in what clients that apply know.
const RECORDED: &str = include_str!("types.json");

/// The API version of what is known in every group: options of requests, frames of watches.
const EVERYWHERE: &str = "*";

/// All message types, found by kind or by name.
#[derive(Debug)]
pub(crate) struct TypeTable {
    types: Vec<Type>,
    names: BTreeMap<String, usize>,
    /// By `GROUP/VERSION/KIND`, as an object says it: the oldest group has no name and no slash.
    kinds: BTreeMap<String, usize>,
}

/// A message type.
#[derive(Debug)]
pub(crate) struct Type {
    /// As OpenAPI names it: `io.k8s.api.core.v1.Pod`.
    pub(crate) name: String,
    /// By name. What is inlined is first, without one.
    pub(crate) fields: Vec<Field>,
    /// Indexes of the fields that protobuf has, by number.
    numbered: Vec<usize>,
    /// Whether it is one value to those who apply.
    pub(crate) is_atomic: bool,
}

/// A field of a message type.
#[derive(Debug)]
pub(crate) struct Field {
    /// As in JSON. Empty: the fields of this message stand among those of its owner in JSON.
    pub(crate) name: String,
    /// In protobuf; 0 where it is not there (`kind` and `apiVersion` are in the envelope).
    pub(crate) number: u32,
    /// What a single value of it is.
    pub(crate) base: Base,
    /// How many.
    pub(crate) shape: Shape,
    /// Whether it may be absent as opposed to zero.
    pub(crate) pointer: bool,
    /// When JSON leaves it out.
    pub(crate) omit: Omit,
    /// How a strategic merge patch merges it: `merge`, `replace`, `retainKeys`, or two of these with a comma.
    pub(crate) patch_strategy: Option<String>,
    /// By which field of an element a strategic merge patch finds it.
    pub(crate) patch_merge_key: Option<String>,
    /// How those who apply share it.
    pub(crate) merge: Merge,
    /// What it is where it is left out, if items are told apart by it.
    pub(crate) key_default: Option<Value>,
}

/// How those who apply share a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// As what it is: a list is one value, a map or a message is shared field by field.
    Plainly,
    /// It is one value.
    Atomic,
    /// It is a list of values that are told apart by what they are.
    Set,
    /// It is a list of items that are told apart by these fields.
    Keyed(Vec<String>),
}

/// What a single value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    String,
    Bool,
    Int32,
    Int64,
    /// Base64 in JSON.
    Bytes,
    /// A list of texts in JSON; in protobuf a message that wraps them.
    Strings,
    /// RFC 3339, in seconds.
    Time,
    /// RFC 3339, with six digits of a second.
    MicroTime,
    Quantity,
    IntOrString,
    /// An object of any kind.
    RawExtension,
    /// The owned fields of a manager: JSON in protobuf too.
    FieldsV1,
    /// A message, for [`TypeTable::get`].
    Message(usize),
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    /// Keys are texts.
    Map,
}

/// When JSON leaves a field out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omit {
    Never,
    /// When it is zero, no pointer, or of no elements. A struct never is.
    Empty,
    /// When it is zero, structs too.
    Zero,
}

/// The one table. Options and frames are found in every group, so ask only for kinds that are built in.
pub(crate) fn table() -> &'static TypeTable {
    static TABLE: OnceLock<TypeTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        TypeTable::parse(RECORDED).expect("the table was written by a program of ours, and a test reads it")
    })
}

impl TypeTable {
    /// The type of a kind.
    pub(crate) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Type> {
        let separator = if group.is_empty() { "" } else { "/" };
        self.kind_of(&format!("{group}{separator}{version}"), kind)
    }

    /// The type of a kind whose group and version are told as objects tell them: `v1`, `apps/v1`.
    pub(crate) fn kind_of(&self, api_version: &str, kind: &str) -> Option<&Type> {
        let index = self.kinds.get(&format!("{api_version}/{kind}"));
        let index = index.or_else(|| self.kinds.get(&format!("{EVERYWHERE}/{kind}")))?;
        self.types.get(*index)
    }

    /// A type by its OpenAPI name.
    pub(crate) fn named(&self, name: &str) -> Option<&Type> {
        self.names.get(name).map(|index| self.get(*index))
    }

    /// The type in a [`Base::Message`].
    pub(crate) fn get(&self, index: usize) -> &Type {
        &self.types[index]
    }

    /// All types, by name.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// A field as JSON has it: what is inlined counts as the type's own.
    pub(crate) fn field<'a>(&'a self, of: &'a Type, name: &str) -> Option<&'a Field> {
        self.field_through(of, name).map(|(_, field)| field)
    }

    /// A field as JSON has it, and the inlined types that lead to it.
    pub(crate) fn field_through<'a>(
        &'a self,
        of: &'a Type,
        name: &str,
    ) -> Option<(Vec<&'a Type>, &'a Field)> {
        if name.is_empty() {
            return None;
        }
        if let Ok(index) = of.fields.binary_search_by(|field| field.name.as_str().cmp(name)) {
            return of.fields.get(index).map(|field| (Vec::new(), field));
        }
        self.inlined(of).find_map(|inner| {
            let (mut through, field) = self.field_through(inner, name)?;
            through.insert(0, inner);
            Some((through, field))
        })
    }

    /// The types whose fields stand among this one's in JSON.
    fn inlined<'a>(&'a self, of: &'a Type) -> impl Iterator<Item = &'a Type> {
        of.fields.iter().take_while(|field| field.name.is_empty()).filter_map(|field| match field.base {
            Base::Message(index) => Some(self.get(index)),
            _ => None,
        })
    }
}

impl Type {
    /// The field with this protobuf number.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Field> {
        let found = self.numbered.binary_search_by_key(&number, |index| self.fields[*index].number).ok()?;
        Some(&self.fields[self.numbered[found]])
    }

    /// The fields that protobuf has, by number.
    pub(crate) fn by_number(&self) -> impl Iterator<Item = &Field> {
        self.numbered.iter().map(|index| &self.fields[*index])
    }

    /// As Go names it in errors: `v1.Pod`.
    pub(crate) fn go_name(&self) -> &str {
        let package = self.name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
        &self.name[package..]
    }

    /// The last part of the name: `Pod`.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}
