//! Maps and objects.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Failure, Outcome, Text, Val, json};
use crate::declared::{DeclaredType, ObjectType};

/// A map of the host or of an expression, or an object with its fields as keys.
#[derive(Debug, Clone)]
pub struct Map<'a>(pub(crate) MapKind<'a>);

#[derive(Debug, Clone)]
pub(crate) enum MapKind<'a> {
    Made(Arc<BTreeMap<Key<'a>, Val<'a>>>),
    Json(&'a serde_json::Map<String, Value>, &'a DeclaredType),
    Object(&'a serde_json::Map<String, Value>, &'a ObjectType),
}

/// A key of a map. Numbers of equal value are equal keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Key<'a> {
    /// True or false.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A string.
    String(Text<'a>),
}

impl<'a> Map<'a> {
    pub(crate) fn made(entries: BTreeMap<Key<'a>, Val<'a>>) -> Self {
        Self(MapKind::Made(Arc::new(entries)))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            MapKind::Made(entries) => entries.len(),
            MapKind::Json(entries, _) | MapKind::Object(entries, _) => entries.len(),
        }
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key, given as an expression's value.
    pub(crate) fn get(&self, key: &Val<'_>) -> Option<Outcome<'a>> {
        match (&self.0, key) {
            (_, Val::String(name)) => self.field(name.as_str()),
            (MapKind::Made(entries), key) => entries.get(&number(key)?).cloned().map(Ok),
            _ => None,
        }
    }

    /// Returns the value of a field, by its name in expressions.
    pub(crate) fn field(&self, name: &str) -> Option<Outcome<'a>> {
        match &self.0 {
            MapKind::Made(entries) => {
                let key = Key::String(Text::Made(name.into()));
                entries.get(&key).cloned().map(Ok)
            }
            MapKind::Json(entries, value) => entries.get(name).map(|it| json::read(it, value)),
            MapKind::Object(entries, object) => {
                let field = object.field(name)?;
                // A null property counts as absent.
                entries
                    .get(&field.property)
                    .filter(|it| !it.is_null())
                    .map(|it| json::read(it, &field.declared))
            }
        }
    }

    /// Returns the entries in key order; for an object, the fields visible to expressions.
    pub(crate) fn entries(&self) -> Box<dyn Iterator<Item = (Key<'a>, Outcome<'a>)> + '_> {
        match &self.0 {
            MapKind::Made(entries) => Box::new(entries.iter().map(|it| (it.0.clone(), Ok(it.1.clone())))),
            MapKind::Json(entries, value) => {
                let entries = *entries;
                let value = *value;
                Box::new(
                    entries.iter().map(move |it| (Key::String(Text::Lent(it.0)), json::read(it.1, value))),
                )
            }
            MapKind::Object(entries, object) => {
                let (entries, object) = (*entries, *object);
                Box::new(object.fields.iter().filter_map(move |(name, field)| {
                    let value = entries.get(&field.property)?;
                    Some((Key::String(Text::Lent(name)), json::read(value, &field.declared)))
                }))
            }
        }
    }
}

/// Returns a key that is not a string, and so borrows nothing.
fn number(key: &Val<'_>) -> Option<Key<'static>> {
    let key = match key {
        Val::Bool(it) => Val::Bool(*it),
        Val::Int(it) => Val::Int(*it),
        Val::Uint(it) => Val::Uint(*it),
        Val::Double(it) => Val::Double(*it),
        _ => return None,
    };
    Key::of(key).ok()
}

impl<'a> Key<'a> {
    /// Converts a value to a key; a double must be a whole number.
    pub(crate) fn of(value: Val<'a>) -> Result<Self, Failure> {
        Ok(match value {
            Val::Bool(it) => Self::Bool(it),
            Val::Int(it) => Self::Int(it),
            Val::Uint(it) => Self::Uint(it),
            Val::String(it) => Self::String(it),
            Val::Double(it) if it.fract() == 0.0 && it >= -(2f64.powi(63)) && it < 2f64.powi(63) => {
                Self::Int(it as i64)
            }
            Val::Double(it) if it.fract() == 0.0 && it > 0.0 && it < 2f64.powi(64) => Self::Uint(it as u64),
            other => {
                return Err(Failure::Error(format!("unsupported key type: {}", other.ty().name())));
            }
        })
    }

    /// Returns the key as a value.
    pub fn to_val(&self) -> Val<'a> {
        match self {
            Self::Bool(it) => Val::Bool(*it),
            Self::Int(it) => Val::Int(*it),
            Self::Uint(it) => Val::Uint(*it),
            Self::String(it) => Val::String(it.clone()),
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Self::Int(it) => Some((*it).into()),
            Self::Uint(it) => Some((*it).into()),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) | Self::Uint(_) => 1,
            Self::String(_) => 2,
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.as_str().cmp(b.as_str()),
            (a, b) => a.rank().cmp(&b.rank()).then_with(|| a.number().cmp(&b.number())),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_val())
    }
}
