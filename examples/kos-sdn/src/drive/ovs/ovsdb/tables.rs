//! The tables and columns of the schema `Open_vSwitch` that the client uses.

use serde_json::Value;

use super::value::{Atom, Datum};

/// A table of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OvsdbTable {
    /// `Open_vSwitch`: one row, the root of all others.
    Root,
    /// `Bridge`.
    Bridge,
    /// `Port`.
    Port,
    /// `Interface`.
    Interface,
}

/// A column that the client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in the schema.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Exactly one text.
    String,
    /// Exactly one number.
    Integer,
    /// A text, or none.
    OptionalString,
    /// A number, or none.
    OptionalInteger,
    /// A set of texts.
    Strings,
    /// A set of numbers.
    Integers,
    /// A set of references.
    Uuids,
    /// A map from text to text.
    StringMap,
}

use ColumnKind::{Integer, Integers, OptionalInteger, OptionalString, String, StringMap, Strings, Uuids};

const ROOT: &[Column] = &[
    column("bridges", Uuids),
    column("next_cfg", Integer),
    column("cur_cfg", Integer),
    column("ovs_version", OptionalString),
    column("datapath_types", Strings),
    column("iface_types", Strings),
    column("external_ids", StringMap),
];

const BRIDGE: &[Column] = &[
    column("name", String),
    column("datapath_type", String),
    column("datapath_id", OptionalString),
    column("ports", Uuids),
    column("mirrors", Uuids),
    column("controller", Uuids),
    column("protocols", Strings),
    column("fail_mode", OptionalString),
    column("other_config", StringMap),
    column("external_ids", StringMap),
];

const PORT: &[Column] = &[
    column("name", String),
    column("interfaces", Uuids),
    column("tag", OptionalInteger),
    column("trunks", Integers),
    column("vlan_mode", OptionalString),
    column("other_config", StringMap),
    column("external_ids", StringMap),
];

const INTERFACE: &[Column] = &[
    column("name", String),
    column("type", String),
    column("options", StringMap),
    column("ofport", OptionalInteger),
    column("ofport_request", OptionalInteger),
    column("ifindex", OptionalInteger),
    column("error", OptionalString),
    column("mac", OptionalString),
    column("mac_in_use", OptionalString),
    column("mtu", OptionalInteger),
    column("mtu_request", OptionalInteger),
    column("other_config", StringMap),
    column("external_ids", StringMap),
];

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

impl OvsdbTable {
    /// All tables.
    pub const ALL: [Self; 4] = [Self::Root, Self::Bridge, Self::Port, Self::Interface];

    /// Returns the name in the schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "Open_vSwitch",
            Self::Bridge => "Bridge",
            Self::Port => "Port",
            Self::Interface => "Interface",
        }
    }

    /// Finds a table by its name in the schema.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns the columns that the client reads.
    #[must_use]
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Root => ROOT,
            Self::Bridge => BRIDGE,
            Self::Port => PORT,
            Self::Interface => INTERFACE,
        }
    }

    /// Finds a column by its name.
    #[must_use]
    pub fn column(self, name: &str) -> Option<Column> {
        self.columns().iter().find(|column| column.name == name).copied()
    }
}

impl ColumnKind {
    /// Returns whether a value can hold several elements. Changes of such a value are notified as
    /// differences, those of others as new values.
    #[must_use]
    pub const fn is_composite(self) -> bool {
        matches!(self, Strings | Integers | Uuids | StringMap)
    }

    /// Returns the value of a column that an insert leaves out.
    #[must_use]
    pub fn default_value(self) -> Datum {
        match self {
            String => Datum::from(""),
            Integer => Datum::from(0),
            StringMap => Datum::Map(Default::default()),
            OptionalString | OptionalInteger | Strings | Integers | Uuids => Datum::empty(),
        }
    }

    /// Returns whether a value is of this type.
    #[must_use]
    pub fn admits(self, value: &Datum) -> bool {
        let text = |atom: &Atom| matches!(atom, Atom::String(_));
        let number = |atom: &Atom| matches!(atom, Atom::Integer(_));
        match (self, value) {
            (String, Datum::Set(set)) => set.len() == 1 && set.iter().all(text),
            (Integer, Datum::Set(set)) => set.len() == 1 && set.iter().all(number),
            (OptionalString, Datum::Set(set)) => set.len() <= 1 && set.iter().all(text),
            (OptionalInteger, Datum::Set(set)) => set.len() <= 1 && set.iter().all(number),
            (Strings, Datum::Set(set)) => set.iter().all(text),
            (Integers, Datum::Set(set)) => set.iter().all(number),
            (Uuids, Datum::Set(set)) => set.iter().all(|atom| matches!(atom, Atom::Uuid(_))),
            (StringMap, Datum::Map(map)) => map.iter().all(|(key, value)| text(key) && text(value)),
            (_, Datum::Map(_)) | (StringMap, Datum::Set(_)) => false,
        }
    }

    /// Returns whether the type that a schema declares is this one, apart from its limits.
    #[must_use]
    pub(super) fn matches_schema(self, declared: &Value) -> bool {
        let (key, value, max) = match declared {
            Value::String(name) => (Some(name.as_str()), None, 1),
            Value::Object(members) => {
                let max = match members.get("max") {
                    None => 1,
                    Some(Value::String(_)) => u64::MAX,
                    Some(number) => number.as_u64().unwrap_or(0),
                };
                (members.get("key").and_then(base_type), members.get("value").and_then(base_type), max)
            }
            _ => return false,
        };
        let expected = match self {
            String | OptionalString | Strings => (Some("string"), None),
            Integer | OptionalInteger | Integers => (Some("integer"), None),
            Uuids => (Some("uuid"), None),
            StringMap => (Some("string"), Some("string")),
        };
        // `netflow` and others refer to at most one row; no column of ours does.
        (key, value) == expected && self.is_composite() == (max > 1)
    }
}

fn base_type(json: &Value) -> Option<&str> {
    json.as_str().or_else(|| json.get("type")?.as_str())
}
