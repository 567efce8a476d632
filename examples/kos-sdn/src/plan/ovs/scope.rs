//! The part of a switch that a plan covers.

use std::collections::BTreeSet;

use super::super::AddressKey;
use crate::drive::ovs::links::NamespaceName;

/// The part of a switch that a plan covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything, undesired state included.
    All,
    /// Some addresses, the bridge and the tunnel port.
    Some {
        /// The addresses.
        keys: BTreeSet<AddressKey>,
        /// Namespaces that may be left by deleted interfaces.
        places: BTreeSet<NamespaceName>,
    },
}

/// The attempts of the current run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Names of created ports. A failed port is created once per run: Open vSwitch does not retry
    /// by itself.
    pub names: BTreeSet<String>,
    /// Whether no failed port is created again.
    pub is_exhausted: bool,
    /// Interfaces with a failed change: left alone for the rest of the run.
    pub failed: BTreeSet<AddressKey>,
    /// Namespaces that could not be deleted.
    pub failed_places: BTreeSet<NamespaceName>,
}

impl Scope {
    /// Returns whether an address is covered.
    #[must_use]
    pub fn covers(&self, key: &AddressKey) -> bool {
        match self {
            Self::All => true,
            Self::Some { keys, .. } => keys.contains(key),
        }
    }

    /// Returns whether everything is covered.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

impl Attempts {
    /// Returns whether a failed port may be created again.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        !self.is_exhausted && !self.names.contains(name)
    }
}
