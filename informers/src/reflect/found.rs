//! Objects as they come, with what everybody asks of them.

use std::sync::Arc;

use machinery_objects::{Object, ObjectKey, Page, Unreadable, WatchEvent};

use super::Found;

pub(crate) fn found_all<T: Object>(page: Page<Arc<T>>) -> Page<Found<Arc<T>>> {
    let Page { items, mut unreadable, version, rest, remaining } = page;
    let mut found = Vec::with_capacity(items.len());
    for object in items {
        match of(object) {
            Ok(object) => found.push(object),
            Err(nameless) => unreadable.push(nameless),
        }
    }
    Page { items: found, unreadable, version, rest, remaining }
}

pub(crate) fn found_in<T: Object>(event: WatchEvent<Arc<T>>) -> WatchEvent<Found<Arc<T>>> {
    let is_gone = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_));
    let mut nameless = None;
    let event = event.map(|object| match of(object) {
        Ok(found) => Some(found),
        Err(unreadable) => {
            nameless = Some(Unreadable { is_gone, ..unreadable });
            None
        }
    });
    if let Some(nameless) = nameless {
        return WatchEvent::Unreadable(nameless);
    }
    event.map(|found| found.expect("who has no name was told of already"))
}

fn of<T: Object>(object: Arc<T>) -> Result<Found<Arc<T>>, Unreadable> {
    let (key, version) = (object.key(), object.version());
    if key == ObjectKey::default() {
        return Err(Unreadable { key, version, is_gone: false, reason: "it has no name".into() });
    }
    Ok(Found { key, version, object })
}
