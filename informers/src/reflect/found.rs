//! Objects as they come, with what everybody asks of them.

use std::sync::Arc;

use machinery_objects::{Object, ObjectKey, Page, Unreadable, WatchEvent};
use machinery_sync::contained;

use super::Found;
use crate::readable::{readable_in, readable_of, unreadable};

pub(crate) fn found_all<T: Object>(page: Page<Arc<T>>) -> Page<Found<Arc<T>>> {
    readable_of(page, of)
}

pub(crate) fn found_in<T: Object>(event: WatchEvent<Arc<T>>) -> WatchEvent<Found<Arc<T>>> {
    readable_in(event, of)
}

fn of<T: Object>(object: Arc<T>) -> Result<Found<Arc<T>>, Unreadable> {
    let Ok(key) = contained(|| object.key()) else {
        return Err(unreadable(ObjectKey::unnamed(), None, "it panics when it is asked for its name"));
    };
    let Ok(version) = contained(|| object.version()) else {
        return Err(unreadable(key, None, "it panics when it is asked for its version"));
    };
    if key == ObjectKey::default() {
        return Err(unreadable(key, version, "it has no name"));
    }
    Ok(Found { key, version, object })
}
