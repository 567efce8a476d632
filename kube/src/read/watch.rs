//! A watch under way.

use std::marker::PhantomData;

use futures::stream;
use http_body_util::BodyExt as _;
use kube_client::client::Body;
use machinery_objects::{Object, SourceError, WatchError, WatchEvent, WatchStream};
use serde::de::DeserializeOwned;

use super::event::{Marks, event};
use super::lines::{Lines, TooLong};
use super::object::malformed;
use crate::call::chain;

/// What the lines of an answer say. After an error it ends.
pub(crate) fn follow<O>(body: Body, marks: Marks, line_bytes: usize) -> WatchStream<O>
where
    O: Object + DeserializeOwned,
{
    let reading = Reading { body, lines: Lines::new(line_bytes), line_bytes, marks, of: PhantomData };
    Box::pin(stream::unfold(Some(reading), async |reading| {
        let mut reading = reading?;
        let event = reading.next().await?;
        let reading = event.is_ok().then_some(reading);
        Some((event, reading))
    }))
}

struct Reading<O> {
    body: Body,
    lines: Lines,
    line_bytes: usize,
    marks: Marks,
    of: PhantomData<fn() -> O>,
}

impl<O: Object + DeserializeOwned> Reading<O> {
    async fn next(&mut self) -> Option<Result<WatchEvent<O>, WatchError>> {
        loop {
            match self.lines.next() {
                Ok(Some(line)) => return Some(event(&line, &mut self.marks)),
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
                Some(Err(error)) => return Some(Err(broken_off(chain(&error)))),
                None if self.lines.is_amid_a_line() => {
                    return Some(Err(broken_off("it ended in the middle of a line".into())));
                }
                None => return None,
            }
        }
    }
}

/// What came is whole, so the watch can be resumed.
fn broken_off(why: String) -> WatchError {
    SourceError::Unavailable { reason: format!("the watch broke off: {why}"), retry_after: None }.into()
}
