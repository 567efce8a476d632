//! The version and the effect of a watch event.

use machinery_objects::{ResourceVersion, WatchEvent};

use super::step::{Effect, RemovalKind, SourceObject};

/// Returns the version up to which an event brings the cache.
pub(crate) fn version_of<T>(event: &WatchEvent<SourceObject<T>>) -> Option<ResourceVersion> {
    match event {
        WatchEvent::Added(found)
        | WatchEvent::Modified(found)
        | WatchEvent::Deleted(found)
        | WatchEvent::Left(found) => found.version.clone(),
        WatchEvent::Unreadable(unreadable) => unreadable.version.clone(),
        WatchEvent::Bookmark { version, .. } | WatchEvent::Complete { version, .. } => Some(version.clone()),
        _ => None,
    }
}

/// Returns the effect on objects; `None` for marks.
pub(crate) fn effect_of<T>(event: WatchEvent<SourceObject<T>>) -> Option<Effect<T>> {
    match event {
        WatchEvent::Added(found) | WatchEvent::Modified(found) => Some(Effect::Put(found)),
        WatchEvent::Deleted(found) => Some(Effect::Remove(found, RemovalKind::Deleted)),
        WatchEvent::Left(found) => Some(Effect::Remove(found, RemovalKind::Left)),
        WatchEvent::Unreadable(unreadable) => Some(Effect::Unreadable(unreadable)),
        _ => None,
    }
}
