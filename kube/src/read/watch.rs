//! The event stream of a watch.

use std::marker::PhantomData;

use futures::stream;
use http_body_util::BodyExt as _;
use kube_client::client::Body;
use machinery_objects::{Object, SourceError, WatchError, WatchEvent, WatchStream};
use serde::de::DeserializeOwned;

use super::event::{BookmarkMode, event};
use super::lines::{LineSplitter, TooLong};
use super::object::malformed;
use crate::call::chain;

/// Decodes the events of a response body. The stream ends after an error.
pub(crate) fn read_events<O>(body: Body, mode: BookmarkMode, line_bytes: usize) -> WatchStream<O>
where
    O: Object + DeserializeOwned,
{
    let reading =
        WatchReader { body, lines: LineSplitter::new(line_bytes), line_bytes, mode, of: PhantomData };
    Box::pin(stream::unfold(Some(reading), async |reading| {
        let mut reading = reading?;
        let event = reading.next().await?;
        let reading = event.is_ok().then_some(reading);
        Some((event, reading))
    }))
}

struct WatchReader<O> {
    body: Body,
    lines: LineSplitter,
    line_bytes: usize,
    mode: BookmarkMode,
    of: PhantomData<fn() -> O>,
}

impl<O: Object + DeserializeOwned> WatchReader<O> {
    async fn next(&mut self) -> Option<Result<WatchEvent<O>, WatchError>> {
        loop {
            match self.lines.next() {
                Ok(Some(line)) => return Some(event(&line, &mut self.mode)),
                Ok(None) => {}
                Err(TooLong) => {
                    let limit = self.line_bytes;
                    let error = malformed(&format_args!("a line of the watch is longer than {limit} bytes"));
                    return Some(Err(error.into()));
                }
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.lines.push(data);
                    }
                }
                Some(Err(error)) => return Some(Err(interrupted(chain(&error)))),
                // An error, though the body ended normally: a proxy may have cut it.
                None if self.lines.has_partial_line() => {
                    return Some(Err(interrupted("it ended in the middle of a line".into())));
                }
                None => return None,
            }
        }
    }
}

/// The received events are complete, so the watch can be resumed.
fn interrupted(why: String) -> WatchError {
    SourceError::Unavailable { reason: format!("the watch broke off: {why}"), retry_after: None }.into()
}
