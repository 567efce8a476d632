//! One node of a schema.

use std::collections::BTreeMap;

use machinery_cel::Pattern;
use serde_json::Value;

use super::expressions::Rule;
use super::formats::ValueFormat;

/// A schema of one value and, with its children, of its contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// Absent where the value is an int-or-string or anything at all, and below `allOf`, `anyOf`,
    /// `oneOf` and `not`.
    pub(crate) kind: Option<JsonType>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Schema>>,
    /// Fields that the schema does not have are kept.
    pub(crate) preserve_unknown: bool,
    pub(crate) int_or_string: bool,
    /// The value is an object of Kubernetes, with apiVersion, kind and metadata.
    pub(crate) embedded: bool,
    pub(crate) list: Option<DeclaredListType>,
    pub(crate) list_keys: Vec<String>,
    pub(crate) map: Option<MapType>,
    pub(crate) rules: ValueRules,
    /// The CEL rules as in the definition, uncompiled.
    pub(crate) validations: Vec<Value>,
    /// The compiled rules.
    pub(crate) expressions: Vec<Rule>,
    /// Errors of stored rules that cannot be enforced. Writes of the values that they validate are
    /// refused.
    pub(crate) unenforced: Vec<String>,
    /// Whether there are any, here or below.
    pub(crate) has_rules: bool,
    /// Whether any field is a password. Of the root alone.
    pub(crate) has_passwords: bool,
    pub(crate) notes: Notes,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
}

/// The schema of fields that have no property.
#[derive(Clone, Debug)]
pub(crate) enum Additional {
    /// `true`: their names are kept, and scalars.
    Any,
    /// `false`: no other fields are allowed.
    Nothing,
    Of(Box<Schema>),
}

/// How writers share a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredListType {
    Atomic,
    Set,
    Map,
}

/// How writers share an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapType {
    Atomic,
    Granular,
}

/// The restrictions of a value beside its type.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueRules {
    /// The format as written, supported or not.
    pub(crate) format: Option<String>,
    /// The part of the format that is checked.
    pub(crate) checked: Option<ValueFormat>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
}

/// Annotations for users, without effect on validation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) example: Option<Value>,
    pub(crate) external_docs: Option<Value>,
}

/// The fields that every object has, and that pruning keeps.
pub(super) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Schema {
    /// The schema of a field, named or not.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        match (self.properties.get(name), &self.additional) {
            (Some(property), _) => Some(property),
            (None, Some(Additional::Of(schema))) => Some(schema),
            _ => None,
        }
    }
}

impl JsonType {
    /// All types, in the order of error messages.
    pub(crate) const ALL: [Self; 6] =
        [Self::Array, Self::Boolean, Self::Integer, Self::Number, Self::Object, Self::String];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl DeclaredListType {
    pub(crate) const ALL: [Self; 3] = [Self::Atomic, Self::Set, Self::Map];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::Map => "map",
        }
    }
}

impl MapType {
    pub(crate) const ALL: [Self; 2] = [Self::Atomic, Self::Granular];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Granular => "granular",
        }
    }
}
