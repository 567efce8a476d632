//! Waiting for a condition on cached objects.

use machinery::{ObjectType, Objects};

/// Waits until `find` returns a value; `None` if the informer stops.
pub async fn wait_until<K: ObjectType, T>(
    objects: &Objects<K>,
    mut find: impl FnMut(&Objects<K>) -> Option<T>,
) -> Option<T> {
    let mut events = objects.informer().events().ok()?;
    loop {
        if let Some(found) = find(objects) {
            return Some(found);
        }
        events.next().await?;
    }
}
