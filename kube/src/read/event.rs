//! A line of a watch, as what happened. Pure.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use machinery_objects::{EditNumber, Object, ResourceVersion, SourceError, WatchError, WatchEvent};
use machinery_sync::contained;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::object::{malformed, one, whole};
use crate::refusal::{Refusal, Status};
use crate::text::{Text, Texts, excerpt};

/// The annotation of a bookmark that says that the state has been told.
const STATE_ENDS: &str = "k8s.io/initial-events-end";
/// The annotation of a bookmark that says which edit of an interest is done.
const EDIT_ENDS: &str = "machinery.dev/interest-edit";

/// Which marks a watch may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// It goes on from a version.
    Bookmarks,
    /// It begins with the state, whose end comes once.
    State,
    /// It is of an interest.
    Edits,
}

/// What a line says. Afterwards a state that has ended does not end again.
pub(crate) fn event<O: Object + DeserializeOwned>(
    line: &[u8],
    marks: &mut Marks,
) -> Result<WatchEvent<O>, WatchError> {
    let told = match contained(|| serde_json::from_slice::<Frame<'_, O>>(line)) {
        Ok(Ok(Frame(told))) if told.is_whole() => told,
        // It says first of what, and then what kind of thing happened, or its object cannot be read.
        _ => in_any_order(line)?,
    };
    Ok(match told {
        Told::Added(object) => WatchEvent::Added(object),
        Told::Modified(object) => WatchEvent::Modified(object),
        Told::Deleted(object) => WatchEvent::Deleted(object),
        Told::Left(object) => WatchEvent::Left(object),
        Told::Unreadable(unreadable) => WatchEvent::Unreadable(unreadable),
        Told::Bookmark(mark) => mark.event(marks)?,
        Told::Error(status) => return Err(Refusal::of_status(status, 500).watch_error()),
    })
}

enum Told<'a, O> {
    Added(O),
    Modified(O),
    Deleted(O),
    Left(O),
    Unreadable(machinery_objects::Unreadable),
    Bookmark(Mark<'a>),
    Error(Status),
}

impl<O: Object> Told<'_, O> {
    fn is_whole(&self) -> bool {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) | Self::Left(object) => {
                whole(object).is_ok()
            }
            Self::Unreadable(_) | Self::Bookmark(_) | Self::Error(_) => true,
        }
    }
}

#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    metadata: MarkMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkMeta<'a> {
    #[serde(borrow, default)]
    resource_version: Text<'a>,
    #[serde(borrow, default)]
    annotations: Texts<'a>,
}

impl Mark<'_> {
    fn event<O>(self, marks: &mut Marks) -> Result<WatchEvent<O>, SourceError> {
        let MarkMeta { resource_version, annotations } = self.metadata;
        let version = ResourceVersion::new(resource_version.as_ref())
            .ok_or_else(|| malformed(&"a bookmark has no resourceVersion"))?;
        let annotation = |name: &str| {
            let found = annotations.0.iter().find(|(key, _)| key.as_ref() == name);
            found.map(|(_, value)| value.as_ref())
        };
        if let (Marks::Edits, Some(edit)) = (*marks, annotation(EDIT_ENDS)) {
            let edit =
                edit.parse().map_err(|_| malformed(&format_args!("{edit:?} is no edit of an interest")))?;
            return Ok(WatchEvent::Complete { edit: EditNumber(edit), version });
        }
        let initial_state_ends = *marks == Marks::State && annotation(STATE_ENDS) == Some("true");
        if initial_state_ends {
            *marks = Marks::Bookmarks;
        }
        Ok(WatchEvent::Bookmark { version, initial_state_ends })
    }
}

/// `{"type": …, "object": …}`, in that order, as all servers write it: so that the object is read once, as what it is.
struct Frame<'a, O>(Told<'a, O>);

impl<'de: 'a, 'a, O: DeserializeOwned> Deserialize<'de> for Frame<'a, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfFrame(PhantomData)).map(Self)
    }
}

struct OfFrame<O>(PhantomData<O>);

impl<'de, O: DeserializeOwned> Visitor<'de> for OfFrame<O> {
    type Value = Told<'de, O>;

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
        let told = match what.as_ref() {
            "ADDED" => Told::Added(map.next_value()?),
            "MODIFIED" => Told::Modified(map.next_value()?),
            "DELETED" => Told::Deleted(map.next_value()?),
            "LEFT" => Told::Left(map.next_value()?),
            "BOOKMARK" => Told::Bookmark(map.next_value()?),
            "ERROR" => Told::Error(map.next_value()?),
            other => return Err(A::Error::custom(format_args!("{other:?} is no type of an event"))),
        };
        match map.next_key::<Text<'de>>()? {
            None => Ok(told),
            Some(_) => Err(A::Error::custom("there is something behind the object")),
        }
    }
}

fn in_any_order<'a, O: Object + DeserializeOwned>(line: &'a [u8]) -> Result<Told<'a, O>, SourceError> {
    #[derive(Deserialize)]
    struct Raw<'a> {
        #[serde(borrow, rename = "type")]
        what: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Raw { what, object } = serde_json::from_slice(line)
        .map_err(|error| malformed(&format_args!("a line of the watch is no event: {error}")))?;
    let told = |is_gone, told: fn(O) -> Told<'a, O>| {
        match one(object, is_gone) {
            Ok(object) => Ok(told(object)),
            // It changes nobody knows what: the cache would not be what the server has.
            Err(unreadable) if unreadable.key.is_unnamed() => {
                Err(malformed(&format_args!("there is an object without a name: {}", unreadable.reason)))
            }
            Err(unreadable) => Ok(Told::Unreadable(unreadable)),
        }
    };
    let wrong = |error| malformed(&format_args!("what comes with {what} cannot be read: {error}"));
    match &*what {
        "ADDED" => told(false, Told::Added),
        "MODIFIED" => told(false, Told::Modified),
        "DELETED" => told(true, Told::Deleted),
        "LEFT" => told(true, Told::Left),
        "BOOKMARK" => Ok(Told::Bookmark(serde_json::from_str(object.get()).map_err(wrong)?)),
        "ERROR" => Ok(Told::Error(serde_json::from_str(object.get()).map_err(wrong)?)),
        other => Err(malformed(&format_args!("{:?} is no type of an event", excerpt(other)))),
    }
}

#[cfg(test)]
mod tests;
