//! Opaque values of libraries.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;

use super::named_format::Format;
use super::net::Cidr;
use super::quantity::Quantity;
use super::semver::Semver;
use super::url::Url;
use crate::authorizer::{BoundAuthorizer, Decision, ResourceAttributes};
use crate::types::opaque;

/// A value of an opaque library type.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Opaque {
    Url(Url),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(Quantity),
    Semver(Semver),
    Format(Format),
    Authorizer(BoundAuthorizer),
    PathCheck(BoundAuthorizer, String),
    GroupCheck(BoundAuthorizer, String),
    ResourceCheck(BoundAuthorizer, ResourceAttributes),
    Decision(Decision),
}

impl Opaque {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Url(_) => opaque::URL,
            Self::Ip(_) => opaque::IP,
            Self::Cidr(_) => opaque::CIDR,
            Self::Quantity(_) => opaque::QUANTITY,
            Self::Semver(_) => opaque::SEMVER,
            Self::Format(_) => opaque::FORMAT,
            Self::Authorizer(_) => opaque::AUTHORIZER,
            Self::PathCheck(..) => opaque::PATH_CHECK,
            Self::GroupCheck(..) => opaque::GROUP_CHECK,
            Self::ResourceCheck(..) => opaque::RESOURCE_CHECK,
            Self::Decision(_) => opaque::DECISION,
        }
    }

    /// Returns the size for cost calculations.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(it) => u64::from(it.bits).div_ceil(8),
            _ => 1,
        }
    }

    /// Returns whether two values are equal; `None` for authorization values, which are not
    /// comparable.
    pub(crate) fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Url(a), Self::Url(b)) => Some(a == b),
            (Self::Ip(a), Self::Ip(b)) => Some(a == b),
            (Self::Cidr(a), Self::Cidr(b)) => Some(a == b),
            (Self::Quantity(a), Self::Quantity(b)) => Some(a == b),
            (Self::Semver(a), Self::Semver(b)) => Some(a == b),
            (Self::Format(a), Self::Format(b)) => Some(a == b),
            _ if self.is_of_authorizer() && other.is_of_authorizer() => None,
            _ => Some(false),
        }
    }

    fn is_of_authorizer(&self) -> bool {
        opaque::OF_AUTHORIZER.contains(&self.type_name())
    }

    /// Returns the order of two values of an ordered type.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Quantity(a), Self::Quantity(b)) => Some(a.cmp(b)),
            (Self::Semver(a), Self::Semver(b)) => Some(a.order(b)),
            _ => None,
        }
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(it) => write!(f, "{it}"),
            Self::Ip(it) => write!(f, "{it}"),
            Self::Cidr(it) => write!(f, "{}/{}", it.addr, it.bits),
            Self::Quantity(it) => write!(f, "{it}"),
            Self::Semver(it) => write!(f, "{it}"),
            Self::Format(it) => write!(f, "{}", it.name()),
            other => write!(f, "{}", other.type_name()),
        }
    }
}
