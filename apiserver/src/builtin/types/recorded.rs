//! Parses the type table that `record/types` wrote.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Base, Cardinality, Merge, MessageField, Omit, Type, TypeTable};

/// The type of the schemas of CustomResourceDefinitions.
const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

impl TypeTable {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let recorded: RecordedTypes<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let names: BTreeMap<String, usize> =
            recorded.types.keys().enumerate().map(|(index, name)| ((*name).to_owned(), index)).collect();
        let index = |name: &str| names.get(name).copied().ok_or_else(|| format!("no type is called {name}"));
        let types = recorded
            .types
            .iter()
            .map(|(name, fields)| parse_type(name, fields, recorded.atomic.contains(name), &index))
            .collect::<Result<_, _>>()?;
        let kinds = recorded.kinds.iter().map(|(kind, name)| Ok(((*kind).to_owned(), index(name)?)));
        let kinds = kinds.collect::<Result<_, String>>()?;
        Ok(Self { types, names, kinds })
    }
}

#[derive(Deserialize)]
struct RecordedTypes<'a> {
    #[serde(borrow)]
    kinds: BTreeMap<&'a str, &'a str>,
    #[serde(borrow)]
    types: BTreeMap<&'a str, Vec<RecordedField<'a>>>,
    #[serde(borrow)]
    atomic: BTreeSet<&'a str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedField<'a> {
    #[serde(default)]
    name: &'a str,
    #[serde(default)]
    number: u32,
    #[serde(rename = "type")]
    base: &'a str,
    #[serde(default)]
    shape: &'a str,
    #[serde(default)]
    pointer: bool,
    #[serde(default)]
    omit: &'a str,
    #[serde(borrow)]
    strategy: Option<&'a str>,
    #[serde(borrow)]
    key: Option<&'a str>,
    #[serde(default)]
    merge: &'a str,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(borrow)]
    default: Option<&'a str>,
}

fn parse_type(
    name: &str,
    recorded: &[RecordedField<'_>],
    is_atomic: bool,
    index: &impl Fn(&str) -> Result<usize, String>,
) -> Result<Type, String> {
    let fields: Vec<MessageField> =
        recorded.iter().map(|field| parse_field(field, index)).collect::<Result<_, _>>()?;
    if !fields.is_sorted_by_key(|field| (&field.name, field.number)) {
        return Err(format!("the fields of {name} are out of order"));
    }
    let mut numbered: Vec<usize> = (0..fields.len()).filter(|index| fields[*index].number > 0).collect();
    numbered.sort_by_key(|index| fields[*index].number);
    Ok(Type { name: name.to_owned(), fields, numbered, is_atomic })
}

fn parse_field(
    recorded: &RecordedField<'_>,
    index: &impl Fn(&str) -> Result<usize, String>,
) -> Result<MessageField, String> {
    let base = match recorded.base {
        "string" => Base::String,
        "bool" => Base::Bool,
        "int32" => Base::Int32,
        "int64" => Base::Int64,
        "bytes" => Base::Bytes,
        "strings" => Base::Strings,
        "Time" => Base::Time,
        "MicroTime" => Base::MicroTime,
        "Quantity" => Base::Quantity,
        "IntOrString" => Base::IntOrString,
        "RawExtension" => Base::RawExtension,
        "FieldsV1" => Base::FieldsV1,
        "double" => Base::Double,
        "JSON" => Base::Json,
        "SchemaOrBool" => Base::SchemaOrBool(index(SCHEMA)?),
        "SchemaOrArray" => Base::SchemaOrArray(index(SCHEMA)?),
        "SchemaOrStrings" => Base::SchemaOrStrings(index(SCHEMA)?),
        message => Base::Message(index(message)?),
    };
    let shape = match recorded.shape {
        "" => Cardinality::One,
        "list" => Cardinality::List,
        "map" => Cardinality::Map,
        other => return Err(format!("no shape is called {other}")),
    };
    let omit = match recorded.omit {
        "" => Omit::Never,
        "empty" => Omit::Empty,
        "zero" => Omit::Zero,
        other => return Err(format!("nothing is left out when {other}")),
    };
    let merge = match (recorded.merge, shape) {
        ("", _) => Merge::Plainly,
        ("atomic", _) => Merge::Atomic,
        ("set", Cardinality::List) => Merge::Set,
        ("map", Cardinality::List) if !recorded.keys.is_empty() => Merge::Keyed(recorded.keys.clone()),
        (other, _) => return Err(format!("{} cannot be merged as {other}", recorded.name)),
    };
    let inlined = recorded.name.is_empty();
    if inlined && (!matches!(base, Base::Message(_)) || shape != Cardinality::One || recorded.pointer) {
        return Err(format!("a {} cannot be inlined", recorded.base));
    }
    Ok(MessageField {
        name: recorded.name.to_owned(),
        number: recorded.number,
        base,
        shape,
        pointer: recorded.pointer,
        omit,
        patch_strategy: recorded.strategy.map(str::to_owned),
        patch_merge_key: recorded.key.map(str::to_owned),
        merge,
        key_default: recorded.default.map(Value::from),
    })
}
