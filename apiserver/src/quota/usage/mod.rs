//! Usage of one object: the amounts that it adds to a quota, and its properties that scopes select.
//!
//! Only pods, services and persistent volume claims have a usage beside their number.

mod claim;
mod pod;
mod service;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use pod::unspecified;

use super::QuotaAmount;
use crate::kind::Kind;

/// The kinds with a usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasuredKind {
    Pod,
    Service,
    Claim,
}

/// The usage of an object.
#[derive(Debug, Default)]
pub(crate) struct ObjectUsage {
    /// Amounts by key of a quota. Few, so that a search is as fast as an index.
    amounts: Box<[(Cow<'static, str>, QuotaAmount)]>,
    pub(super) facts: ScopeFacts,
}

/// The properties of an object that scopes select.
#[derive(Debug, Default)]
pub(super) enum ScopeFacts {
    /// No scope selects it.
    #[default]
    None,
    Pod {
        best_effort: bool,
        terminating: bool,
        /// Empty if it has none.
        priority_class: Box<str>,
        cross_namespace: bool,
    },
    /// The volume attributes classes that a claim refers to.
    Claim(Box<[Box<str>]>),
}

impl MeasuredKind {
    /// Returns the measured kind that a kind is, if any.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        let is_core = kind.built_in && kind.group.is_empty();
        is_core.then(|| Self::of_plural(&kind.names.plural)).flatten()
    }

    pub(crate) fn of_plural(plural: &str) -> Option<Self> {
        match plural {
            "pods" => Some(Self::Pod),
            "services" => Some(Self::Service),
            "persistentvolumeclaims" => Some(Self::Claim),
            _ => None,
        }
    }

    /// Returns the measured kind whose objects add to a key, and nothing for a key of object
    /// numbers.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        if pod::is_key(key) {
            Some(Self::Pod)
        } else if service::is_key(key) {
            Some(Self::Service)
        } else if claim::is_key(key) {
            Some(Self::Claim)
        } else {
            None
        }
    }

    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::Service => "services",
            Self::Claim => "persistentvolumeclaims",
        }
    }
}

impl ObjectUsage {
    /// Measures an object.
    pub(crate) fn of(kind: MeasuredKind, object: &Value) -> Self {
        let (amounts, facts) = match kind {
            MeasuredKind::Pod => pod::measure(object),
            MeasuredKind::Service => (service::measure(object), ScopeFacts::None),
            MeasuredKind::Claim => claim::measure(object),
        };
        Self { amounts: amounts.into(), facts }
    }

    /// Returns the amount that the object adds to a key.
    pub(crate) fn amount(&self, key: &str) -> QuotaAmount {
        let found = self.amounts.iter().find(|(name, _)| name == key);
        found.map_or(QuotaAmount::ZERO, |(_, amount)| *amount)
    }
}

type Amounts = Vec<(Cow<'static, str>, QuotaAmount)>;
