//! The objects of one kind on a server.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kube_client::Client;
use machinery_objects::Kind;

use crate::Server;
use crate::call::Caller;

/// The objects of one kind on a server, as `O`: a [`ListWatch`](machinery_objects::ListWatch), an
/// [`InterestSource`](machinery_objects::InterestSource) where the server has that, and a
/// [`Writer`](machinery_objects::Writer) where `O` can be encoded.
///
/// `O` is read with its own `Deserialize`, from objects as the server has them. Lists of built-in kinds do not say
/// `apiVersion` and `kind` in each item, so it should not ask for them. To read, it may be as small as one likes; to
/// write, it must hold all that an object says: what it leaves out of an update is deleted.
///
/// Cheap to clone. It keeps nothing, starts nothing and repeats nothing.
pub struct Remote<O> {
    pub(crate) caller: Arc<Caller>,
    of: PhantomData<fn() -> O>,
}

impl<O> Remote<O> {
    /// The objects of a kind, by a client of kube: [`client`](crate::client) makes one with few connections, and any other
    /// will do.
    #[must_use]
    pub fn new(client: Client, kind: Kind, server: Server) -> Self {
        Self { caller: Arc::new(Caller { client, kind, server, manager: None }), of: PhantomData }
    }

    /// The same, writing under this name: it is what servers call who manages a field. Without one they take the name of the
    /// program from the headers, or none.
    #[must_use]
    pub fn managed_by(&self, manager: &str) -> Self {
        let Caller { client, kind, server, .. } = &*self.caller;
        let (client, kind, server) = (client.clone(), kind.clone(), server.clone());
        Self {
            caller: Arc::new(Caller { client, kind, server, manager: Some(manager.into()) }),
            of: PhantomData,
        }
    }

    /// What it is of.
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
