//! Interests: edits of keys while the watch runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use machinery_kube::{InterestIds, Remote, ServerProfile};
use machinery_objects::{
    EditNumber, Filter, Interest, InterestBy, InterestEdit, InterestRequest, InterestSource, ListWatch,
    ResourceVersion, Revision, SourceError, WatchError, WatchEvent, Writer,
};
use serde_json::json;

use crate::plane::{Port, create, key, kind, labelled, moved, next, ports, within, words};
use crate::script::{Reply, Script};

pub(crate) fn keys(keys: &[&str]) -> BTreeSet<Arc<str>> {
    keys.iter().map(|key| Arc::from(*key)).collect()
}

pub(crate) fn request(of: &[&str]) -> InterestRequest {
    let by = InterestBy::Field("spec.vni".into());
    InterestRequest { by, keys: keys(of), filter: Filter::default(), after: None }
}

pub(crate) fn edit(remove: &[&str], add: &[&str]) -> InterestEdit {
    InterestEdit { remove: keys(remove), add: keys(add) }
}

#[tokio::test]
async fn keys_are_edited_while_they_are_watched() {
    let (_server, ports) = ports().await;
    let a = create(&ports, "a", "1").await;
    create(&ports, "b", "2").await;
    let source = ListWatch::interests(&ports).expect("the server is ours");
    let mut watch = source.open(request(&["1"])).await.unwrap();
    assert_eq!(words(&mut watch.events, 2).await, ["+a", "=0"]);
    assert_eq!(watch.interest.edit(edit(&[], &["2"])).await, Ok(EditNumber(1)));
    assert_eq!(words(&mut watch.events, 2).await, ["+b", "=1"]);
    // From key to key it is modified; outside of all keys it has left, and is not deleted.
    let a = moved(&ports, &a, "2").await;
    let a = moved(&ports, &a, "3").await;
    ports.delete(&key("b"), &Default::default()).await.unwrap();
    assert_eq!(words(&mut watch.events, 3).await, ["*a", "<a", "-b"]);
    assert_eq!(watch.interest.edit(edit(&["2"], &["3"])).await, Ok(EditNumber(2)));
    assert_eq!(words(&mut watch.events, 2).await, ["+a", "=2"]);

    // Resumed at its version.
    let before = machinery_objects::Object::version(&a).unwrap();
    drop(watch);
    create(&ports, "c", "3").await;
    create(&ports, "d", "2").await;
    let mut watch =
        ports.open(InterestRequest { after: Some(before), ..request(&["1", "3"]) }).await.unwrap();
    assert_eq!(words(&mut watch.events, 2).await, ["+c", "=0"]);
    // An ended interest cannot be edited.
    drop(watch.events);
    let ended = within(async {
        loop {
            match watch.interest.edit(edit(&["1"], &[])).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => return error,
            }
        }
    });
    assert_eq!(ended.await, WatchError::Ended);
}

#[tokio::test]
async fn an_interest_may_be_by_label_and_be_filtered() {
    let (_server, ports) = ports().await;
    for (name, vni) in [("a", "1"), ("b", "2"), ("c", "1")] {
        create(&ports, name, vni).await;
    }
    let filter = Filter {
        namespace: Some("default".into()),
        fields: "metadata.name!=c".parse().unwrap(),
        ..labelled("vni in (1, 2)")
    };
    let by = InterestBy::Label("vni".into());
    let mut watch = ports.open(InterestRequest { by, filter, ..request(&["1"]) }).await.unwrap();
    assert_eq!(words(&mut watch.events, 2).await, ["+a", "=0"]);
    watch.interest.edit(edit(&[], &["2", "3"])).await.unwrap();
    assert_eq!(words(&mut watch.events, 2).await, ["+b", "=1"]);
}

#[tokio::test]
async fn errors_of_an_interest_are_reported() {
    let (_server, ports) = ports().await;
    let is_invalid = |error: WatchError| match error {
        WatchError::Source(SourceError::Invalid { reason, causes }) => (reason, causes),
        other => panic!("{other:?}"),
    };
    let by = InterestBy::Field("spec.mac".into());
    is_invalid(ports.open(InterestRequest { by, ..request(&["1"]) }).await.err().unwrap());
    let (_, causes) = is_invalid(ports.open(request(&[""])).await.err().unwrap());
    assert_eq!(causes[0].field, "add");
    let far = InterestRequest { after: Some(Revision(1 << 40).into()), ..request(&["1"]) };
    let error = within(ports.open(far)).await.err().unwrap();
    assert!(matches!(error, WatchError::FutureRevision { .. }), "{error:?}");
    // A refused edit is not applied, and uses no number.
    let mut watch = ports.open(request(&["1"])).await.unwrap();
    assert_eq!(words(&mut watch.events, 1).await, ["=0"]);
    let long = "x".repeat(1000);
    is_invalid(watch.interest.edit(edit(&[], &[&long])).await.unwrap_err());
    assert_eq!(watch.interest.edit(edit(&[], &["2"])).await, Ok(EditNumber(1)));
    assert_eq!(words(&mut watch.events, 1).await, ["=1"]);

    let plain = Remote::<Port>::new(Script::new([]).client(), kind(), ServerProfile::kubernetes());
    let error = plain.open(request(&["1"])).await.err();
    assert!(matches!(error, Some(WatchError::Source(SourceError::Unsupported { .. }))), "{error:?}");
}

fn accepted(number: u64) -> Reply {
    Reply::of(202, json!({"edit": number}).to_string())
}

/// An open interest, with scripted responses to its edits.
async fn scripted(
    edits: impl IntoIterator<Item = Reply>,
) -> (Script, machinery_objects::InterestWatch<Port>) {
    let replies = [accepted(0), Reply::stream(200, stream::pending())];
    let script = Script::new(replies.into_iter().chain(edits));
    let server = ServerProfile {
        ids: InterestIds::new(|| 7),
        response_timeout: Duration::from_secs(1),
        ..ServerProfile::machinery()
    };
    let watch = Remote::<Port>::new(script.client(), kind(), server).open(request(&["1"])).await.unwrap();
    (script, watch)
}

/// The bodies of the edits, without the first.
fn edits(script: &Script) -> Vec<String> {
    let bodies = script.requests().into_iter().skip(2);
    bodies.map(|asked| asked.rsplit_once(' ').unwrap().1.to_owned()).collect()
}

const ONE: &str = r#"{"edit":1,"remove":[],"add":["2"]}"#;
const TWO: &str = r#"{"edit":2,"remove":["2"],"add":[]}"#;

#[tokio::test(start_paused = true)]
async fn an_edit_with_a_lost_response_is_repeated_unchanged() {
    let unavailable = || Reply::of(503, "later");
    for lost in [|| Reply::Lost, || Reply::Silent, unavailable] {
        let (script, watch) = scripted([lost(), accepted(1), accepted(2)]).await;
        let error = watch.interest.edit(edit(&[], &["2"])).await.unwrap_err();
        assert!(matches!(&error, WatchError::Source(source) if source.is_transient()), "{error:?}");
        assert_eq!(watch.interest.edit(edit(&["2"], &[])).await, Ok(EditNumber(2)));
        assert_eq!(edits(&script), [ONE, ONE, TWO]);
    }
    // Also if its future was dropped.
    let (script, watch) = scripted([Reply::Silent, accepted(1), accepted(2)]).await;
    let dropped =
        tokio::time::timeout(Duration::from_millis(10), watch.interest.edit(edit(&[], &["2"]))).await;
    assert!(dropped.is_err());
    assert_eq!(watch.interest.edit(edit(&["2"], &[])).await, Ok(EditNumber(2)));
    assert_eq!(edits(&script), [ONE, ONE, TWO]);
    let id = "00000000000000000000000000000000".to_owned() + "7";
    let path = "/apis/example.com/v1/ports";
    assert_eq!(
        script.requests()[..2],
        [
            format!(r#"POST {path}/interests/{id} {{"edit":0,"by":{{"field":"spec.vni"}},"add":["1"]}}"#),
            format!("GET {path}?watch=true&interest={id}&allowWatchBookmarks=true"),
        ]
    );
}

#[tokio::test]
async fn a_refused_edit_frees_its_number() {
    let busy = || Reply::of(429, "too much").header("retry-after", "1");
    let (script, watch) = scripted([busy(), accepted(1), Reply::of(404, ""), Reply::of(409, "")]).await;
    let error = watch.interest.edit(edit(&[], &["3"])).await.unwrap_err();
    let retry_after = Some(Duration::from_secs(1));
    assert_eq!(error, SourceError::TooManyRequests { retry_after }.into());
    assert_eq!(watch.interest.edit(edit(&[], &["2"])).await, Ok(EditNumber(1)));
    assert_eq!(edits(&script)[1], ONE);
    for _ in 0..2 {
        assert_eq!(watch.interest.edit(edit(&["2"], &[])).await, Err(WatchError::Ended));
    }
}

#[tokio::test]
async fn a_bookmark_has_the_version_of_all_sent_events() {
    let (_server, ports) = ports().await;
    let a = create(&ports, "a", "9").await;
    let mut watch = ports.open(request(&["1"])).await.unwrap();
    let Some(Ok(WatchEvent::Complete { edit, version })) = next(&mut watch.events).await else {
        panic!("there is nothing under the key")
    };
    assert_eq!(edit, EditNumber::FIRST);
    let a: Option<ResourceVersion> = machinery_objects::Object::version(&a);
    assert!(Some(version) >= a);
    let editing: Arc<dyn Interest> = watch.interest;
    drop(editing);
}
