//! Interest watches of a handle.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use machinery_objects::{
    EditNumber, Interest, InterestEdit, InterestRequest, InterestSource, InterestWatch, InvalidField,
    SourceError, WatchError, WatchEvent,
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::Handle;
use super::errors::{lost, source_error, watch_error};
use super::read::revision;
use super::watch::{LASTS, until_error};
use crate::cache::ObjectFilter;
use crate::interest::{
    self, EditChannel, EditError, InterestEvent, InterestFeed, InvalidEdit, KeyLimits, StreamError,
    StreamRequest,
};
use crate::kind::{Kind, Subresource};
use crate::watch::Plan;

#[async_trait]
impl<K> InterestSource<Arc<K>> for Handle<K>
where
    K: DeserializeOwned + Send + Sync + 'static,
{
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<Arc<K>>, WatchError> {
        let InterestRequest { by, keys, filter, after } = request;
        let kind = self.served("watch")?;
        let selection = self.selection(&kind, &filter)?;
        let object_request = self.object_request(&kind, Subresource::Main, filter.namespace.as_deref(), "");
        self.allow("watch", &object_request, &filter.fields)?;
        interest::index_for(&by, &kind, filter.namespace.as_deref()).map_err(source_error)?;
        if self.shared.stopping.is_cancelled() {
            let reason = "the server is stopped".into();
            return Err(SourceError::Unavailable { reason, retry_after: None }.into());
        }
        let keys = InterestEdit { add: keys, ..InterestEdit::default() };
        let after = after.map(|after| revision(&after)).transpose()?;
        let bounds = KeyLimits::of(&self.shared.limits);
        // No share of the memory limit of interests: a program limits itself.
        let channel = EditChannel::open(&keys, after.is_some(), [0; 32], bounds, None).map_err(edit_error)?;
        let channel = Arc::new(channel);
        let plan = Plan { bookmarks: true, until: Instant::now() + LASTS };
        let filter = ObjectFilter { selection, namespace: filter.namespace };
        let request = StreamRequest { by, filter, resumes: after.map(|after| (keys, after)) };
        let feed = match InterestFeed::open(&self.shared, channel.clone(), request, plan).await {
            Ok(feed) => feed,
            Err(StreamError::Refused(refusal)) => return Err(self.watch_error(*refusal).await),
            Err(StreamError::Watch(error)) => return Err(lost(error)),
        };
        let handle = self.clone();
        let events = feed.map(move |event| match event {
            Ok(event) => Ok(handle.interest_event(&kind, event)),
            Err(StreamError::Watch(error)) => Err(lost(error)),
            Err(StreamError::Refused(refusal)) => Err(watch_error(*refusal, None)),
        });
        let to_end = channel.clone();
        let events = until_error(events.inspect(move |event| {
            // Errors of the conversion end the feed, too.
            if event.is_err() {
                to_end.end();
            }
        }));
        Ok(InterestWatch { events: Box::pin(events), interest: Arc::new(Editing(channel)) })
    }
}

/// Edits the keys of an interest.
struct Editing(Arc<EditChannel>);

#[async_trait]
impl Interest for Editing {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        self.0.edit_next(&edit).map(EditNumber).map_err(edit_error)
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Handle<K> {
    fn interest_event(&self, kind: &Kind, event: InterestEvent) -> WatchEvent<Arc<K>> {
        match event {
            InterestEvent::Changed(changed) => self.seen(kind, &changed),
            InterestEvent::Bookmark(at) => {
                WatchEvent::Bookmark { version: at.into(), initial_state_ends: false }
            }
            InterestEvent::Complete(edit, at) => {
                WatchEvent::Complete { edit: EditNumber(edit), version: at.into() }
            }
        }
    }
}

fn edit_error(why: EditError) -> WatchError {
    let (field, reason) = match why {
        EditError::Ended => return WatchError::Ended,
        EditError::Full => return SourceError::TooManyRequests { retry_after: None }.into(),
        EditError::Wrong(InvalidEdit::TooMany { count, limit }) => {
            ("add", format!("the interest would have {count} keys, and {limit} is the limit"))
        }
        EditError::Wrong(InvalidEdit::TooLong { field, limit }) => {
            (field, format!("a key is longer than {limit} bytes"))
        }
        EditError::Wrong(InvalidEdit::Empty { field }) => {
            (field, "a key is empty: what is absent cannot be watched by it".into())
        }
        EditError::Wrong(InvalidEdit::Order { expected }) => ("edit", format!("the next edit is {expected}")),
    };
    let causes = vec![InvalidField { field: field.into(), reason: reason.clone() }];
    SourceError::Invalid { reason, causes }.into()
}
