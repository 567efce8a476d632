//! Separates readable objects from unreadable ones, which are reported by name, if known, and block
//! no others.

use std::collections::BTreeMap;

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

/// Returns the unreadable objects that were not reported before in this version.
pub(crate) fn newly_unreadable(before: &[Unreadable], now: &[Unreadable]) -> Vec<Unreadable> {
    let known: BTreeMap<_, _> = before.iter().map(|one| (&one.key, &one.version)).collect();
    now.iter().filter(|one| known.get(&one.key) != Some(&&one.version)).cloned().collect()
}

/// Maximum number of unreadable objects that one batch logs.
const LOGGED: usize = 10;

/// Logs objects that cannot be decoded: for their readers they do not exist.
pub(crate) fn log_unreadable<T>(unreadable: &[Unreadable]) {
    let of = std::any::type_name::<T>();
    for Unreadable { key, reason, .. } in unreadable.iter().take(LOGGED) {
        tracing::error!(
            object = %key, %of, %reason,
            "an object cannot be decoded: readers of the cache miss it, or see its last state, until it is corrected \
             or the type accepts it"
        );
    }
    if unreadable.len() > LOGGED {
        tracing::error!(%of, more = unreadable.len() - LOGGED, "more objects cannot be decoded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_object_is_new_once_per_version() {
        let at = |key: &str, version: u64| {
            let version = Some(ResourceVersion::from(machinery_objects::Revision(version)));
            unreadable(key.parse().unwrap(), version, "no number")
        };
        let before = [at("n/a", 1), at("n/b", 1)];
        let now = [at("n/a", 1), at("n/b", 2), at("n/c", 1)];
        assert_eq!(newly_unreadable(&before, &now), [at("n/b", 2), at("n/c", 1)]);
    }
}
