//! Values of expressions. Lists and objects of the host stay JSON and are read lazily by their
//! declared types.

mod compare;
mod json;
mod map;

use std::fmt;
use std::sync::Arc;

pub(crate) use compare::{compare, equal};
pub(crate) use json::read;
pub(crate) use map::MapKind;
pub use map::{Key, Map};

pub(crate) use compare::{contains, same_keys};
use serde_json::Value;

use crate::declared::{DeclaredType, Order};
use crate::error::RunError;
use crate::functions::opaque::Opaque;
use crate::types::Type;

/// A value. It borrows from its program and from the bound JSON.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Val<'a> {
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// A timestamp, in nanoseconds since 1970 UTC.
    Timestamp(i128),
    /// A duration, in nanoseconds.
    Duration(i64),
    /// A type.
    Type(Arc<str>),
    /// An optional.
    Optional(Option<Arc<Val<'a>>>),
    /// An opaque library value.
    #[doc(hidden)]
    Opaque(Arc<Opaque>),
    /// Undeclared JSON, which is only comparable.
    #[doc(hidden)]
    Unknown(&'a Value),
}

/// A string of the host or of an expression.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub enum Text<'a> {
    Lent(&'a str),
    Made(Arc<str>),
}

impl Text<'_> {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Lent(it) => it,
            Self::Made(it) => it,
        }
    }
}

/// A list of the host or of an expression.
#[derive(Debug, Clone)]
pub struct List<'a> {
    pub(crate) items: Items<'a>,
    /// The semantics of `==` and `+`.
    pub(crate) order: &'a Order,
}

#[derive(Debug, Clone)]
pub(crate) enum Items<'a> {
    Json(&'a [Value], &'a DeclaredType),
    Made(Arc<Vec<Val<'a>>>),
}

/// A failed evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An error, which `&&`, `||` and macros may absorb.
    Error(String),
    /// The cost limit, which nothing absorbs.
    Cost,
    Unbound(String),
}

pub(crate) type Outcome<'a> = Result<Val<'a>, Failure>;

pub(crate) fn fail<'a>(why: impl Into<String>) -> Outcome<'a> {
    Err(Failure::Error(why.into()))
}

pub(crate) fn no_overload<'a>() -> Outcome<'a> {
    fail("no such overload")
}

impl<'a> List<'a> {
    pub(crate) fn made(items: Vec<Val<'a>>) -> Self {
        Self { items: Items::Made(Arc::new(items)), order: &Order::Atomic }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Json(items, _) => items.len(),
            Items::Made(items) => items.len(),
        }
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match &self.items {
            Items::Json(items, item) => items.get(index).map(|it| read(it, item)),
            Items::Made(items) => items.get(index).cloned().map(Ok),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Reads all items.
    pub(crate) fn all(&self) -> Result<Vec<Val<'a>>, Failure> {
        self.iter().collect()
    }
}

impl<'a> Val<'a> {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Made(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::made(items))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(crate) fn ty(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Timestamp(_) => Type::Timestamp,
            Self::Duration(_) => Type::Duration,
            Self::Type(_) => Type::Type(Arc::new(Type::Dyn)),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Opaque(it) => Type::Opaque(it.type_name()),
            Self::Unknown(_) => Type::Dyn,
        }
    }

    /// Returns the size for cost calculations.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::String(it) => it.as_str().chars().count() as u64,
            Self::Bytes(it) => it.len() as u64,
            Self::List(it) => it.len() as u64,
            Self::Map(it) => it.len() as u64,
            Self::Opaque(it) => it.size(),
            Self::Optional(Some(it)) => it.size(),
            _ => 1,
        }
    }

    /// Converts the value to JSON: values without a JSON form become strings. A host list or map
    /// that does not match its declared type is null.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null | Self::Optional(None) => Value::Null,
            Self::Bool(it) => (*it).into(),
            Self::Int(it) => (*it).into(),
            Self::Uint(it) => (*it).into(),
            Self::Double(it) => (*it).into(),
            Self::String(it) => it.as_str().into(),
            Self::Unknown(it) => (*it).clone(),
            Self::Optional(Some(it)) => it.to_json(),
            Self::List(it) => it.iter().map(|it| it.map_or(Value::Null, |it| it.to_json())).collect(),
            Self::Map(it) => {
                let entry = |(key, value): (Key<'_>, Outcome<'_>)| {
                    (key.to_string(), value.map_or(Value::Null, |it| it.to_json()))
                };
                Value::Object(it.entries().map(entry).collect())
            }
            other => other.to_string().into(),
        }
    }
}

impl fmt::Display for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(f, "null"),
            Self::Bool(it) => write!(f, "{it}"),
            Self::Int(it) => write!(f, "{it}"),
            Self::Uint(it) => write!(f, "{it}"),
            Self::Double(it) => write!(f, "{}", crate::functions::convert::double_text(*it)),
            Self::String(it) => write!(f, "{}", it.as_str()),
            Self::Bytes(it) => write!(f, "{}", String::from_utf8_lossy(it)),
            Self::Timestamp(it) => write!(f, "{}", crate::functions::time::timestamp_text(*it)),
            Self::Duration(it) => write!(f, "{}", crate::functions::time::duration_text(*it)),
            Self::Type(it) => write!(f, "{it}"),
            Self::Opaque(it) => write!(f, "{it}"),
            Self::Optional(None) => write!(f, "optional.none()"),
            Self::Optional(Some(it)) => write!(f, "optional({it})"),
            Self::List(_) | Self::Map(_) | Self::Unknown(_) => write!(f, "{}", self.to_json()),
        }
    }
}

impl<'a> List<'a> {
    /// Returns the items. One that does not match its declared type is an error.
    pub fn values(&self) -> impl Iterator<Item = Result<Val<'a>, RunError>> + '_ {
        self.iter().map(|it| it.map_err(Failure::into_error))
    }
}

impl<'a> Map<'a> {
    /// Returns the entries in key order. A value that does not match its declared type is an error.
    pub fn iter(&self) -> impl Iterator<Item = (Key<'a>, Result<Val<'a>, RunError>)> + '_ {
        self.entries().map(|(key, value)| (key, value.map_err(Failure::into_error)))
    }
}

impl Val<'_> {
    /// Returns the name of the type, as `type()` does.
    pub fn type_name(&self) -> String {
        self.ty().name().to_owned()
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> RunError {
        match self {
            Self::Error(why) => RunError::Failed(why),
            Self::Cost => RunError::CostExceeded,
            Self::Unbound(name) => RunError::Unbound(name),
        }
    }
}
