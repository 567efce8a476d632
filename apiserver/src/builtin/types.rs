//! The type table: fields of the built-in kinds, with their types, protobuf numbers and merge
//! strategies.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

mod recorded;
#[cfg(test)]
mod tests;

/// Recorded by `record/types` from the tags of the Go types and the apply configurations of
/// client-go.
const RECORDED: &str = include_str!("types.json");

/// The API version of types that exist in every group: request options and watch frames.
const EVERYWHERE: &str = "*";

/// All message types, indexed by kind and by name.
#[derive(Debug)]
pub(crate) struct TypeTable {
    types: Vec<Type>,
    names: BTreeMap<String, usize>,
    /// By `GROUP/VERSION/KIND`; the core group has neither name nor slash.
    kinds: BTreeMap<String, usize>,
}

/// A message type.
#[derive(Debug)]
pub(crate) struct Type {
    /// The OpenAPI name: `io.k8s.api.core.v1.Pod`.
    pub(crate) name: String,
    /// Sorted by name. Inlined fields have an empty name and precede the others.
    pub(crate) fields: Vec<MessageField>,
    /// Indexes of the protobuf fields, sorted by number.
    numbered: Vec<usize>,
    /// Whether server-side apply treats the value as atomic.
    pub(crate) is_atomic: bool,
}

/// A field of a message type.
#[derive(Debug)]
pub(crate) struct MessageField {
    /// The JSON name. Empty for an inlined message: its fields appear in the enclosing JSON object.
    pub(crate) name: String,
    /// The protobuf number; 0 for `kind` and `apiVersion`, which are in the envelope.
    pub(crate) number: u32,
    /// The type of a single value.
    pub(crate) base: Base,
    /// One value, a list or a map.
    pub(crate) shape: Cardinality,
    /// Whether the Go field is a pointer, which distinguishes absent from zero.
    pub(crate) pointer: bool,
    /// The condition under which JSON omits the field.
    pub(crate) omit: Omit,
    /// The strategy of a strategic merge patch: `merge`, `replace`, `retainKeys`, or two of these
    /// separated by a comma.
    pub(crate) patch_strategy: Option<String>,
    /// The field of an element that identifies it in a strategic merge patch.
    pub(crate) patch_merge_key: Option<String>,
    /// The merge behaviour in server-side apply.
    pub(crate) merge: Merge,
    /// The default value of a field that is a list map key.
    pub(crate) key_default: Option<Value>,
}

/// The merge behaviour of a field in server-side apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Default: lists are atomic; maps and messages are merged field by field.
    Plainly,
    /// Atomic.
    Atomic,
    /// `listType=set`.
    Set,
    /// `listType=map` with these keys.
    Keyed(Vec<String>),
}

/// The type of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    String,
    Bool,
    Int32,
    Int64,
    /// Base64 in JSON.
    Bytes,
    /// A list of strings in JSON; in protobuf a message that wraps it.
    Strings,
    /// RFC 3339, with a precision of seconds.
    Time,
    /// RFC 3339, with six decimals.
    MicroTime,
    Quantity,
    IntOrString,
    /// An object of any kind.
    RawExtension,
    /// The fields that a manager owns: JSON, also in protobuf.
    FieldsV1,
    /// A 64-bit floating-point number.
    Double,
    /// Any JSON value: the defaults and enums of a schema.
    Json,
    /// A schema, or a boolean that allows or forbids everything. As the others below, with the
    /// index of the schema's type.
    SchemaOrBool(usize),
    /// A schema, or a list of schemas.
    SchemaOrArray(usize),
    /// A schema, or a list of names.
    SchemaOrStrings(usize),
    /// A message: the index for [`TypeTable::get`].
    Message(usize),
}

/// The cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cardinality {
    One,
    List,
    /// Keys are strings.
    Map,
}

/// The condition under which JSON omits a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omit {
    Never,
    /// `omitempty`: false, 0, a nil pointer, or an empty string, list or map. Structs are never
    /// empty.
    Empty,
    /// `omitzero`: as `omitempty`, but structs of zero values are omitted as well.
    Zero,
}

/// Returns the type table. Request options and watch frames are found in every group, so look up
/// built-in kinds only.
pub(crate) fn table() -> &'static TypeTable {
    static TABLE: OnceLock<TypeTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        TypeTable::parse(RECORDED).expect("the table was written by a program of ours, and a test reads it")
    })
}

impl TypeTable {
    /// Returns the type of a kind.
    pub(crate) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Type> {
        let separator = if group.is_empty() { "" } else { "/" };
        self.kind_of(&format!("{group}{separator}{version}"), kind)
    }

    /// Returns the type of a kind by its `apiVersion`: `v1`, `apps/v1`.
    pub(crate) fn kind_of(&self, api_version: &str, kind: &str) -> Option<&Type> {
        let index = self.kinds.get(&format!("{api_version}/{kind}"));
        let index = index.or_else(|| self.kinds.get(&format!("{EVERYWHERE}/{kind}")))?;
        self.types.get(*index)
    }

    /// Returns a type by its OpenAPI name.
    pub(crate) fn named(&self, name: &str) -> Option<&Type> {
        self.names.get(name).map(|index| self.get(*index))
    }

    /// Returns the type of a [`Base::Message`].
    pub(crate) fn get(&self, index: usize) -> &Type {
        &self.types[index]
    }

    /// All types, sorted by name.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// Returns a field by its JSON name, including fields of inlined messages.
    pub(crate) fn field<'a>(&'a self, of: &'a Type, name: &str) -> Option<&'a MessageField> {
        self.field_through(of, name).map(|(_, field)| field)
    }

    /// Returns a field by its JSON name, with the path of inlined types that contain it.
    pub(crate) fn field_through<'a>(
        &'a self,
        of: &'a Type,
        name: &str,
    ) -> Option<(Vec<&'a Type>, &'a MessageField)> {
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

    /// The inlined types.
    fn inlined<'a>(&'a self, of: &'a Type) -> impl Iterator<Item = &'a Type> {
        of.fields.iter().take_while(|field| field.name.is_empty()).filter_map(|field| match field.base {
            Base::Message(index) => Some(self.get(index)),
            _ => None,
        })
    }
}

impl Type {
    /// Returns the field with a protobuf number.
    pub(crate) fn numbered(&self, number: u32) -> Option<&MessageField> {
        let found = self.numbered.binary_search_by_key(&number, |index| self.fields[*index].number).ok()?;
        Some(&self.fields[self.numbered[found]])
    }

    /// The protobuf fields, sorted by number.
    pub(crate) fn by_number(&self) -> impl Iterator<Item = &MessageField> {
        self.numbered.iter().map(|index| &self.fields[*index])
    }

    /// The name in Go's error messages: `v1.Pod`.
    pub(crate) fn go_name(&self) -> &str {
        let package = self.name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
        &self.name[package..]
    }

    /// The last component of the name: `Pod`.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}
