//! The client of a connection: its identity, its place, and its cancellations.

use std::sync::Arc;

use tokio::time::Instant;

use super::cancellations::Cancellations;
use super::expiry::Expiry;
use super::unauthenticated::UnauthenticatedPlace;
use crate::auth::Identity;

/// The client of a connection, to the listener.
#[derive(Default)]
pub(super) struct ConnectionClient {
    /// The place of the connection until its client has authenticated.
    place: Option<UnauthenticatedPlace>,
    /// The user of the first authenticated request.
    user: Option<Arc<Identity>>,
    cancellations: Option<Arc<Cancellations>>,
    /// The expiry of its certificate.
    pub(super) expiry: Option<Expiry>,
}

/// The authentication of a connection's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientState {
    /// No request has been authenticated.
    Unknown,
    Known,
    /// The client's certificate has expired.
    Expired,
}

impl ConnectionClient {
    /// A client at `place`; `None`: an authenticated one. The listener counts its `cancellations`.
    pub(super) fn new(place: Option<UnauthenticatedPlace>, cancellations: Arc<Cancellations>) -> Self {
        Self { place, cancellations: Some(cancellations), ..Self::default() }
    }

    pub(super) fn state(&self) -> ClientState {
        match &self.expiry {
            Some(expiry) if expiry.is_over() => ClientState::Expired,
            _ if self.user.is_none() => ClientState::Unknown,
            _ => ClientState::Known,
        }
    }

    pub(super) fn authenticated(&mut self, identity: Arc<Identity>) {
        self.user = Some(identity);
        self.place = None;
    }

    /// Counts a cancelled request. Returns the end of the connection's pause, if any.
    pub(super) fn cancelled(&self, now: Instant) -> Option<Instant> {
        let (user, cancellations) = (self.user.as_ref()?, self.cancellations.as_ref()?);
        cancellations.count(&user.user, now)
    }
}
