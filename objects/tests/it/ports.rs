//! The ports through `dyn`, as informers and controllers use them, on the plane of `plane.rs`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use futures::executor::block_on;
use machinery_objects::{
    Conflict, Deletion, Fence, Filter, Freshness, InterestBy, InterestEdit, InterestRequest, Kind, ListAt,
    ListError, ListRequest, ListWatch, ObjectKey, Preconditions, Revision, Scope, SourceError, Uid,
    WatchError, WatchFrom, WatchRequest, WriteError, WriteOutcome, Writer,
};

use crate::plane::{MinimalSource, Note, Plane, received};

type Ports = (Arc<Plane>, Arc<dyn ListWatch<Note>>, Arc<dyn Writer<Note>>);

fn plane() -> Ports {
    let plane = Arc::new(Plane::default());
    (plane.clone(), Arc::new(plane.clone()), Arc::new(plane))
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn keys<const N: usize>(keys: [&str; N]) -> BTreeSet<Arc<str>> {
    keys.map(Arc::from).into()
}

fn create(writer: &Arc<dyn Writer<Note>>, key: &str, topic: &str) -> Note {
    block_on(writer.create(&Note::new(key, topic), None)).unwrap().object
}

fn watch(from: WatchFrom, selector: &str) -> WatchRequest {
    let filter = Filter { labels: selector.parse().unwrap(), ..Filter::default() };
    WatchRequest { filter, from, bookmarks: true, timeout: None }
}

#[test]
fn p11_pages_show_one_moment_and_a_watch_goes_on_from_it() {
    let (plane, source, writer) = plane();
    for name in ["b/1", "a/2", "a/1"] {
        create(&writer, name, "x");
    }
    let limit = NonZeroU32::new(2);
    let first = block_on(source.list(ListRequest { limit, ..ListRequest::default() })).unwrap();
    assert_eq!(first.items.iter().map(|note| note.key.as_str()).collect::<Vec<_>>(), ["a/1", "a/2"]);
    create(&writer, "c/1", "x");
    let again = ListRequest { limit, rest: first.rest.clone(), ..ListRequest::default() };
    let second = block_on(source.list(again.clone())).unwrap();
    assert_eq!((second.items.len(), second.rest, &second.version), (1, None, &first.version));

    let mut events = block_on(source.watch(watch(WatchFrom::After(first.version.clone()), ""))).unwrap();
    assert_eq!(received(&mut events), ["added c/1@4"]);
    plane.compact();
    assert_eq!(block_on(source.list(again)), Err(ListError::Expired { rest: None }));
    let expired = block_on(source.watch(watch(WatchFrom::After(first.version), ""))).err();
    assert_eq!(expired, Some(WatchError::Expired));
    let future =
        ListRequest { at: ListAt::Fresh(Freshness::AtLeast(Revision(9).into())), ..ListRequest::default() };
    let newest = Some(Revision(4).into());
    assert_eq!(block_on(source.list(future)), Err(ListError::FutureRevision { newest, retry_after: None }));
}

#[test]
fn p11_leaving_a_selector_differs_from_deletion() {
    let (_, source, writer) = plane();
    let old = create(&writer, "a", "x");
    let mut events = block_on(source.watch(watch(WatchFrom::State(Freshness::Newest), "topic=x"))).unwrap();
    assert_eq!(received(&mut events), ["added a@1", "bookmark 1 true"]);
    let mut other = Note::new("a", "y");
    other.revision = old.revision;
    block_on(writer.update(&other, &Preconditions::default())).unwrap();
    block_on(writer.update(&Note::new("a", "x"), &Preconditions::default())).unwrap();
    block_on(writer.delete(&key("a"), &Deletion::default())).unwrap();
    assert_eq!(received(&mut events), ["left a@2", "added a@3", "deleted a@4"]);
}

#[test]
fn p11_get_lists_by_name() {
    let (_, source, writer) = plane();
    create(&writer, "a", "cluster");
    create(&writer, "ns/a", "namespaced");
    for (name, topic) in [("a", Some("cluster")), ("ns/a", Some("namespaced")), ("b", None), ("ns/b", None)] {
        let got = block_on(source.get(&key(name), Freshness::Newest)).unwrap();
        assert_eq!(got.map(|note| note.topic), topic.map(str::to_owned));
    }
    let two = block_on(MinimalSource.get(&key("a"), Freshness::Any)).unwrap_err();
    let reason = "two objects are called a".into();
    assert_eq!(two, SourceError::Malformed { reason }.into());
    assert!(MinimalSource.interests().is_none(), "a source may lack it");
}

#[test]
fn p12_an_interest_is_edited_while_it_is_watched() {
    let (_, source, writer) = plane();
    for (name, topic) in [("a", "x"), ("b", "y"), ("c", "z")] {
        create(&writer, name, topic);
    }
    let request = InterestRequest {
        by: InterestBy::Label("topic".into()),
        keys: keys(["x"]),
        filter: Filter::default(),
        after: None,
    };
    let interests = source.interests().unwrap();
    let mut watch = block_on(interests.open(request.clone())).unwrap();
    assert_eq!(received(&mut watch.events), ["added a@1", "complete 0 3"]);

    let edit = |remove, add| block_on(watch.interest.edit(InterestEdit { remove, add }));
    let first = edit(keys([]), keys(["y", "x"])).unwrap();
    assert_eq!(first.0, 1);
    assert_eq!(received(&mut watch.events), ["added b@2", "complete 1 3"]);
    block_on(writer.update(&Note::new("a", "y"), &Preconditions::default())).unwrap();
    block_on(writer.update(&Note::new("a", "z"), &Preconditions::default())).unwrap();
    block_on(writer.update(&Note::new("c", "q"), &Preconditions::default())).unwrap();
    assert_eq!(received(&mut watch.events), ["modified a@4", "left a@5"]);
    edit(keys(["y"]), keys(["z"])).unwrap();
    block_on(writer.delete(&key("b"), &Deletion::default())).unwrap();
    assert_eq!(received(&mut watch.events), ["added a@5", "complete 2 6"]);

    edit(keys(["z"]), keys(["z"])).unwrap();
    assert_eq!(
        received(&mut watch.events),
        ["added a@5", "complete 3 7"],
        "a key that is removed and added is listed again"
    );

    // Another stream resumes this one by its keys.
    drop(watch.events);
    assert_eq!(block_on(watch.interest.edit(InterestEdit::default())), Err(WatchError::Ended));
    create(&writer, "d", "z");
    let resumed =
        InterestRequest { keys: keys(["x", "z"]), after: Some(Revision(6).into()), ..request.clone() };
    let mut watch = block_on(interests.open(resumed)).unwrap();
    assert_eq!(received(&mut watch.events), ["added d@8", "complete 0 8"]);
    let other = InterestRequest { by: InterestBy::Field("spec.topic".into()), ..request };
    let what = "interest by anything but the label `topic`";
    assert_eq!(block_on(interests.open(other)).err(), Some(SourceError::Unsupported { what }.into()));
}

#[test]
fn p13_a_write_holds_only_if_its_preconditions_do() {
    let (_, _, writer) = plane();
    let made = create(&writer, "a", "x");
    let there = block_on(writer.create(&Note::new("a", "x"), None)).unwrap_err();
    assert_eq!(there, WriteError::AlreadyExists { uid: Uid::new("uid-1") });

    let update = |only_if| block_on(writer.update(&Note::new("a", "y"), &only_if));
    let uid = |text| Preconditions { uid: Uid::new(text), ..Preconditions::default() };
    let conflict = Conflict::Uid { found: Uid::new("uid-1") };
    assert_eq!(update(uid("other")).unwrap_err(), WriteError::Conflict(conflict));
    let written = update(uid("uid-1")).unwrap();
    assert_eq!(written.token.wrote, WriteOutcome::Stored(Revision(2).into()));

    let stale = Preconditions { version: Some(made.revision.into()), ..Preconditions::default() };
    let conflict = WriteError::Conflict(Conflict::Version { found: Some(Revision(2).into()) });
    assert_eq!(update(stale.clone()).unwrap_err(), conflict);
    let deletion = Deletion { only_if: stale, ..Deletion::default() };
    assert_eq!(block_on(writer.delete(&key("a"), &deletion)).unwrap_err(), conflict);
    assert_eq!(
        block_on(writer.update(&made, &Preconditions::default())).unwrap_err(),
        conflict,
        "its own version"
    );
    let gone = block_on(writer.delete(&key("a"), &Deletion::default())).unwrap();
    assert_eq!(gone.token().wrote, WriteOutcome::Removed(Some(Revision(3).into())));
    assert_eq!(update(Preconditions::default()).unwrap_err(), WriteError::NotFound);
}

#[test]
fn p13_a_stale_fence_stops_every_write() {
    let (_, _, writer) = plane();
    let mut lock = create(&writer, "lock", "lock");
    create(&writer, "a", "x");
    let kind = Kind::new("example.com/v1", "Note", "notes", Scope::Cluster).unwrap();
    let fence =
        Fence { kind, key: key("lock"), uid: Uid::new(&lock.uid).unwrap(), epoch: Some(0), besides: None };
    let only_if = Preconditions { fence: Some(fence.clone()), ..Preconditions::default() };
    block_on(writer.update(&Note::new("a", "y"), &only_if)).unwrap();
    block_on(writer.create(&Note::new("b", "y"), Some(&fence))).unwrap();

    create(&writer, "other", "lock");
    let wrong = Fence { key: key("other"), ..fence.clone() };
    let both = fence.clone().and(wrong);
    let one_is_stale = WriteError::Conflict(Conflict::Fence(Box::new(both.clone())));
    assert_eq!(block_on(writer.create(&Note::new("d", "y"), Some(&both))).unwrap_err(), one_is_stale);

    lock.epoch = 1;
    block_on(writer.update(&lock, &Preconditions::default())).unwrap();
    let stale = WriteError::Conflict(Conflict::Fence(Box::new(fence.clone())));
    assert_eq!(block_on(writer.update(&Note::new("a", "z"), &only_if)).unwrap_err(), stale);
    assert_eq!(block_on(writer.create(&Note::new("c", "y"), Some(&fence))).unwrap_err(), stale);
    let deletion = Deletion { only_if, ..Deletion::default() };
    assert_eq!(block_on(writer.delete(&key("a"), &deletion)).unwrap_err(), stale);
    block_on(writer.create(&Note::new("c", "y"), Some(&Fence { epoch: None, ..fence }))).unwrap();
}

#[test]
fn p13_an_unsupported_precondition_is_an_error() {
    use machinery_objects::{Patch, PatchFormat};
    let (_, _, writer) = plane();
    assert!(writer.capabilities().fences && !writer.capabilities().patches);
    let patch = Patch { format: PatchFormat::Merge, body: Arc::from(*b"{}"), status: false };
    let error = block_on(writer.patch(&key("a"), &patch, &Preconditions::default())).unwrap_err();
    assert_eq!(error, SourceError::Unsupported { what: "patch" }.into());
}
