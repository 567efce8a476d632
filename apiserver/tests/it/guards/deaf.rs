//! A server without watch events from its store.

use std::task::{Context, Poll};

use async_trait::async_trait;
use machinery_apiserver::ApiServer;
use machinery_objects::{Revision, SourceError, WriteError, Writer};
use machinery_store::{
    Backend, Commit, CommitError, CompactError, KeySpan, Memory, Options, Page, Range, ReadError,
    Transaction, Watch, WatchError, WatchItem, WatchStream,
};

use super::subnet::{GuardCalls, PATH, posted, records, subnet, subnets, subnets_of};
use crate::client::Client;

/// A store that sends no events to watches of subnets.
#[derive(Clone)]
struct Deaf(Memory);

struct Silence;

impl WatchStream for Silence {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        Poll::Pending
    }

    fn request_progress(&mut self) {}
}

#[async_trait]
impl Backend for Deaf {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.0.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.0.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        self.0.commit(transaction).await
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        match span.contains("example.com/subnets/default/a") && !span.contains("") {
            true => Ok(Watch::new(Silence)),
            false => self.0.watch(span, after).await,
        }
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.0.compact(to).await
    }
}

/// An unknown state makes no difference to the outcome of earlier writes.
#[tokio::test]
async fn a_write_is_refused_if_its_guard_has_no_current_view() {
    let store = Deaf(Memory::new(Options::default()));
    let server =
        ApiServer::builder(store.clone()).kind(subnets(&GuardCalls::default())).start().await.unwrap();
    let (client, handle) = (Client::of(&server), subnets_of(&server));
    handle.create(&subnet("a", &[1], 0, 10), None).await.unwrap();
    let (error, refused) = (subnet("b", &[2], 0, 10), posted(&subnet("c", &[3], 0, 10)));
    let (error, refused) = tokio::join!(handle.create(&error, None), client.post(PATH, &refused));
    let error = error.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Unavailable { .. })), "{error:?}");
    let why = "what is beside it among subnets.example.com is not known as of now, and nothing was written: try again";
    assert_eq!(refused.refused(), (503, "ServiceUnavailable", why));
    assert_eq!(refused.body["details"]["retryAfterSeconds"], 1);
    assert_eq!(records(&store.0).await, 1);
    server.stop().await;
}
