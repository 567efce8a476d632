//! Types that keep few fields of an object.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use machinery_kube::{PartialMetadata, Remote, ServerProfile};
use machinery_objects::{
    Deletion, Freshness, Kind, Labels, ListWatch, Object, ObjectKey, ResourceVersion, Revision, WatchEvent,
    WatchFrom, Writer,
};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::plane::{all, from, key, kind, next, plane, words};
use crate::script::{Reply, Script};

/// One value of a ConfigMap, and the partial metadata.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Color {
    metadata: PartialMetadata,
    #[serde(default)]
    data: Data,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Data {
    #[serde(default)]
    color: Option<Box<str>>,
}

impl Object for Color {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        self.metadata.labels.clone()
    }

    fn uid(&self) -> Option<&str> {
        self.metadata.uid.as_ref().map(machinery_objects::Uid::as_str)
    }

    fn is_deleting(&self) -> bool {
        self.metadata.is_deleting
    }
}

#[tokio::test]
async fn a_projection_equals_the_fields_of_the_whole_object() {
    let (_server, client) = plane().await;
    let kind = Kind::of::<ConfigMap>().unwrap();
    let whole = Remote::<ConfigMap>::new(client.clone(), kind.clone(), ServerProfile::kubernetes());
    let colors = Remote::<Color>::new(client, kind, ServerProfile::kubernetes());
    let before = all(&colors).await.items.len();
    let mut events = colors.watch(from(WatchFrom::State(Freshness::Newest))).await.unwrap();
    words(&mut events, before + 1).await;
    let mut config = ConfigMap::default();
    config.metadata.name = Some("a".into());
    config.metadata.namespace = Some("default".into());
    config.metadata.labels = Some([("x".into(), "\"y\"".replace('"', "").clone())].into());
    config.metadata.finalizers = Some(vec!["example.com/held".into()]);
    config.data = Some([("color".into(), "r\"e\nd".into()), ("more".into(), "x".repeat(10_000))].into());
    let made = whole.create(&config, None).await.unwrap().object;
    let read = colors.get(&key("a"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(read.data.color.as_deref(), Some("r\"e\nd"));
    let same = |small: &Color, whole: &ConfigMap| {
        assert_eq!(
            (small.key(), small.version(), small.labels()),
            (whole.key(), whole.version(), whole.labels())
        );
        assert_eq!((small.uid(), small.is_deleting()), (whole.uid(), whole.is_deleting()));
    };
    same(&read, &made);
    assert_eq!(all(&colors).await.items.into_iter().find(|color| color.key() == key("a")), Some(read));
    whole.delete(&key("a"), &Deletion::default()).await.unwrap();
    let marked = whole.get(&key("a"), Freshness::Newest).await.unwrap().unwrap();
    let Some(Ok(WatchEvent::Added(_))) = next(&mut events).await else { panic!("it is added") };
    let Some(Ok(WatchEvent::Modified(small))) = next(&mut events).await else { panic!("it is marked") };
    same(&small, &marked);
    assert!(small.is_deleting());
}

static READ: AtomicUsize = AtomicUsize::new(0);

/// Counts how often it is decoded.
#[derive(Debug)]
struct DecodeCounter(PartialMetadata);

impl<'de> Deserialize<'de> for DecodeCounter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct WithMetadata {
            metadata: PartialMetadata,
        }
        READ.fetch_add(1, Ordering::SeqCst);
        WithMetadata::deserialize(deserializer).map(|whole| Self(whole.metadata))
    }
}

impl Object for DecodeCounter {
    fn key(&self) -> ObjectKey {
        self.0.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.0.version.clone()
    }

    fn labels(&self) -> Labels {
        self.0.labels.clone()
    }
}

#[tokio::test]
async fn an_object_is_decoded_once() {
    let item =
        |at: usize| json!({"metadata": {"name": format!("p{at}"), "resourceVersion": "1"}, "spec": {}});
    let list = json!({"metadata": {"resourceVersion": "7"}, "items": (0..100).map(item).collect::<Vec<_>>()});
    let lines: String = (0..100)
        .map(|at| format!("{}\n", format_args!(r#"{{"type":"ADDED","object":{}}}"#, item(at))))
        .collect();
    let script = Script::new([Reply::of(200, list.to_string()), Reply::of(200, lines)]);
    let counted = Remote::<DecodeCounter>::new(script.client(), kind(), ServerProfile::kubernetes());
    assert_eq!(all(&counted).await.items.len(), 100);
    assert_eq!(READ.swap(0, Ordering::SeqCst), 100);
    let mut events = counted.watch(from(WatchFrom::After(Revision(7).into()))).await.unwrap();
    assert_eq!(words(&mut events, 100).await.len(), 100);
    assert_eq!(READ.load(Ordering::SeqCst), 100);
}
