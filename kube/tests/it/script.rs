//! A server with scripted responses, each sent once.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use machinery_kube::kube_client::Client;
use machinery_kube::kube_client::client::Body;
use machinery_sync::Mutex;
use tower_service::Service;

/// The remaining responses, and the received requests.
#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<State>>);

struct State {
    replies: VecDeque<Reply>,
    requests: Vec<String>,
}

type Piece = Result<Bytes, io::Error>;
type Pieces = Pin<Box<dyn Stream<Item = Piece> + Send>>;

/// A response, or none.
pub(crate) enum Reply {
    Answer(Response<Pieces>),
    /// The request arrives, and the connection breaks.
    Lost,
    /// The request arrives, and there is no response.
    Silent,
}

impl Reply {
    /// A complete body.
    pub(crate) fn of(status: u16, body: impl Into<Bytes>) -> Self {
        Self::pieces(status, [body.into()])
    }

    /// A body in pieces, and then its end.
    pub(crate) fn pieces<B: Into<Bytes>>(status: u16, pieces: impl IntoIterator<Item = B>) -> Self {
        let pieces: Vec<_> = pieces.into_iter().map(|piece| Ok(piece.into())).collect();
        Self::stream(status, stream::iter(pieces))
    }

    /// A body from a stream.
    pub(crate) fn stream(status: u16, pieces: impl Stream<Item = Piece> + Send + 'static) -> Self {
        let pieces: Pieces = Box::pin(pieces);
        Self::Answer(Response::builder().status(status).body(pieces).unwrap())
    }

    /// The same, and then it breaks.
    pub(crate) fn broken(status: u16, body: impl Into<Bytes>) -> Self {
        let pieces = [Ok(body.into()), Err(io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer"))];
        Self::stream(status, stream::iter(pieces))
    }

    pub(crate) fn header(self, name: &'static str, value: &'static str) -> Self {
        match self {
            Self::Answer(mut response) => {
                response.headers_mut().insert(name, value.parse().unwrap());
                Self::Answer(response)
            }
            other => other,
        }
    }
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let (replies, requests) = (replies.into_iter().collect(), Vec::new());
        Self(Arc::new(Mutex::new(State { replies, requests })))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// Each request: method, path, and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.lock().requests.clone()
    }
}

impl Service<Request<Body>> for Script {
    type Response = Response<StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, io::Error>>>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let script = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let said = format!("{} {} {}", head.method, head.uri, String::from_utf8_lossy(&body));
            let reply = {
                let mut state = script.0.lock();
                state.requests.push(said.trim_end().to_owned());
                state.replies.pop_front().expect("no further request is expected")
            };
            match reply {
                Reply::Answer(response) => Ok(response
                    .map(|pieces| StreamBody::new(pieces.map(|piece| piece.map(Frame::data)).boxed()))),
                Reply::Lost => Err(io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer")),
                Reply::Silent => {
                    std::future::pending::<Result<_, Infallible>>().await.map_err(|never| match never {})
                }
            }
        })
    }
}
