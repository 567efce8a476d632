//! Requests of callers to the actor.

use machinery::tokio::sync::oneshot;

use crate::drive::{FabricError, FabricRepairs, InterfaceList};
use crate::plan::{AddressKey, Interface};

/// A request. A caller that has gone away no longer receives the response.
#[derive(Debug)]
pub(super) enum Request {
    Create(Interface, Respond<()>),
    Delete(Interface, Respond<()>),
    List(Respond<InterfaceList>),
    Reconcile(Respond<FabricRepairs>),
    Find(AddressKey, Respond<Option<Interface>>),
}

pub(super) type Respond<T> = oneshot::Sender<Result<T, FabricError>>;

impl Request {
    /// Returns the address that the request is about.
    pub(super) const fn key(&self) -> Option<AddressKey> {
        match self {
            Self::Create(interface, _) | Self::Delete(interface, _) => Some(interface.key()),
            Self::List(_) | Self::Reconcile(_) | Self::Find(..) => None,
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
        }
    }
}
