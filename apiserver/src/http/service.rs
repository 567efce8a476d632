//! The server as a `tower` service, for listeners, kube-client and tests.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response};

use super::compress::{accepts_gzip, compressed};
use super::{Body, answer};
use crate::auth::Identity;
use crate::server::{Call, RequestBody, Shared};

/// The server as a `tower` service, for a fixed identity or with authentication by each request.
///
/// Cheap to clone. Returned by [`ApiServer::service`](crate::ApiServer::service) for use without a
/// socket.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
    /// The client's identity; `None` authenticates each request.
    identity: Option<Arc<Identity>>,
    /// The client's address, if there is a socket.
    peer: Option<IpAddr>,
}

impl Service {
    pub(crate) const fn new(shared: Arc<Shared>, identity: Option<Arc<Identity>>) -> Self {
        Self { shared, identity, peer: None }
    }

    /// Sets the client's address.
    #[cfg(feature = "server")]
    pub(crate) fn from(self, peer: Option<IpAddr>) -> Self {
        Self { peer, ..self }
    }

    /// Returns a service that authenticates each request by its token.
    #[cfg(feature = "server")]
    pub(crate) fn without_identity(&self) -> Self {
        Self { identity: None, ..self.clone() }
    }

    /// Returns the sender of a request with these headers, if authenticated.
    #[cfg(feature = "server")]
    pub(crate) fn sender(&self, headers: &http::HeaderMap) -> Option<Arc<Identity>> {
        self.shared.authenticator.load().identify(headers, self.identity.as_ref()).ok()
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { shared, identity, peer } = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let (silent, compresses) = (head.method == Method::HEAD, accepts_gzip(&head.headers));
            let body = RequestBody::new(body);
            let call =
                Call { method: head.method, uri: head.uri, headers: head.headers, body, identity, peer };
            let answer = shared.answer(call).await;
            Ok(match (silent, compresses) {
                (true, _) => answer::without_body(answer),
                (_, true) => compressed(answer).await,
                _ => answer,
            })
        })
    }
}
