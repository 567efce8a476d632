//! The stream of all commits, over all kinds.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_core::ObjectMeta;
use machinery_apiserver::{ApiServer, CommitItem, CommittedChange, Identity, ServerCommit};
use machinery_objects::{Deletion, Revision, Writer};
use machinery_store::{Memory, Options};

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some("default".into()), name: Some(name.into()), ..ObjectMeta::default() }
}

fn is_ours(change: &CommittedChange) -> bool {
    change.key.name().starts_with("x-")
}

#[tokio::test]
async fn commits_of_several_kinds_come_in_order_and_without_gaps() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let maps = server.handle::<ConfigMap>(Identity::admin());
    let secrets = server.handle::<Secret>(Identity::admin());
    maps.create(&ConfigMap { metadata: named("x-first"), ..ConfigMap::default() }, None).await.unwrap();
    let (first, mut commits) = server.commits().await.unwrap();
    assert_eq!(first.changes.iter().filter(|change| is_ours(change)).count(), 1, "the present state");
    for number in 0..20 {
        let metadata = named(&format!("x-{number}"));
        if number % 2 == 0 {
            maps.create(&ConfigMap { metadata, ..ConfigMap::default() }, None).await.unwrap();
        } else {
            secrets.create(&Secret { metadata, ..Secret::default() }, None).await.unwrap();
        }
    }
    maps.delete(&"default/x-first".parse().unwrap(), &Deletion::default()).await.unwrap();
    commits.request_progress();
    let (mut ours, mut last, progress) = (Vec::new(), first.revision, until_progress(&mut commits).await);
    for ServerCommit { revision, changes } in progress.0 {
        assert!(revision > last, "{revision} after {last}");
        last = revision;
        ours.extend(changes.into_iter().filter(is_ours));
    }
    assert!(progress.1 >= last, "the mark includes every commit before its request");
    let names: Vec<_> = ours.iter().map(|change| (&*change.plural, change.key.name().to_owned())).collect();
    let kind = |number| if number % 2 == 0 { "configmaps" } else { "secrets" };
    let mut expected: Vec<_> = (0..20).map(|number| (kind(number), format!("x-{number}"))).collect();
    expected.push(("configmaps", "x-first".into()));
    assert_eq!(names, expected);
    let deleted = ours.last().unwrap();
    assert!(deleted.after.is_none());
    assert_eq!(deleted.before().unwrap().unwrap()["metadata"]["name"], "x-first");
    server.stop().await;
}

async fn until_progress(commits: &mut machinery_apiserver::Commits) -> (Vec<ServerCommit>, Revision) {
    let mut all = Vec::new();
    loop {
        match commits.next().await.unwrap() {
            CommitItem::Commit(commit) => all.push(commit),
            CommitItem::Progress(revision) if !all.is_empty() => return (all, revision),
            CommitItem::Progress(_) => {}
        }
    }
}
