//! Requests of callers to the actor.

use std::collections::{BTreeMap, BTreeSet};

use machinery::tokio::sync::oneshot;

use crate::drive::{FabricError, FabricRepairs, InterfaceList};
use crate::plan::{AddressKey, Interface, Port};

/// A request. A caller that has gone away no longer receives the response.
#[derive(Debug)]
pub(super) enum FabricRequest {
    Create(Interface, Respond<()>),
    Delete(Interface, Respond<()>),
    List(Respond<InterfaceList>),
    Reconcile(Respond<FabricRepairs>),
    Find(AddressKey, Respond<FoundInterface>),
    /// The owners of flows, by cookie.
    Owners(BTreeSet<u64>, Respond<BTreeMap<u64, Interface>>),
}

pub(super) type Respond<T> = oneshot::Sender<Result<T, FabricError>>;

/// An interface with its port.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundInterface {
    pub(super) interface: Option<Interface>,
    /// Port of a local interface.
    pub(super) port: Option<Port>,
    /// The tunnel port.
    pub(super) tunnel: Option<Port>,
}

impl FabricRequest {
    /// Returns the address that the request is about.
    pub(super) const fn key(&self) -> Option<AddressKey> {
        match self {
            Self::Create(interface, _) | Self::Delete(interface, _) => Some(interface.key()),
            Self::List(_) | Self::Reconcile(_) | Self::Find(..) | Self::Owners(..) => None,
        }
    }

    /// Fails the request.
    pub(super) fn fail(self, error: FabricError) {
        // The caller may have gone away.
        match self {
            Self::Create(_, respond) | Self::Delete(_, respond) => drop(respond.send(Err(error))),
            Self::List(respond) => drop(respond.send(Err(error))),
            Self::Reconcile(respond) => drop(respond.send(Err(error))),
            Self::Find(_, respond) => drop(respond.send(Err(error))),
            Self::Owners(_, respond) => drop(respond.send(Err(error))),
        }
    }
}
