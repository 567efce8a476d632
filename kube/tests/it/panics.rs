//! Objects with code that panics: each is reported by the name in the server's text, and hides no
//! others.

use futures::StreamExt;
use machinery_kube::{KeyMetadata, Remote};
use machinery_objects::{
    Deletion, Freshness, Labels, ListError, ListRequest, ListWatch, Object, ObjectKey, ResourceVersion,
    Revision, SourceError, Unreadable, WatchEvent, WatchFrom, WriteError, Writer,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::plane::{from, key, kind, word};
use crate::script::{Reply, Script};
use crate::wrong::{item, line, page, server};

/// An object that panics in the call that its name selects.
#[derive(Debug)]
pub(crate) struct Touchy(KeyMetadata);

impl<'de> Deserialize<'de> for Touchy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct ObjectWithKey {
            metadata: KeyMetadata,
        }
        let ObjectWithKey { metadata } = ObjectWithKey::deserialize(deserializer)?;
        assert_ne!(metadata.key.name(), "read", "it cannot bear to be read");
        Ok(Self(metadata))
    }
}

impl Serialize for Touchy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::json!({"metadata": {"name": self.0.key.name(), "namespace": self.0.key.namespace()}})
            .serialize(serializer)
    }
}

impl Object for Touchy {
    fn key(&self) -> ObjectKey {
        assert_ne!(self.0.key.name(), "key", "it cannot bear to be named");
        self.0.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        assert_ne!(self.0.key.name(), "version", "it cannot bear to be dated");
        self.0.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }

    fn uid(&self) -> Option<&str> {
        assert_ne!(self.0.key.name(), "uid", "it panics when its UID is read");
        None
    }
}

pub(crate) const WHERE: [&str; 3] = ["read", "key", "version"];

fn of(reply: Reply) -> Remote<Touchy> {
    Remote::new(Script::new([reply]).client(), kind(), server())
}

pub(crate) fn is_known(unreadable: &Unreadable, at: &str, gone: bool) {
    let Unreadable { key: name, version, is_gone, reason } = unreadable;
    assert_eq!((name, version, *is_gone), (&key(at), &ResourceVersion::new("8"), gone));
    assert!(reason.contains("panics"), "{reason}");
}

#[tokio::test]
async fn an_object_that_panics_hides_no_others() {
    for at in WHERE {
        let items = [item("a", 7), item(at, 8), item("b", 9)];
        let page = of(Reply::of(200, page(9, "", &items))).list(ListRequest::default()).await.unwrap();
        let names: Vec<_> = page.items.iter().map(|object| object.key().name().to_owned()).collect();
        assert_eq!((names, page.version), (vec!["a".into(), "b".into()], Revision(9).into()));
        let [unreadable] = &*page.unreadable else { panic!("{:?}", page.unreadable) };
        is_known(unreadable, at, false);
    }
}

#[tokio::test]
async fn an_event_with_an_object_that_panics_ends_no_watch() {
    for at in WHERE {
        for (what, is_gone) in [("ADDED", false), ("MODIFIED", false), ("DELETED", true)] {
            let lines =
                [line("ADDED", &item("a", 7)), line(what, &item(at, 8)), line("ADDED", &item("b", 9))];
            let remote = of(Reply::of(200, lines.concat()));
            let events = remote.watch(from(WatchFrom::After(Revision(6).into()))).await.unwrap();
            let events: Vec<_> = events.map(Result::unwrap).collect().await;
            let words: Vec<_> = events.iter().map(word).collect();
            assert_eq!(words, ["+a", &format!("?{at}"), "+b"]);
            let WatchEvent::Unreadable(unreadable) = &events[1] else { panic!("{words:?}") };
            is_known(unreadable, at, is_gone);
        }
    }
}

#[tokio::test]
async fn a_get_of_an_object_that_panics_is_malformed() {
    for at in WHERE {
        let got = of(Reply::of(200, item(at, 8))).get(&key(at), Freshness::Newest).await;
        match got {
            Err(ListError::Source(SourceError::Malformed { reason })) => {
                assert!(reason.contains("panics"), "{reason}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_write_whose_response_panics_has_an_unknown_outcome() {
    for at in ["read", "key", "version", "uid"] {
        // It was created, but the response cannot be decoded.
        let sent = Touchy(KeyMetadata { key: key("a"), version: None });
        let made = of(Reply::of(201, item(at, 8))).create(&sent, None).await;
        assert!(matches!(made, Err(WriteError::UnknownOutcome { .. })), "{made:?}");
        let marked = item(at, 8).replacen(
            r#""metadata":{"#,
            r#""metadata":{"deletionTimestamp":"2026-11-22T10:00:00Z","#,
            1,
        );
        let deleted = of(Reply::of(200, marked)).delete(&key(at), &Deletion::default()).await;
        assert!(matches!(deleted, Err(WriteError::UnknownOutcome { .. })), "{deleted:?}");
    }
}
