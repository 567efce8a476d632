use std::time::Duration;

use machinery_objects::Unreadable;

use super::*;
use crate::testing::Host;

fn read(line: &str) -> Result<WatchEvent<Host>, WatchError> {
    event(line.as_bytes(), &mut BookmarkMode::Bookmarks)
}

const A: &str =
    r#"{"metadata": {"name": "a", "namespace": "n", "resourceVersion": "5"}, "spec": {"rack": 1}}"#;
const BROKEN: &str = r#"{"metadata": {"name": "b", "resourceVersion": "6"}, "spec": {"rack": "high"}}"#;

fn version(text: &str) -> ResourceVersion {
    ResourceVersion::new(text).unwrap()
}

#[test]
fn a_line_is_decoded_in_either_field_order() {
    let a: Host = serde_json::from_str(A).unwrap();
    for (event_type, expected) in [
        ("ADDED", WatchEvent::Added(a.clone())),
        ("MODIFIED", WatchEvent::Modified(a.clone())),
        ("DELETED", WatchEvent::Deleted(a.clone())),
        ("LEFT", WatchEvent::Left(a)),
    ] {
        assert_eq!(read(&format!(r#"{{"type":"{event_type}","object":{A}}}"#)), Ok(expected.clone()));
        assert_eq!(read(&format!(r#"{{"object":{A},"type":"{event_type}"}}"#)), Ok(expected.clone()));
        assert_eq!(
            read(&format!(r#"{{"more":1,"type":"{event_type}","object":{A},"even":2}}"#)),
            Ok(expected)
        );
        let is_gone = matches!(event_type, "DELETED" | "LEFT");
        let Ok(WatchEvent::Unreadable(unreadable)) =
            read(&format!(r#"{{"type":"{event_type}","object":{BROKEN}}}"#))
        else {
            panic!("{event_type}")
        };
        let Unreadable { key, version: at, is_gone: gone, .. } = unreadable;
        assert_eq!((key.as_str(), at, gone), ("b", Some(version("6")), is_gone));
    }
}

#[test]
fn an_object_without_a_version_is_reported_by_name() {
    for (event_type, is_gone) in [("ADDED", false), ("MODIFIED", false), ("DELETED", true), ("LEFT", true)] {
        let expected = read(&format!(
            r#"{{"type":"{event_type}","object":{{"metadata":{{"name":"x"}},"spec":{{"rack":1}}}}}}"#
        ));
        let reason = "it has no resourceVersion".to_owned();
        let key = "x".parse().unwrap();
        assert_eq!(expected, Ok(WatchEvent::Unreadable(Unreadable { key, version: None, is_gone, reason })));
    }
}

#[test]
fn a_state_ends_once() {
    let end = r#"{"type":"BOOKMARK","object":{"kind":"Host","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
    let bookmark =
        |initial_state_ends| Ok(WatchEvent::Bookmark { version: version("7"), initial_state_ends });
    let mut mode = BookmarkMode::State;
    assert_eq!(event::<Host>(end.as_bytes(), &mut mode), bookmark(true));
    assert_eq!(event::<Host>(end.as_bytes(), &mut mode), bookmark(false), "the same again");
    assert_eq!(read(end), bookmark(false), "a watch that began with no state");
}

#[test]
fn edit_bookmarks_count_only_in_interest_watches() {
    let line = |edit: &str| {
        format!(
            r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"7","annotations":{{"machinery.dev/interest-edit":"{edit}"}}}}}}}}"#
        )
    };
    let expected = event::<Host>(line("3").as_bytes(), &mut BookmarkMode::Edits);
    assert_eq!(expected, Ok(WatchEvent::Complete { edit: EditNumber(3), version: version("7") }));
    assert!(matches!(read(&line("3")), Ok(WatchEvent::Bookmark { .. })));
    let expected = event::<Host>(line("three").as_bytes(), &mut BookmarkMode::Edits);
    assert!(matches!(expected, Err(WatchError::Source(SourceError::Malformed { .. }))));
}

#[test]
fn an_error_event_maps_to_its_remedy() {
    let check = |status: &str, expected: WatchError| {
        assert_eq!(read(&format!(r#"{{"type":"ERROR","object":{status}}}"#)), Err(expected));
    };
    check(r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#, WatchError::Expired);
    check(r#"{"code":410,"reason":"Gone"}"#, WatchError::Expired);
    let retry_after = Some(Duration::from_secs(1));
    check(
        r#"{"code":504,"message":"Too large resource version: 9, current: 7","details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}}"#,
        WatchError::FutureRevision { newest: Some(version("7")), retry_after },
    );
    check(
        r#"{"code":429,"details":{"retryAfterSeconds":1}}"#,
        SourceError::TooManyRequests { retry_after }.into(),
    );
    check(r#"{"code":403,"message":"no"}"#, SourceError::Forbidden { reason: "no".into() }.into());
    let reason = "etcd event received with no previous value".to_owned();
    check(
        &format!(r#"{{"code":500,"message":"{reason}"}}"#),
        SourceError::Unavailable { reason, retry_after: None }.into(),
    );
    check("{}", SourceError::Unavailable { reason: "code 500".into(), retry_after: None }.into());
}

#[test]
fn an_invalid_event_is_malformed() {
    let check = |line: &str, why: &str| match read(line) {
        Err(WatchError::Source(SourceError::Malformed { reason })) => {
            assert!(reason.contains(why), "{reason}")
        }
        other => panic!("{line}: {other:?}"),
    };
    check("<html>", "expected value");
    check("{}", "missing field");
    check(r#"{"type":"ADDED"}"#, "missing field `object`");
    check(&format!(r#"{{"type":"NOVEL","object":{A}}}"#), "NOVEL");
    check(&format!(r#"{{"type":"ADDED","object":{A}"#), "EOF");
    check(&format!(r#"{{"type":"ADDED","object":{A}}} {{"type":"ADDED"}}"#), "trailing");
    check(
        r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"},"spec":{"rack":1}}}"#,
        "without a name",
    );
    check(r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#, "a bookmark has no resourceVersion");
    check(r#"{"type":"BOOKMARK","object":[]}"#, "BOOKMARK");
    check(r#"{"type":"ERROR","object":"no"}"#, "ERROR");
}
