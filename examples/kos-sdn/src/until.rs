//! Waiting for what others do.

use machinery::{ObjectType, Objects};

/// Waits until a look at the objects finds something; nothing, when they are told of no more.
pub async fn until<K: ObjectType, T>(
    objects: &Objects<K>,
    mut find: impl FnMut(&Objects<K>) -> Option<T>,
) -> Option<T> {
    let mut news = objects.informer().events().ok()?;
    loop {
        if let Some(found) = find(objects) {
            return Some(found);
        }
        news.next().await?;
    }
}
