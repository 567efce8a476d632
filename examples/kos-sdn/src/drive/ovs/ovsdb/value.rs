//! Values of columns, and their JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::row_uuid::RowUuid;

/// One element of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// A number.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
    /// A text.
    String(String),
    /// A reference to a row.
    Uuid(RowUuid),
    /// A reference to a row that the same transaction inserts under this name.
    Named(String),
}

/// The value of a column. A scalar is a set of one element, and a missing optional value an empty
/// set, as in OVS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum {
    /// Elements without order.
    Set(BTreeSet<Atom>),
    /// A value for each key.
    Map(BTreeMap<Atom, Atom>),
}

impl Atom {
    /// Reads an element from its JSON; `None` if it is malformed.
    #[must_use]
    pub fn from_json(json: &Value) -> Option<Self> {
        match json {
            Value::Number(number) => number.as_i64().map(Self::Integer),
            Value::Bool(flag) => Some(Self::Boolean(*flag)),
            Value::String(text) => Some(Self::String(text.clone())),
            Value::Array(pair) => match pair.as_slice() {
                [Value::String(tag), Value::String(text)] if tag == "uuid" => {
                    text.parse().ok().map(Self::Uuid)
                }
                [Value::String(tag), Value::String(text)] if tag == "named-uuid" => {
                    Some(Self::Named(text.clone()))
                }
                _ => None,
            },
            Value::Null | Value::Object(_) => None,
        }
    }

    /// Returns the JSON of the element.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Integer(number) => json!(number),
            Self::Boolean(flag) => json!(flag),
            Self::String(text) => json!(text),
            Self::Uuid(uuid) => json!(["uuid", uuid.to_string()]),
            Self::Named(name) => json!(["named-uuid", name]),
        }
    }
}

impl Datum {
    /// Returns the empty set: a missing optional value.
    #[must_use]
    pub const fn empty() -> Self {
        Self::Set(BTreeSet::new())
    }

    /// Makes a set.
    pub fn set<A: Into<Atom>>(atoms: impl IntoIterator<Item = A>) -> Self {
        Self::Set(atoms.into_iter().map(Into::into).collect())
    }

    /// Makes a map.
    pub fn map<K: Into<Atom>, V: Into<Atom>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// Makes a reference to a row that the same transaction inserts under `name`.
    pub fn named(name: impl Into<String>) -> Self {
        Self::set([Atom::Named(name.into())])
    }

    /// Reads a value from its JSON; `None` if it is malformed.
    #[must_use]
    pub fn from_json(json: &Value) -> Option<Self> {
        if let Value::Array(pair) = json
            && let [Value::String(tag), Value::Array(items)] = pair.as_slice()
        {
            return match tag.as_str() {
                "set" => items.iter().map(Atom::from_json).collect::<Option<_>>().map(Self::Set),
                "map" => items.iter().map(pair_from_json).collect::<Option<_>>().map(Self::Map),
                _ => None,
            };
        }
        Atom::from_json(json).map(|atom| Self::Set(BTreeSet::from([atom])))
    }

    /// Returns the JSON of the value. A set of one element is written as that element.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Set(atoms) => match atoms.first() {
                Some(only) if atoms.len() == 1 => only.to_json(),
                _ => json!(["set", atoms.iter().map(Atom::to_json).collect::<Vec<_>>()]),
            },
            Self::Map(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(k, v)| json!([k.to_json(), v.to_json()])).collect();
                json!(["map", pairs])
            }
        }
    }

    /// Returns the elements of a set; none for a map.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        let set = match self {
            Self::Set(set) => Some(set),
            Self::Map(_) => None,
        };
        set.into_iter().flatten()
    }
}

fn pair_from_json(json: &Value) -> Option<(Atom, Atom)> {
    match json.as_array()?.as_slice() {
        [key, value] => Some((Atom::from_json(key)?, Atom::from_json(value)?)),
        _ => None,
    }
}

impl From<i64> for Atom {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Atom {
    fn from(flag: bool) -> Self {
        Self::Boolean(flag)
    }
}

impl From<&str> for Atom {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Atom {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<RowUuid> for Atom {
    fn from(uuid: RowUuid) -> Self {
        Self::Uuid(uuid)
    }
}

impl<A: Into<Atom>> From<A> for Datum {
    fn from(atom: A) -> Self {
        Self::set([atom])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(datum: &Datum, expected: &Value) {
        assert_eq!(&datum.to_json(), expected);
        assert_eq!(Datum::from_json(expected).as_ref(), Some(datum));
    }

    #[test]
    fn values_have_the_json_of_the_rfc() {
        let uuid = RowUuid::from_bits(7);
        check(&Datum::from("x"), &json!("x"));
        check(&Datum::from(-1), &json!(-1));
        check(&Datum::from(true), &json!(true));
        check(&Datum::empty(), &json!(["set", []]));
        check(&Datum::set(["a", "b"]), &json!(["set", ["a", "b"]]));
        check(&Datum::map([("key", "flow")]), &json!(["map", [["key", "flow"]]]));
        check(&Datum::from(uuid), &json!(["uuid", "00000000-0000-0000-0000-000000000007"]));
        check(&Datum::named("p0"), &json!(["named-uuid", "p0"]));
    }

    #[test]
    fn malformed_values_are_rejected() {
        for json in [
            json!(null),
            json!({}),
            json!(1.5),
            json!(["set", [["set", []]]]),
            json!(["map", [["a"]]]),
            json!(["bag", []]),
            json!(["uuid", "x"]),
            json!(["set", 3]),
        ] {
            assert_eq!(Datum::from_json(&json), None, "{json}");
        }
    }
}
