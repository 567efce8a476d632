mod fixtures;
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::encode::wire::{write_bytes, write_message, write_varint};
use super::{ExpectedType, ListWriter, decode, encode, watch_frame};

const NOTHING: ExpectedType<'_> = ExpectedType { api_version: "", kind: "" };

/// The output of `record/bodies`, from Go's own serializers.
fn recorded(extension: &str) -> BTreeMap<String, Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|found| found == extension));
    files
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

fn bodies() -> &'static BTreeMap<String, Vec<u8>> {
    static BODIES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    BODIES.get_or_init(|| recorded("pb"))
}

/// Returns an envelope of a kind around these message bytes.
fn body(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let mut body = b"k8s\0".to_vec();
    let Ok(()) = write_message::<std::convert::Infallible>(&mut body, 1, |out| {
        write_bytes(out, 1, api_version.as_bytes());
        write_bytes(out, 2, kind.as_bytes());
        Ok(())
    });
    write_bytes(&mut body, 2, message);
    body
}

fn config_map(message: &[u8]) -> Vec<u8> {
    body("v1", "ConfigMap", message)
}

fn message_of(of: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = Vec::new();
    of(&mut message);
    message
}

#[test]
fn decoded_bodies_equal_those_of_go() {
    let texts = recorded("json");
    assert!(bodies().len() > 130, "{}", bodies().len());
    for (name, body) in bodies() {
        let expected: Value = serde_json::from_slice(&texts[name]).unwrap();
        let decoded = decode(body, NOTHING).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(decoded, expected, "{name}");
    }
}

#[test]
fn encoded_bodies_equal_those_of_go() {
    for (name, body) in bodies() {
        let object = decode(body, NOTHING).unwrap();
        let encoded = encode(&object).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(decode(&encoded, NOTHING).unwrap(), object, "{name}");
        assert!(encoded == *body, "{name}: other bytes than Go's");
    }
}

#[test]
fn a_list_encoded_in_pieces_equals_that_of_go() {
    let mut lists = 0;
    for (name, body) in bodies() {
        let list = decode(body, NOTHING).unwrap();
        let Some(items) = list["items"].as_array() else { continue };
        let said = |key: &str| list[key].as_str().unwrap();
        let writer = ListWriter::of(said("apiVersion"), said("kind")).unwrap();
        let mut written = Vec::new();
        items.iter().for_each(|item| writer.item(&mut written, item).unwrap());
        let head = writer.head(&list["metadata"], written.len()).unwrap();
        assert!([&head[..], &written, ListWriter::END].concat() == *body, "{name}: other bytes than Go's");
        lists += 1;
    }
    assert!(lists > 20, "{lists}");
    assert_eq!(ListWriter::of("example.com/v1", "WidgetList").unwrap_err().code, 406);
}

#[test]
fn a_watch_frame_equals_that_of_go() {
    let frame = &recorded("frame")["watch"];
    let event: Value = serde_json::from_slice(&recorded("json")["watch"]).unwrap();
    let made = watch_frame("ADDED", &event["object"]).unwrap();
    assert_eq!(made[..4], u32::try_from(frame.len()).unwrap().to_be_bytes());
    assert_eq!(made[4..], frame[..]);
    let read = decode(&body("v1", "WatchEvent", frame), NOTHING).unwrap();
    assert_eq!((&read["type"], &read["object"]), (&event["type"], &event["object"]));
}

#[test]
fn missing_type_metadata_is_that_of_the_path() {
    let expected = ExpectedType { api_version: "apps/v1", kind: "DeleteOptions" };
    for (api_version, kind, said) in [
        ("", "", ("apps/v1", "DeleteOptions")),
        ("v1", "", ("v1", "DeleteOptions")),
        ("", "DeleteOptions", ("apps/v1", "DeleteOptions")),
        ("v1", "ConfigMap", ("v1", "ConfigMap")),
        ("a/b/c", "DeleteOptions", ("apps/v1", "DeleteOptions")),
    ] {
        let object = decode(&body(api_version, kind, b""), expected).unwrap();
        assert_eq!((object["apiVersion"].as_str(), object["kind"].as_str()), (Some(said.0), Some(said.1)));
    }
}

#[test]
fn invalid_bodies_are_refused_in_the_words_of_kubernetes() {
    let expected = ExpectedType { api_version: "v1", kind: "ConfigMap" };
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): ";
    let unhandled = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
    for (body, head, said) in [
        (b"".to_vec(), unrecognized, "empty data (<empty>)"),
        (b"k8s\0".to_vec(), unrecognized, "empty body (6b387300)"),
        (
            b"{}".to_vec(),
            unrecognized,
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (7b7d)",
        ),
        (b"k8s\0\x0a".to_vec(), unrecognized, "unexpected EOF (6b3873000a)"),
        (
            b"k8s\0\x08\x01".to_vec(),
            unrecognized,
            "proto: wrong wireType = 0 for field typeMeta (6b3873000801)",
        ),
        (
            body("example.com/v1", "Widget", b""),
            "Widget in version \"v1\" cannot be handled as a ConfigMap: ",
            "no kind \"Widget\" is registered for version \"example.com/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
        ),
        (config_map(b"\x0a\x05"), unhandled, "unexpected EOF"),
        (config_map(b"\x08\x05"), unhandled, "proto: wrong wireType = 0 for field metadata"),
        (config_map(b"\x07"), unhandled, "proto: ConfigMap: illegal tag 0 (wire type 7)"),
        (config_map(b"\x0f"), unhandled, "proto: illegal wireType 7"),
        (config_map(b"\x0c"), unhandled, "proto: ConfigMap: wiretype end group for non-group"),
        (config_map(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), unhandled, "proto: integer overflow"),
        (
            config_map(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            unhandled,
            "proto: negative length found during unmarshaling",
        ),
    ] {
        let refusal = decode(&body, expected).unwrap_err();
        assert_eq!((refusal.code, refusal.message), (400, format!("{head}{said}")));
    }
}

#[test]
fn unknown_fields_are_skipped_and_repeated_messages_merged() {
    let message = message_of(|out| {
        write_bytes(out, 1, &message_of(|out| write_bytes(out, 1, b"first")));
        write_varint(out, 900, 7);
        write_bytes(out, 901, b"whatever");
        out.extend(b"\xb3\x38\x08\x01\xb4\x38\x35abcd\x39abcdefgh");
        write_bytes(out, 1, &message_of(|out| write_bytes(out, 3, b"space")));
        write_bytes(out, 2, &message_of(|out| write_bytes(out, 1, b"key")));
        write_bytes(out, 2, &message_of(|out| write_bytes(out, 2, b"no \xff\xc3 key")));
        write_varint(out, 4, 0);
    });
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first", "namespace": "space"},
        "data": {"": "no \u{fffd}\u{fffd} key", "key": ""}, "immutable": false,
    });
    assert_eq!(decode(&config_map(&message), NOTHING).unwrap(), expected);
}

#[test]
fn packed_integers_are_read_as_well() {
    let security = message_of(|out| write_bytes(out, 4, b"\x01\x80\x01"));
    let spec = message_of(|out| write_bytes(out, 14, &security));
    let pod = decode(&body("v1", "Pod", &message_of(|out| write_bytes(out, 2, &spec))), NOTHING).unwrap();
    assert_eq!(pod["spec"]["securityContext"], json!({"supplementalGroups": [1, 128]}));
}

/// In Go the value of such an entry is an empty list, not none.
#[test]
fn wrapped_texts_that_are_absent_are_an_empty_list() {
    let entry = message_of(|out| write_bytes(out, 1, b"scopes"));
    let spec = message_of(|out| write_bytes(out, 5, &entry));
    let review =
        body("authorization.k8s.io/v1", "SubjectAccessReview", &message_of(|out| write_bytes(out, 2, &spec)));
    let review = decode(&review, NOTHING).unwrap();
    assert_eq!(review["spec"], json!({"extra": {"scopes": []}}));
    assert_eq!(decode(&encode(&review).unwrap(), NOTHING).unwrap(), review);
}

/// Two bytes of a list's element stand for a whole object with its zeros.
#[test]
fn the_size_of_decoded_values_is_limited() {
    let refusal = decode(&body("v1", "PodList", &[0x12, 0].repeat(1_000_000)), NOTHING).unwrap_err();
    assert!(refusal.message.ends_with("more than 250000 values"), "{refusal}");
}

#[test]
fn the_nesting_of_messages_is_limited() {
    let groups = decode(&config_map(&[0x7b].repeat(3_000_000)), NOTHING).unwrap_err();
    assert!(groups.message.ends_with("unexpected EOF"), "{groups}");
    let mut event = Vec::new();
    for _ in 0..1000 {
        event = message_of(|out| write_bytes(out, 2, &message_of(|out| write_bytes(out, 1, &event))));
        event = body("v1", "WatchEvent", &event);
    }
    assert!(decode(&event, NOTHING).unwrap_err().message.ends_with("exceeded max depth"));
    for (deep, expected) in [(90, true), (99, false), (120, false), (100_000, false)] {
        let fields = "[".repeat(deep) + &"]".repeat(deep);
        let raw = message_of(|out| write_bytes(out, 1, fields.as_bytes()));
        let entry = message_of(|out| write_bytes(out, 7, &raw));
        let metadata = message_of(|out| write_bytes(out, 17, &entry));
        let message = message_of(|out| write_bytes(out, 1, &metadata));
        assert_eq!(decode(&config_map(&message), NOTHING).is_ok(), expected, "{deep}");
    }
}

#[test]
fn unencodable_values_are_reported() {
    for (object, code, said) in [
        (json!({"apiVersion": "example.com/v1", "kind": "Widget"}), 406, "Widget"),
        (json!(7), 406, "cannot be encoded"),
        (json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}}), 500, "data"),
        (json!({"apiVersion": "v1", "kind": "ConfigMap", "data": []}), 500, "data"),
        (json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "!"}}), 500, "data"),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": "now"}}),
            500,
            "creationTimestamp",
        ),
    ] {
        let refusal = encode(&object).unwrap_err();
        assert_eq!(refusal.code, code, "{object}");
        assert!(refusal.message.contains(said), "{refusal}");
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    Set(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Double(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        4 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => any::<usize>().prop_map(Mutation::Cut),
        1 => (any::<usize>(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (any::<usize>(), 0..64_usize).prop_map(|(at, length)| Mutation::Double(at, length)),
    ]
}

fn mutate(body: &mut Vec<u8>, mutation: &Mutation) {
    let length = body.len().max(1);
    match mutation {
        Mutation::Set(at, byte) => {
            if let Some(old) = body.get_mut(at % length) {
                *old = *byte;
            }
        }
        Mutation::Cut(at) => body.truncate(at % length),
        Mutation::Insert(at, bytes) => {
            let at = (at % length).min(body.len());
            body.splice(at..at, bytes.iter().copied());
        }
        Mutation::Double(at, more) => {
            let at = (at % length).min(body.len());
            let part = body[at..(at + more).min(body.len())].to_vec();
            body.splice(at..at, part);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any bytes give an object that JSON can express, or a refusal.
    #[test]
    fn mutated_bodies_never_panic(which in any::<prop::sample::Index>(), mutations in prop::collection::vec(mutation(), 1..6)) {
        let (_, whole) = bodies().iter().nth(which.index(bodies().len())).unwrap();
        let mut mutated = whole.clone();
        for mutation in &mutations {
            mutate(&mut mutated, mutation);
        }
        match decode(&mutated, NOTHING) {
            Ok(object) => {
                let text = object.to_string();
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), object.clone());
                let again = encode(&object).unwrap();
                prop_assert!(decode(&again, NOTHING).is_ok(), "{}", text);
            }
            Err(refusal) => prop_assert_eq!(refusal.code, 400),
        }
    }

    #[test]
    fn bytes_never_panic(message in prop::collection::vec(any::<u8>(), 0..200), which in any::<prop::sample::Index>()) {
        let kinds = ["ConfigMap", "Pod", "Secret", "Event", "WatchEvent", "DeleteOptions", "Status"];
        if let Err(refusal) = decode(&body("v1", kinds[which.index(kinds.len())], &message), NOTHING) {
            prop_assert_eq!(refusal.code, 400);
        }
    }
}
