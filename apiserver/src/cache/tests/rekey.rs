//! Changing the keys of a watch while it runs.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;

use machinery_objects::{FieldSelector, LabelSelector};
use machinery_store::{Backend, Memory, Options, Transaction};
use serde_json::json;

use super::tools::{Running, kind, stored};
use crate::cache::{By, Keys, Next, Wanted};
use crate::select::Selection;

fn keys(keys: &[&str]) -> BTreeSet<Arc<str>> {
    keys.iter().map(|key| Arc::from(*key)).collect()
}

#[tokio::test]
async fn keys_are_changed_when_all_before_was_looked_at() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 16).await;
    let selection =
        Selection { kind: kind.clone(), labels: LabelSelector::default(), fields: FieldSelector::default() };
    let (wanted, first) = (Wanted { selection, namespace: None }, Keys { by: By::Name, set: keys(&["a"]) });
    let (_, mut follow) = running.cache.view_and_follow(wanted, Some(first), None).await.unwrap();
    let object = stored(&kind, &json!({"metadata": {"namespace": "n", "name": "a"}}));
    let put = Transaction::new().put(kind.place.key(Some("n"), "a"), object);
    let at = store.commit(put).await.unwrap().revision;
    running.cache.view(None).await.unwrap();

    assert!(follow.rekey(&keys(&["a"]), &keys(&["b"])).is_none(), "there is something under the old keys");
    let Next::At(revised) = poll_fn(|cx| follow.poll_next(cx)).await else { panic!("it is told") };
    assert_eq!(revised.revision, at);
    let view = follow.rekey(&keys(&["a"]), &keys(&["b"])).expect("that was all");
    assert_eq!(view.at, at);
    running.stop().await;
}
