//! Interests on a server of Machinery: watches with keys that are edited while they run.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use machinery_objects::{
    EditNumber, Filter, Interest, InterestBy, InterestEdit, InterestRequest, InterestSource, InterestWatch,
    Object, ResourceVersion, SourceError, WatchError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::Remote;
use crate::call::{CallError, Caller};
use crate::read::{BookmarkMode, read_events};
use crate::refusal::Refusal;
use crate::request::Target;

#[async_trait]
impl<O: Object + DeserializeOwned> InterestSource<O> for Remote<O> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<O>, WatchError> {
        if !self.caller.server.machinery {
            return Err(SourceError::Unsupported { what: "interests" }.into());
        }
        let InterestRequest { by, keys, filter, after } = request;
        // A new ID for each opening never collides with the remains of an earlier interest.
        let client =
            InterestClient { caller: self.caller.clone(), filter, id: self.caller.server.ids.next() };
        let by = match &by {
            InterestBy::Field(field) => EditKey::Field(field),
            InterestBy::Label(label) => EditKey::Label(label),
        };
        let resource_version = after.as_ref().map(ResourceVersion::to_string);
        let body =
            EditBody { edit: 0, by: Some(by), resource_version, add: Some(&keys), remove: None }.encoded();
        client.post(body).await.map_err(EditError::opening)?;
        let events = self.caller.open(client.stream()?).await.map_err(CallError::source_error)?;
        let body = events.map_err(Refusal::watch_error)?;
        let events = read_events(body, BookmarkMode::Edits, self.caller.server.line_bytes);
        let interest =
            Arc::new(InterestEditor { client, numbers: Mutex::new(EditNumbers { next: 1, pending: None }) });
        Ok(InterestWatch { events, interest })
    }
}

/// The client of one interest, by its id. All its requests carry the same selectors.
struct InterestClient {
    caller: Arc<Caller>,
    filter: Filter,
    id: String,
}

/// The body of an edit.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EditBody<'a> {
    edit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<EditKey<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "texts")]
    remove: Option<&'a BTreeSet<Arc<str>>>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "texts")]
    add: Option<&'a BTreeSet<Arc<str>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum EditKey<'a> {
    Field(&'a str),
    Label(&'a str),
}

fn texts<S: serde::Serializer>(keys: &Option<&BTreeSet<Arc<str>>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().flat_map(|keys| keys.iter()).map(|key| &**key))
}

impl EditBody<'_> {
    fn encoded(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers can be encoded")
    }
}

impl InterestClient {
    fn collection(&self) -> Result<Target, SourceError> {
        Target::collection(&self.caller.kind, self.filter.namespace.as_deref())
    }

    fn stream(&self) -> Result<crate::request::ApiRequest, SourceError> {
        let target = self.collection()?.with("watch", "true").with("interest", &self.id);
        let target = target.with("allowWatchBookmarks", "true").selecting(&self.filter);
        target.into_request(Method::GET, Vec::new())
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), EditError> {
        let target = self.collection().map(|target| target.below("interests").below(&self.id));
        // With the selectors, because the server authorizes before it reads the body.
        let request =
            target.and_then(|target| target.selecting(&self.filter).into_request(Method::POST, body));
        let request = request.map_err(|error| EditError::Refused(error.into()))?;
        match self.caller.fetch(request).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(EditError::of(refusal)),
            Err(failed) => Err(EditError::Uncertain(failed.source_error().into())),
        }
    }
}

/// The error of an edit, which failed or may have failed.
enum EditError {
    /// It was refused, and its number is free.
    Refused(WatchError),
    /// The outcome is unknown. The same edit may be sent again.
    Uncertain(WatchError),
    /// The server has no such interest.
    NotFound(WatchError),
}

impl EditError {
    fn of(refusal: Refusal) -> Self {
        match refusal.code {
            // 409: the server's edit number differs from ours.
            404 | 409 => Self::NotFound(refusal.watch_error()),
            408 | 500..=599 => Self::Uncertain(refusal.watch_error()),
            _ => Self::Refused(refusal.watch_error()),
        }
    }

    fn opening(self) -> WatchError {
        match self {
            Self::Refused(error) | Self::Uncertain(error) | Self::NotFound(error) => error,
        }
    }
}

struct InterestEditor {
    client: InterestClient,
    numbers: Mutex<EditNumbers>,
}

struct EditNumbers {
    /// The number of the next edit.
    next: u64,
    /// The previous edit, if its outcome is unknown.
    pending: Option<Vec<u8>>,
}

#[async_trait]
impl Interest for InterestEditor {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        // Held during the request: numbers are consecutive, so edits cannot overlap.
        let mut numbers = self.numbers.lock().await;
        if let Some(open) = numbers.pending.clone() {
            // Unchanged: if it was applied, the repetition has no effect.
            self.send(&mut numbers, open).await?;
        }
        let number = numbers.next;
        let InterestEdit { remove, add } = &edit;
        let (remove, add) = (Some(remove), Some(add));
        let body = EditBody { edit: number, by: None, resource_version: None, remove, add }.encoded();
        // Stored before the request, so that it survives a dropped future.
        (numbers.next, numbers.pending) = (number + 1, Some(body.clone()));
        self.send(&mut numbers, body).await?;
        Ok(EditNumber(number))
    }
}

impl InterestEditor {
    /// Sends the pending edit.
    async fn send(&self, numbers: &mut EditNumbers, body: Vec<u8>) -> Result<(), WatchError> {
        match self.client.post(body).await {
            Ok(()) => numbers.pending = None,
            Err(EditError::Uncertain(error)) => return Err(error),
            Err(EditError::NotFound(_)) => return Err(WatchError::Ended),
            Err(EditError::Refused(error)) => {
                // A refused edit changed nothing, and the server expects its number again.
                (numbers.pending, numbers.next) = (None, numbers.next - 1);
                return Err(error);
            }
        }
        Ok(())
    }
}
