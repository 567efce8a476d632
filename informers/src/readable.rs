//! Separates readable objects from unreadable ones, which are reported by name, if known, and block
//! no others.

use machinery_objects::{ObjectKey, Page, ResourceVersion, Unreadable, WatchEvent};

pub(crate) fn unreadable(key: ObjectKey, version: Option<ResourceVersion>, reason: &str) -> Unreadable {
    Unreadable { key, version, is_gone: false, reason: reason.into() }
}

pub(crate) fn readable_in<A, B>(
    event: WatchEvent<A>,
    read: impl FnOnce(A) -> Result<B, Unreadable>,
) -> WatchEvent<B> {
    let is_gone = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_));
    let mut odd = None;
    let event = event.map(|object| read(object).map_err(|unreadable| odd = Some(unreadable)));
    match odd {
        Some(unreadable) => WatchEvent::Unreadable(Unreadable { is_gone, ..unreadable }),
        None => event
            .map(|object| object.unwrap_or_else(|()| unreachable!("unreadable objects were returned above"))),
    }
}

pub(crate) fn readable_of<A, B>(page: Page<A>, read: impl Fn(A) -> Result<B, Unreadable>) -> Page<B> {
    let Page { items, mut unreadable, version, rest, remaining } = page;
    let mut readable = Vec::with_capacity(items.len());
    for object in items {
        match read(object) {
            Ok(object) => readable.push(object),
            Err(odd) => unreadable.push(odd),
        }
    }
    Page { items: readable, unreadable, version, rest, remaining }
}
