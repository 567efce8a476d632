//! Watches whose keys are edited while they run, on a server of Machinery.

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
use crate::call::{Caller, Failed};
use crate::read::{Marks, follow};
use crate::refusal::Refusal;
use crate::request::Target;

#[async_trait]
impl<O: Object + DeserializeOwned> InterestSource<O> for Remote<O> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<O>, WatchError> {
        if !self.caller.server.machinery {
            return Err(SourceError::Unsupported { what: "interests" }.into());
        }
        let InterestRequest { by, keys, filter, after } = request;
        let line = Line { caller: self.caller.clone(), filter, id: self.caller.server.ids.next() };
        let by = match &by {
            InterestBy::Field(field) => By::Field(field),
            InterestBy::Label(label) => By::Label(label),
        };
        let resource_version = after.as_ref().map(ResourceVersion::to_string);
        let body = Body { edit: 0, by: Some(by), resource_version, add: Some(&keys), remove: None }.encoded();
        line.post(body).await.map_err(NotEdited::opening)?;
        let events = self.caller.begin(line.stream()?).await.map_err(Failed::source_error)?;
        let body = events.map_err(Refusal::watch_error)?;
        let events = follow(body, Marks::Edits, self.caller.server.line_bytes);
        let interest = Arc::new(Editing { line, numbers: Mutex::new(Numbers { next: 1, open: None }) });
        Ok(InterestWatch { events, interest })
    }
}

/// One interest, as requests name it. All of them carry the same selectors.
struct Line {
    caller: Arc<Caller>,
    filter: Filter,
    id: String,
}

/// What an edit says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    edit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<By<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "texts")]
    remove: Option<&'a BTreeSet<Arc<str>>>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "texts")]
    add: Option<&'a BTreeSet<Arc<str>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum By<'a> {
    Field(&'a str),
    Label(&'a str),
}

fn texts<S: serde::Serializer>(keys: &Option<&BTreeSet<Arc<str>>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().flat_map(|keys| keys.iter()).map(|key| &**key))
}

impl Body<'_> {
    fn encoded(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers can be encoded")
    }
}

impl Line {
    fn collection(&self) -> Result<Target, SourceError> {
        Target::collection(&self.caller.kind, self.filter.namespace.as_deref())
    }

    fn stream(&self) -> Result<crate::request::Asked, SourceError> {
        let target = self.collection()?.with("watch", "true").with("interest", &self.id);
        let target = target.with("allowWatchBookmarks", "true").selecting(&self.filter);
        target.ask(Method::GET, Vec::new())
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), NotEdited> {
        let target = self.collection().map(|target| target.below("interests").below(&self.id));
        let asked = target.and_then(|target| target.selecting(&self.filter).ask(Method::POST, body));
        let asked = asked.map_err(|error| NotEdited::Refused(error.into()))?;
        match self.caller.answer(asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(NotEdited::of(refusal)),
            Err(failed) => Err(NotEdited::Open(failed.source_error().into())),
        }
    }
}

/// Why an edit was not made, or may not have been.
enum NotEdited {
    /// It is not made, and its number is free.
    Refused(WatchError),
    /// Nobody knows. The same may be sent again.
    Open(WatchError),
    /// There is no such interest.
    Unknown(WatchError),
}

impl NotEdited {
    fn of(refusal: Refusal) -> Self {
        match refusal.code {
            // Of the second: it has come to another number than we have.
            404 | 409 => Self::Unknown(refusal.watch_error()),
            408 | 500..=599 => Self::Open(refusal.watch_error()),
            _ => Self::Refused(refusal.watch_error()),
        }
    }

    fn opening(self) -> WatchError {
        match self {
            Self::Refused(error) | Self::Open(error) | Self::Unknown(error) => error,
        }
    }
}

struct Editing {
    line: Line,
    numbers: Mutex<Numbers>,
}

struct Numbers {
    /// Of the edit to come.
    next: u64,
    /// The one before, if it is not known whether it was made.
    open: Option<Vec<u8>>,
}

#[async_trait]
impl Interest for Editing {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        let mut numbers = self.numbers.lock().await;
        if let Some(open) = numbers.open.clone() {
            // As it was: if it was made, this changes nothing.
            self.send(&mut numbers, open).await?;
        }
        let number = numbers.next;
        let InterestEdit { remove, add } = &edit;
        let (remove, add) = (Some(remove), Some(add));
        let body = Body { edit: number, by: None, resource_version: None, remove, add }.encoded();
        // From here on, also if this is dropped.
        (numbers.next, numbers.open) = (number + 1, Some(body.clone()));
        self.send(&mut numbers, body).await?;
        Ok(EditNumber(number))
    }
}

impl Editing {
    /// Sends the edit that is open.
    async fn send(&self, numbers: &mut Numbers, body: Vec<u8>) -> Result<(), WatchError> {
        match self.line.post(body).await {
            Ok(()) => numbers.open = None,
            Err(NotEdited::Open(error)) => return Err(error),
            Err(NotEdited::Unknown(_)) => return Err(WatchError::Ended),
            Err(NotEdited::Refused(error)) => {
                (numbers.open, numbers.next) = (None, numbers.next - 1);
                return Err(error);
            }
        }
        Ok(())
    }
}
