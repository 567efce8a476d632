//! The types of expressions.

use std::fmt;
use std::sync::Arc;

use crate::declared::ObjectType;

/// The static type of an expression.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Type {
    /// Any value, checked at run time.
    Dyn,
    /// Only null.
    Null,
    /// True or false.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// An unsigned 64-bit integer.
    Uint,
    /// An IEEE 754 double.
    Double,
    /// A string.
    String,
    /// Bytes.
    Bytes,
    /// A timestamp.
    Timestamp,
    /// A duration.
    Duration,
    /// A list with items of one type.
    List(Arc<Type>),
    /// A map.
    Map(Arc<Type>, Arc<Type>),
    /// An object with declared fields.
    Object(Arc<ObjectType>),
    /// An optional.
    Optional(Arc<Type>),
    /// An opaque library type, by name.
    Opaque(&'static str),
    /// A type as a value, as of `type(1)`.
    Type(Arc<Type>),
    /// A type variable; none remain after the check.
    #[doc(hidden)]
    Var(u32),
    /// The type after an error. It matches anything, so that one mistake is one error.
    #[doc(hidden)]
    Error,
}

/// The names of the opaque types.
pub(crate) mod opaque {
    pub(crate) const URL: &str = "kubernetes.URL";
    pub(crate) const IP: &str = "net.IP";
    pub(crate) const CIDR: &str = "net.CIDR";
    pub(crate) const QUANTITY: &str = "kubernetes.Quantity";
    pub(crate) const SEMVER: &str = "kubernetes.Semver";
    pub(crate) const FORMAT: &str = "kubernetes.NamedFormat";
    pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
    pub(crate) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
    pub(crate) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
    pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
    pub(crate) const DECISION: &str = "kubernetes.authorization.Decision";
    /// Types that expressions can name.
    pub(crate) const ALL: [&str; 6] = [URL, IP, CIDR, QUANTITY, SEMVER, FORMAT];
    /// Types without names or fields in expressions.
    pub(crate) const OF_AUTHORIZER: [&str; 5] =
        [AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION];
}

impl Type {
    pub(crate) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Returns whether values of the type have size 1.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// Returns the type parameters.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Self> {
        let (first, second) = match self {
            Self::List(it) | Self::Optional(it) | Self::Type(it) => (Some(it), None),
            Self::Map(key, value) => (Some(key), Some(value)),
            _ => (None, None),
        };
        first.into_iter().chain(second).map(|it| &**it)
    }

    /// Returns the name of the type as a value, without its parameters.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Object(it) => &it.name,
            Self::Optional(_) => "optional_type",
            Self::Opaque(name) => name,
            Self::Type(_) => "type",
            Self::Var(_) | Self::Error => "!error!",
        }
    }
}

/// Formats types as Kubernetes does in errors.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(f, "null"),
            Self::Timestamp => write!(f, "timestamp"),
            Self::Duration => write!(f, "duration"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(value) => write!(f, "optional_type({value})"),
            Self::Type(of) => write!(f, "type({of})"),
            Self::Var(number) => write!(f, "_var{number}"),
            _ => write!(f, "{}", self.name()),
        }
    }
}
