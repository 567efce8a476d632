//! Received objects, with key and version extracted; an object where that panics is unreadable.

use std::sync::Arc;

use machinery_objects::{Object, ObjectKey, Page, Unreadable, WatchEvent};
use machinery_sync::contained;

use super::SourceObject;
use crate::readable::{readable_in, readable_of, unreadable};

pub(crate) fn objects_of_page<T: Object>(page: Page<Arc<T>>) -> Page<SourceObject<Arc<T>>> {
    readable_of(page, source_object)
}

pub(crate) fn object_of_event<T: Object>(event: WatchEvent<Arc<T>>) -> WatchEvent<SourceObject<Arc<T>>> {
    readable_in(event, source_object)
}

fn source_object<T: Object>(object: Arc<T>) -> Result<SourceObject<Arc<T>>, Unreadable> {
    let Ok(key) = contained(|| object.key()) else {
        return Err(unreadable(ObjectKey::unnamed(), None, "reading its name panics"));
    };
    let Ok(version) = contained(|| object.version()) else {
        return Err(unreadable(key, None, "reading its version panics"));
    };
    if key == ObjectKey::default() {
        return Err(unreadable(key, version, "it has no name"));
    }
    Ok(SourceObject { key, version, object })
}
