//! Malformed and failed responses: each has an error with its remedy.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use machinery_kube::{KeyMetadata, Remote, ServerProfile};
use machinery_objects::{
    Continue, Deletion, Freshness, Kind, Labels, ListError, ListRequest, ListWatch, Object, ObjectKey, Patch,
    PatchFormat, Preconditions, ResourceVersion, Revision, Scope, SourceError, WatchError, WatchFrom,
    WriteError, Writer,
};
use serde::Deserialize;
use serde_json::json;

use crate::plane::{Port, from, key, kind, next, port, within, word};
use crate::script::{Reply, Script};

/// The kept fields of a port.
#[derive(Debug, PartialEq, Deserialize)]
struct Small {
    metadata: KeyMetadata,
    spec: Vni,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Vni {
    vni: String,
}

impl Object for Small {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

pub(crate) fn server() -> ServerProfile {
    ServerProfile {
        response_timeout: Duration::from_secs(5),
        line_bytes: 1 << 20,
        answer_bytes: 1 << 20,
        ..ServerProfile::kubernetes()
    }
}

fn of(replies: impl IntoIterator<Item = Reply>) -> Remote<Small> {
    Remote::new(Script::new(replies).client(), kind(), server())
}

pub(crate) fn item(name: &str, version: u32) -> String {
    json!({
        "metadata": {"name": name, "namespace": "default", "resourceVersion": version.to_string()},
        "spec": {"vni": "1"},
    })
    .to_string()
}

pub(crate) fn page(version: u32, next: &str, items: &[String]) -> String {
    format!(
        r#"{{"kind":"PortList","apiVersion":"example.com/v1","metadata":{{"resourceVersion":"{version}","continue":"{next}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

pub(crate) fn line(what: &str, object: &str) -> String {
    format!("{{\"type\":\"{what}\",\"object\":{object}}}\n")
}

async fn list(reply: Reply) -> Result<machinery_objects::Page<Small>, ListError> {
    within(of([reply]).list(ListRequest::default())).await
}

/// The events of a watch in words, and its final error, if any.
async fn watch(reply: Reply) -> (Vec<String>, Option<WatchError>) {
    let mut words = Vec::new();
    let mut events = match within(of([reply]).watch(from(WatchFrom::After(Revision(7).into())))).await {
        Ok(events) => events,
        Err(error) => return (words, Some(error)),
    };
    while let Some(event) = next(&mut events).await {
        match event {
            Ok(event) => words.push(word(&event)),
            Err(error) => {
                assert!(next(&mut events).await.is_none(), "after an error it ends");
                return (words, Some(error));
            }
        }
    }
    (words, None)
}

fn is_malformed(error: &SourceError, why: &str) {
    match error {
        SourceError::Malformed { reason } => assert!(reason.contains(why), "{reason}"),
        other => panic!("{other:?}"),
    }
}

const EXPIRED: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"on"},"status":"Failure","message":"too old","reason":"Expired","code":410}"#;

#[tokio::test]
async fn every_malformed_response_has_its_own_error() {
    // 410 in the middle of a list.
    let expired = of([Reply::of(200, page(9, "next", &[item("a", 1)])), Reply::of(410, EXPIRED)]);
    let first = expired.list(ListRequest::default()).await.unwrap();
    let request = ListRequest { rest: first.rest, ..ListRequest::default() };
    assert_eq!(expired.list(request).await, Err(ListError::Expired { rest: Continue::new("on") }));
    // 429 with Retry-After; HTML from a proxy.
    let busy = list(Reply::of(429, "slow down").header("retry-after", "7")).await;
    let retry_after = Some(Duration::from_secs(7));
    assert_eq!(busy, Err(SourceError::TooManyRequests { retry_after }.into()));
    match list(Reply::of(502, "<html>\nBad Gateway</html>")).await {
        Err(ListError::Source(error)) => {
            assert!(error.is_transient() && error.to_string().contains("<html>"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // A missing or truncated response can be retried.
    for reply in [Reply::Lost, Reply::broken(200, "{\"metadata\"")] {
        let Err(ListError::Source(error)) = list(reply).await else { panic!("it is no list") };
        assert!(matches!(error, SourceError::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().contains("reset by peer"), "{error}");
    }
    // An empty list, as Go encodes it.
    let nothing = list(Reply::of(200, r#"{"metadata":{"resourceVersion":"9"},"items":null}"#)).await.unwrap();
    assert_eq!((nothing.items.len(), nothing.rest, nothing.version), (0, None, Revision(9).into()));
    // A body that is not a list is not an empty list.
    for (body, why) in [
        ("<html>", "expected value"),
        (EXPIRED, "missing field `items`"),
        (&page(9, "", &[item("a", 1)])[..100], "EOF"),
        (r#"{"metadata":{},"items":[]}"#, "no resourceVersion"),
        (
            &page(9, "", &[item("a", 1), r#"{"metadata":{"resourceVersion":"1"}}"#.into()]),
            "no name that can be read",
        ),
    ] {
        let Err(ListError::Source(error)) = list(Reply::of(200, body.to_owned())).await else {
            panic!("{body}")
        };
        is_malformed(&error, why);
    }
}

#[tokio::test]
async fn an_error_of_a_watch_names_its_resumption() {
    let a = || line("ADDED", &item("a", 8));
    let check = async |reply, expected: &[&str]| {
        let (words, error) = watch(reply).await;
        assert_eq!(words, expected);
        error
    };
    let old = line("ERROR", EXPIRED);
    assert_eq!(check(Reply::pieces(200, [a(), old]), &["+a"]).await, Some(WatchError::Expired));
    assert_eq!(check(Reply::of(410, EXPIRED), &[]).await, Some(WatchError::Expired));
    assert_eq!(check(Reply::of(410, "Gone"), &[]).await, Some(WatchError::Expired));
    // An end in the middle of a line is no event, at any position; the complete events before it
    // count.
    let whole = a();
    for cut in 1..whole.len() {
        let error = check(Reply::pieces(200, [a(), whole[..cut].to_owned()]), &["+a"]).await;
        let Some(WatchError::Source(error)) = error else { panic!("{error:?}") };
        assert!(error.is_transient() && error.to_string().contains("middle of a line"), "{error}");
    }
    let error = check(Reply::broken(200, a()), &["+a"]).await;
    assert!(matches!(error, Some(WatchError::Source(SourceError::Unavailable { .. }))), "{error:?}");
    assert_eq!(check(Reply::of(200, a()), &["+a"]).await, None, "an end is no error");
    assert_eq!(check(Reply::of(200, ""), &[]).await, None);
    // Empty lines, lines in pieces, many in one.
    let pieces = ["\n", "\r\n", &whole[..9], &whole[9..20], &whole[20..], "\n", &[a(), a()].concat()];
    assert_eq!(check(Reply::pieces(200, pieces.map(str::to_owned)), &["+a", "+a", "+a"]).await, None);
    // The same bookmark again.
    let mark = line("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#);
    assert_eq!(check(Reply::of(200, [mark.clone(), mark].concat()), &[".", "."]).await, None);
    // An undecodable object hides no others.
    let broken = line("MODIFIED", r#"{"metadata":{"name":"b","resourceVersion":"9"},"spec":{"vni":1}}"#);
    assert_eq!(check(Reply::of(200, [broken, a()].concat()), &["?b", "+a"]).await, None);
    for (text, why) in [
        ("<html>\n", "no event"),
        ("{\"type\":\"ADDED\",\"object\":{\"metadata\":{},\"spec\":{\"vni\":\"1\"}}}\n", "without a name"),
        ("{\"type\":\"NOVEL\",\"object\":{}}\n", "NOVEL"),
    ] {
        let error = check(Reply::of(200, [a(), text.to_owned(), a()].concat()), &["+a"]).await;
        let Some(WatchError::Source(error)) = error else { panic!("{error:?}") };
        is_malformed(&error, why);
    }
    // The state, with its end twice.
    let end = r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let end = line("BOOKMARK", end);
    let remote = of([Reply::of(200, [a(), end.clone(), end].concat())]);
    let events = remote.watch(from(WatchFrom::State(Freshness::Any))).await.unwrap();
    let received: Vec<_> = events.map(|event| word(&event.unwrap())).collect().await;
    assert_eq!(received, ["+a", "|", "."]);
    // A server that has watches from the state turned off.
    let off = json!({"kind": "Status", "code": 422, "reason": "Invalid", "details": {"causes": [
        {"reason": "FieldValueForbidden", "field": "sendInitialEvents", "message": "forbidden"},
    ]}});
    let remote = of([Reply::of(422, off.to_string())]);
    let error = remote.watch(from(WatchFrom::State(Freshness::Any))).await.err();
    assert!(matches!(error, Some(WatchError::Source(SourceError::Unsupported { .. }))), "{error:?}");
}

#[tokio::test]
async fn an_endless_line_is_refused() {
    // A hundred MiB, if they were read.
    let endless = stream::iter((0..1600).map(|_| Ok(Bytes::from(vec![b'x'; 64 << 10]))));
    let (words, error) = watch(Reply::stream(200, endless)).await;
    assert_eq!(words, Vec::<String>::new());
    let Some(WatchError::Source(error)) = error else { panic!("{error:?}") };
    is_malformed(&error, "longer than 1048576 bytes");
}

#[tokio::test]
async fn an_endless_response_is_refused() {
    let endless = || stream::iter((0..1600).map(|_| Ok(Bytes::from(vec![b' '; 64 << 10]))));
    let Err(ListError::Source(error)) = list(Reply::stream(200, endless())).await else {
        panic!("it is no list")
    };
    is_malformed(&error, "longer than 1048576 bytes");
    // A response of exactly the limit is accepted, and one byte more is not, also in one piece.
    let padded = |length: usize| {
        let page = page(9, "", &[item("a", 1)]);
        [page.clone(), " ".repeat(length - page.len())].concat()
    };
    assert_eq!(list(Reply::of(200, padded(1 << 20))).await.unwrap().items.len(), 1);
    let pieces = padded((1 << 20) + 1);
    let (one, other) = pieces.split_at(1000);
    for reply in [Reply::of(200, pieces.clone()), Reply::pieces(200, [one.to_owned(), other.to_owned()])] {
        let Err(ListError::Source(error)) = list(reply).await else { panic!("it is too long") };
        is_malformed(&error, "longer than");
    }
    // The code of a refusal is sufficient.
    let refused = list(Reply::stream(403, endless())).await;
    assert!(matches!(refused, Err(ListError::Source(SourceError::Forbidden { .. }))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    assert_eq!(list(Reply::Silent).await, Err(SourceError::TimedOut.into()));
    assert_eq!(list(Reply::stream(200, stream::pending())).await, Err(SourceError::TimedOut.into()));
    assert_eq!(watch(Reply::Silent).await.1, Some(SourceError::TimedOut.into()));
    // A started watch may be silent for any time.
    let remote = of([Reply::stream(200, stream::pending())]);
    let mut events = remote.watch(from(WatchFrom::After(Revision(7).into()))).await.unwrap();
    let silent = tokio::time::timeout(Duration::from_secs(3600), events.next()).await;
    assert!(silent.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_is_an_unknown_outcome() {
    let object = || serde_json::to_string(&port("a", "1")).unwrap();
    let replies: [fn(String) -> Reply; 6] = [
        |_| Reply::Lost,
        |_| Reply::Silent,
        |object| Reply::broken(201, object[..20].to_owned()),
        |_| Reply::of(502, "<html>"),
        |_| Reply::of(504, r#"{"kind":"Status","code":504,"reason":"Timeout","message":"late"}"#),
        |_| Reply::of(200, "<html>"), // it was done, and it is not known what
    ];
    for reply in replies {
        let remote = |reply| Remote::<Port>::new(Script::new([reply]).client(), kind(), server());
        let check =
            |error: WriteError| assert!(matches!(error, WriteError::UnknownOutcome { .. }), "{error:?}");
        check(remote(reply(object())).create(&port("a", "1"), None).await.unwrap_err());
        check(remote(reply(object())).update(&port("a", "1"), &Preconditions::default()).await.unwrap_err());
        let patch = Patch { format: PatchFormat::Merge, body: b"{}"[..].into(), status: false };
        check(remote(reply(object())).patch(&key("a"), &patch, &Preconditions::default()).await.unwrap_err());
    }
    for reply in [Reply::Lost, Reply::Silent, Reply::of(500, "x")] {
        let remote = Remote::<Port>::new(Script::new([reply]).client(), kind(), server());
        let error = remote.delete(&key("a"), &Deletion::default()).await.unwrap_err();
        assert!(matches!(error, WriteError::UnknownOutcome { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_object_name_may_be_any_path_segment() {
    let script = Script::new([Reply::of(404, "")]);
    let kind = Kind::new("v1", "Thing", "things", Scope::Namespaced).unwrap();
    let remote = Remote::<Small>::new(script.client(), kind, server());
    let key = ObjectKey::new(Some("a b"), "c?d#e&f:ö").unwrap();
    assert!(remote.get(&key, Freshness::Newest).await.is_err());
    assert_eq!(script.requests(), ["GET /api/v1/namespaces/a%20b/things/c%3Fd%23e%26f%3A%C3%B6"]);
}
