//! The types of expressions.

use std::fmt;
use std::sync::Arc;

use crate::declared::ObjectType;

/// What an expression may be, as far as it is known before it runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Type {
    /// Anything; looked at when it runs.
    Dyn,
    /// Only null.
    Null,
    /// True or false.
    Bool,
    /// 64 bits with a sign.
    Int,
    /// 64 bits without one.
    Uint,
    /// An IEEE 754 double.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A moment.
    Timestamp,
    /// A span of time.
    Duration,
    /// Items of one type.
    List(Arc<Type>),
    /// Values by key.
    Map(Arc<Type>, Arc<Type>),
    /// Fields that the host has declared.
    Object(Arc<ObjectType>),
    /// A value or none.
    Optional(Arc<Type>),
    /// A type of a library, by its name.
    Opaque(&'static str),
    /// A type as a value, as `type(1)`.
    Type(Arc<Type>),
    /// A type that is not known yet; after a check there are none.
    #[doc(hidden)]
    Var(u32),
    /// What follows from an error, and matches anything, so that one mistake is one error.
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
    /// Those that expressions can name.
    pub(crate) const ALL: [&str; 6] = [URL, IP, CIDR, QUANTITY, SEMVER, FORMAT];
    /// Those that they cannot: nothing is a field of them either.
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

    /// Whether a value of it has the size 1, always.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// The types that it is made of.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Self> {
        let (first, second) = match self {
            Self::List(it) | Self::Optional(it) | Self::Type(it) => (Some(it), None),
            Self::Map(key, value) => (Some(key), Some(value)),
            _ => (None, None),
        };
        first.into_iter().chain(second).map(|it| &**it)
    }

    /// The name of the type as a value: of what a value is, not of what is in it.
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

/// As Kubernetes writes types in its errors.
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
