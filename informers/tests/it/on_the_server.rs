//! An informer on the real server, in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_informers::Informer;
use machinery_objects::{
    Deletion, Event, Kind, Labels, ListWatch, Object, ObjectKey, ResourceVersion, Scope, Writer,
};
use machinery_store::{Memory, Options};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A ConfigMap with the fields that matter here.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Note {
    metadata: NoteMeta,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct NoteMeta {
    name: String,
    namespace: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
}

impl Object for Note {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(Some(&self.metadata.namespace), &self.metadata.name).unwrap()
    }
    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.metadata.resource_version.as_deref()?)
    }
    fn labels(&self) -> Labels {
        self.metadata.labels.iter().collect()
    }
}

impl Note {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let (name, namespace) = (name.to_owned(), "default".to_owned());
        Self {
            metadata: NoteMeta { name, namespace, labels: BTreeMap::new(), resource_version: None },
            data: [("text".to_owned(), text.to_owned())].into(),
        }
    }

    /// Returns the note with another text.
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.data.insert("text".into(), text.into());
        self
    }

    /// Returns the note with this label only.
    pub(crate) fn labeled(mut self, key: &str, value: &str) -> Self {
        self.metadata.labels = [(key.to_owned(), value.to_owned())].into();
        self
    }

    pub(crate) fn kind() -> Kind {
        Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap()
    }
}

pub(crate) fn event_text(event: &Event<Arc<Note>>) -> String {
    let what = match event {
        Event::Added { initial: true, .. } => "there",
        Event::Added { .. } => "added",
        Event::Updated { .. } => "updated",
        Event::Deleted { .. } => "deleted",
        _ => "left",
    };
    format!("{what} {} {}", event.object().metadata.name, event.object().data["text"])
}

#[tokio::test]
async fn an_informer_reads_and_delivers_objects_and_their_changes() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let notes: Handle<Note> = server.handle_of(Note::kind(), Identity::admin());
    notes.create(&Note::new("a", "one"), None).await.unwrap();

    let source: Arc<dyn ListWatch<Arc<Note>>> = Arc::new(notes.clone());
    let mut informer = Informer::<Note>::builder(source);
    let by_text = informer.index(|note: &Note| note.data.get("text").cloned());
    let informer = informer.build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informer.run(stopping.clone()));
    informer.synced().await.unwrap();
    assert_eq!(informer.read().by(&by_text, "one").count(), 1);

    let (log, mut recorder) = tokio::sync::mpsc::unbounded_channel();
    let late = informer.add_handler(move |event| log.send(event_text(&event)).unwrap()).unwrap();
    late.synced().await.unwrap();
    assert_eq!(recorder.recv().await.unwrap(), "there a one");

    let wait = Duration::from_secs(10);
    let written = notes.create(&Note::new("b", "two"), None).await.unwrap();
    informer.wait_for(&written.token, wait).await.unwrap();
    assert_eq!(informer.get(&written.object.key()).unwrap().data["text"], "two");
    assert_eq!(recorder.recv().await.unwrap(), "added b two");
    let gone = notes.delete(&written.object.key(), &Deletion::default()).await.unwrap();
    informer.wait_for(gone.token(), wait).await.unwrap();
    assert_eq!(informer.get(&written.object.key()).map(|note| note.key()), None);
    assert_eq!(recorder.recv().await.unwrap(), "deleted b two");

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    assert!(informer.add_handler(|_| {}).is_err());
}
