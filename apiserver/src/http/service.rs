//! The server as a service: a request goes in, an answer comes out. What kube-client, a test or a listener is given.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::Body;
use crate::auth::Identity;
use crate::refusal::Refusal;
use crate::server::{Call, Shared};

/// The server for one client, who is known already, or for whoever shows that they may.
///
/// Cheap to clone. With [`ApiServer::service`](crate::ApiServer::service) it takes requests without a socket.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
    /// Who the client is. `None`: what its headers say.
    identity: Option<Arc<Identity>>,
}

impl Service {
    pub(crate) const fn new(shared: Arc<Shared>, identity: Option<Arc<Identity>>) -> Self {
        Self { shared, identity }
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
        let Self { shared, identity } = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = match read(body, &head.headers, shared.limits.body_bytes).await {
                Ok(body) => body,
                Err(refusal) => return Ok(super::answer::refused(&refusal)),
            };
            let call = Call { method: head.method, uri: head.uri, headers: head.headers, body, identity };
            Ok(shared.answer(call).await)
        })
    }
}

/// The whole body, up to a limit.
async fn read<B>(body: B, headers: &HeaderMap, limit: usize) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let too_large = || {
        let message = format!("Request entity too large: limit is {limit}");
        Refusal::new(413, "RequestEntityTooLarge", message)
    };
    let announced =
        headers.get(http::header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|announced: usize| announced > limit) {
        return Err(too_large());
    }
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Refusal::bad_request(format!("the body of the request ended early: {error}"))),
    }
}
