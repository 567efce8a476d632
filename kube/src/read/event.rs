//! Decodes a line of a watch. Pure.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use machinery_objects::{EditNumber, Object, ResourceVersion, SourceError, WatchError, WatchEvent};
use machinery_sync::contained;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::object::{malformed, one, validate};
use crate::refusal::{Refusal, Status};
use crate::text::{Text, TextMap, excerpt};

/// The annotation of a bookmark at the end of the initial state.
const STATE_ENDS: &str = "k8s.io/initial-events-end";
/// The annotation of a bookmark with the number of a completed edit.
const EDIT_ENDS: &str = "machinery.dev/interest-edit";

/// The bookmarks that a watch may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BookmarkMode {
    /// Of a watch from a version: only progress.
    Bookmarks,
    /// Of a watch from the state: its end, once.
    State,
    /// Of an interest: completed edits.
    Edits,
}

/// Decodes a line. After the end of the state, later ends count as plain bookmarks.
pub(crate) fn event<O: Object + DeserializeOwned>(
    line: &[u8],
    mode: &mut BookmarkMode,
) -> Result<WatchEvent<O>, WatchError> {
    let event = match contained(|| serde_json::from_slice::<Frame<'_, O>>(line)) {
        Ok(Ok(Frame(event))) if event.is_whole() => event,
        // `object` precedes `type`, or the object cannot be decoded as its type.
        _ => decode_in_any_order(line)?,
    };
    Ok(match event {
        RawEvent::Added(object) => WatchEvent::Added(object),
        RawEvent::Modified(object) => WatchEvent::Modified(object),
        RawEvent::Deleted(object) => WatchEvent::Deleted(object),
        RawEvent::Left(object) => WatchEvent::Left(object),
        RawEvent::Unreadable(unreadable) => WatchEvent::Unreadable(unreadable),
        RawEvent::Bookmark(mark) => mark.event(mode)?,
        // Without a code it is an error of the server, which may be retried.
        RawEvent::Error(status) => return Err(Refusal::of_status(status, 500).watch_error()),
    })
}

enum RawEvent<'a, O> {
    Added(O),
    Modified(O),
    Deleted(O),
    Left(O),
    Unreadable(machinery_objects::Unreadable),
    Bookmark(BookmarkObject<'a>),
    Error(Status),
}

impl<O: Object> RawEvent<'_, O> {
    fn is_whole(&self) -> bool {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) | Self::Left(object) => {
                validate(object).is_ok()
            }
            Self::Unreadable(_) | Self::Bookmark(_) | Self::Error(_) => true,
        }
    }
}

#[derive(Deserialize)]
struct BookmarkObject<'a> {
    #[serde(borrow)]
    metadata: BookmarkMetadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata<'a> {
    #[serde(borrow, default)]
    resource_version: Text<'a>,
    #[serde(borrow, default)]
    annotations: TextMap<'a>,
}

impl BookmarkObject<'_> {
    fn event<O>(self, mode: &mut BookmarkMode) -> Result<WatchEvent<O>, SourceError> {
        let BookmarkMetadata { resource_version, annotations } = self.metadata;
        let version = ResourceVersion::new(resource_version.as_ref())
            .ok_or_else(|| malformed(&"a bookmark has no resourceVersion"))?;
        let annotation = |name: &str| {
            let found = annotations.0.iter().find(|(key, _)| key.as_ref() == name);
            found.map(|(_, value)| value.as_ref())
        };
        if let (BookmarkMode::Edits, Some(edit)) = (*mode, annotation(EDIT_ENDS)) {
            let edit =
                edit.parse().map_err(|_| malformed(&format_args!("{edit:?} is no edit of an interest")))?;
            return Ok(WatchEvent::Complete { edit: EditNumber(edit), version });
        }
        let initial_state_ends = *mode == BookmarkMode::State && annotation(STATE_ENDS) == Some("true");
        if initial_state_ends {
            *mode = BookmarkMode::Bookmarks;
        }
        Ok(WatchEvent::Bookmark { version, initial_state_ends })
    }
}

/// `{"type": …, "object": …}`, in that order, as all servers write it, so that the object is
/// decoded once, as its type.
struct Frame<'a, O>(RawEvent<'a, O>);

impl<'de: 'a, 'a, O: DeserializeOwned> Deserialize<'de> for Frame<'a, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FrameVisitor(PhantomData)).map(Self)
    }
}

struct FrameVisitor<O>(PhantomData<O>);

impl<'de, O: DeserializeOwned> Visitor<'de> for FrameVisitor<O> {
    type Value = RawEvent<'de, O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a watch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let early = || A::Error::custom("the object comes before its type");
        let (key, what): (Text<'de>, Text<'de>) = map.next_entry()?.ok_or_else(early)?;
        let object: Option<Text<'de>> = map.next_key()?;
        if key.as_ref() != "type" || object.is_none_or(|object| object.as_ref() != "object") {
            return Err(early());
        }
        let event = match what.as_ref() {
            "ADDED" => RawEvent::Added(map.next_value()?),
            "MODIFIED" => RawEvent::Modified(map.next_value()?),
            "DELETED" => RawEvent::Deleted(map.next_value()?),
            "LEFT" => RawEvent::Left(map.next_value()?),
            "BOOKMARK" => RawEvent::Bookmark(map.next_value()?),
            "ERROR" => RawEvent::Error(map.next_value()?),
            other => return Err(A::Error::custom(format_args!("{other:?} is no type of an event"))),
        };
        match map.next_key::<Text<'de>>()? {
            None => Ok(event),
            Some(_) => Err(A::Error::custom("there is something behind the object")),
        }
    }
}

fn decode_in_any_order<'a, O: Object + DeserializeOwned>(
    line: &'a [u8],
) -> Result<RawEvent<'a, O>, SourceError> {
    #[derive(Deserialize)]
    struct Raw<'a> {
        #[serde(borrow, rename = "type")]
        what: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Raw { what, object } = serde_json::from_slice(line)
        .map_err(|error| malformed(&format_args!("a line of the watch is no event: {error}")))?;
    let decode = |is_gone, decode: fn(O) -> RawEvent<'a, O>| {
        match one(object, is_gone) {
            Ok(object) => Ok(decode(object)),
            // An unknown change: the cache would diverge from the server.
            Err(unreadable) if unreadable.key.is_unnamed() => {
                Err(malformed(&format_args!("there is an object without a name: {}", unreadable.reason)))
            }
            Err(unreadable) => Ok(RawEvent::Unreadable(unreadable)),
        }
    };
    let wrong = |error| malformed(&format_args!("the object of a {what} event cannot be decoded: {error}"));
    match &*what {
        "ADDED" => decode(false, RawEvent::Added),
        "MODIFIED" => decode(false, RawEvent::Modified),
        "DELETED" => decode(true, RawEvent::Deleted),
        "LEFT" => decode(true, RawEvent::Left),
        "BOOKMARK" => Ok(RawEvent::Bookmark(serde_json::from_str(object.get()).map_err(wrong)?)),
        "ERROR" => Ok(RawEvent::Error(serde_json::from_str(object.get()).map_err(wrong)?)),
        other => Err(malformed(&format_args!("{:?} is no type of an event", excerpt(other)))),
    }
}

#[cfg(test)]
mod tests;
