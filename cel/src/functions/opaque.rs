//! The values of libraries that are neither text nor number.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;

use super::format::Format;
use super::net::Cidr;
use super::quantity::Quantity;
use super::semver::Semver;
use super::url::Url;
use crate::types::opaque;

/// A value of a type that a library brings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Opaque {
    Url(Url),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(Quantity),
    Semver(Semver),
    Format(Format),
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
        }
    }

    /// How large costs take it to be.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(it) => u64::from(it.bits).div_ceil(8),
            _ => 1,
        }
    }

    /// The order of two of a kind that has one.
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
        }
    }
}
