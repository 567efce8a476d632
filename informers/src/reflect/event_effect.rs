//! What an event is: at which version, and what becomes of the cache by it.

use machinery_objects::{ResourceVersion, WatchEvent};

use super::step::{Effect, RemovalKind, SourceObject};

/// Up to where it tells.
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

/// `None`: nothing, of objects.
pub(crate) fn effect_of<T>(event: WatchEvent<SourceObject<T>>) -> Option<Effect<T>> {
    match event {
        WatchEvent::Added(found) | WatchEvent::Modified(found) => Some(Effect::Put(found)),
        WatchEvent::Deleted(found) => Some(Effect::Remove(found, RemovalKind::Deleted)),
        WatchEvent::Left(found) => Some(Effect::Remove(found, RemovalKind::Left)),
        WatchEvent::Unreadable(unreadable) => Some(Effect::Unreadable(unreadable)),
        _ => None,
    }
}
