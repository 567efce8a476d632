//! `WithoutManagedFields`, with a server.

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use machinery_kube::{Remote, ServerProfile, WithoutManagedFields};
use machinery_objects::{
    Freshness, Kind, ListError, ListRequest, ListWatch, Object, Revision, SourceError, WatchEvent, WatchFrom,
    Writer,
};

use crate::panics::{Touchy, WHERE, is_known};
use crate::plane::{all, from, key, kind, next, served, word};
use crate::script::{Reply, Script};
use crate::wrong::{item, line, page, server};

#[tokio::test]
async fn a_write_without_managed_fields_keeps_them_on_the_server() {
    let (_server, client, _) = served().await;
    let kind = Kind::of::<ConfigMap>().unwrap();
    let whole = Remote::<ConfigMap>::new(client.clone(), kind.clone(), ServerProfile::kubernetes())
        .managed_by("whole");
    let slim = Remote::<WithoutManagedFields<ConfigMap>>::new(client, kind, ServerProfile::kubernetes())
        .managed_by("slim");
    let mut events = slim.watch(from(WatchFrom::After(all(&slim).await.version))).await.unwrap();
    let mut config = ConfigMap::default();
    config.metadata.name = Some("a".into());
    config.metadata.namespace = Some("default".into());
    config.data = Some([("color".into(), "red".into())].into());
    let mut made = whole.create(&config, None).await.unwrap().object;
    let managers = |config: &ConfigMap| {
        let entries = config.metadata.managed_fields.iter().flatten();
        entries.filter_map(|entry| entry.manager.clone()).collect::<Vec<_>>()
    };
    assert_eq!(managers(&made), ["whole"]);
    made.metadata.managed_fields = None;

    let mut read = slim.get(&key("a"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(read.0, made);
    assert_eq!(
        all(&slim).await.items.into_iter().find(|config| config.key() == key("a")),
        Some(read.clone())
    );
    let Some(Ok(WatchEvent::Added(told))) = next(&mut events).await else { panic!("no event") };
    assert_eq!(told, read);

    read.data = Some([("color".into(), "blue".into())].into());
    let written = slim.update(&read, &Default::default()).await.unwrap();
    assert_eq!((written.object.data.clone(), managers(&written.object)), (read.0.data, vec![]));
    let now = whole.get(&key("a"), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(managers(&now), ["slim", "whole"]);
    whole.delete(&key("a"), &Default::default()).await.unwrap();
}

#[tokio::test]
async fn an_undecodable_object_without_managed_fields_is_reported_by_name() {
    let of =
        |reply| Remote::<WithoutManagedFields<Touchy>>::new(Script::new([reply]).client(), kind(), server());
    for at in WHERE {
        let items = [item("a", 7), item(at, 8), item("b", 9)];
        let page = of(Reply::of(200, page(9, "", &items))).list(ListRequest::default()).await.unwrap();
        let names: Vec<_> = page.items.iter().map(|object| object.key().name().to_owned()).collect();
        assert_eq!(names, ["a", "b"]);
        let [unreadable] = &*page.unreadable else { panic!("{:?}", page.unreadable) };
        is_known(unreadable, at, false);

        let lines =
            [line("ADDED", &item("a", 7)), line("DELETED", &item(at, 8)), line("ADDED", &item("b", 9))];
        let remote = of(Reply::of(200, lines.concat()));
        let events = remote.watch(from(WatchFrom::After(Revision(6).into()))).await.unwrap();
        let events: Vec<_> = events.map(Result::unwrap).collect().await;
        assert_eq!(events.iter().map(word).collect::<Vec<_>>(), ["+a", &format!("?{at}"), "+b"]);
        let WatchEvent::Unreadable(unreadable) = &events[1] else { panic!("it cannot be read") };
        is_known(unreadable, at, true);

        let got = of(Reply::of(200, item(at, 8))).get(&key(at), Freshness::Newest).await;
        assert!(matches!(got, Err(ListError::Source(SourceError::Malformed { .. }))), "{got:?}");
    }
}
