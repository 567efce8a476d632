//! The objects of one kind on a server.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kube_client::Client;
use machinery_objects::Kind;

use crate::ServerProfile;
use crate::call::Caller;

/// The objects of one kind on a server, decoded as `O`: a
/// [`ListWatch`](machinery_objects::ListWatch), an
/// [`InterestSource`](machinery_objects::InterestSource) if the server supports it, and a
/// [`Writer`](machinery_objects::Writer) if `O` can be encoded.
///
/// `O` is decoded by its `Deserialize` from the server's JSON. Lists of built-in kinds omit
/// `apiVersion` and `kind` of items, so `O` should not require them. For reads, `O` may be
/// arbitrarily small; for writes it must have every field of the object: an update deletes the
/// omitted ones.
///
/// Cheap to clone. It has no cache, background task or retry.
pub struct Remote<O> {
    pub(crate) caller: Arc<Caller>,
    of: PhantomData<fn() -> O>,
}

impl<O> Remote<O> {
    /// Creates the port of a kind with a client of kube: [`client`](crate::client) creates one with
    /// few connections, and any other works.
    #[must_use]
    pub fn new(client: Client, kind: Kind, server: ServerProfile) -> Self {
        Self { caller: Arc::new(Caller { client, kind, server, manager: None }), of: PhantomData }
    }

    /// Returns the same port with this field manager. Without one, servers derive the name from the
    /// `User-Agent` header, or use none.
    #[must_use]
    pub fn managed_by(&self, manager: &str) -> Self {
        let Caller { client, kind, server, .. } = &*self.caller;
        let (client, kind, server) = (client.clone(), kind.clone(), server.clone());
        Self {
            caller: Arc::new(Caller { client, kind, server, manager: Some(manager.into()) }),
            of: PhantomData,
        }
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.caller.kind
    }
}

impl<O> Clone for Remote<O> {
    fn clone(&self) -> Self {
        Self { caller: self.caller.clone(), of: PhantomData }
    }
}

impl<O> fmt::Debug for Remote<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.caller.kind)
    }
}
