//! Tests of event correlation.

use super::correlate::{Correlator, EventAction, EventLimits};
use super::recent::RecentMap;
use super::{EventObject, Note};
use jiff::{SignedDuration, Timestamp};
use machinery_objects::{Kind, Object, ObjectKey, ObjectRef, Scope, Uid};

fn about(name: &str) -> ObjectRef {
    let kind = Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced).expect("a kind");
    ObjectRef { kind, key: name.parse().expect("a key"), uid: Uid::new("u-1") }
}

fn note(text: &str) -> Note {
    Note::warning(about("lab/db-0"), "AddressTaken", text)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + seconds).expect("a time")
}

fn correlator() -> Correlator {
    Correlator::new("hosts", EventLimits::default())
}

fn new(action: EventAction) -> EventObject {
    match action {
        EventAction::Create(event) => *event,
        other => panic!("{other:?} is no new event"),
    }
}

fn again(action: EventAction) -> (ObjectKey, u32, String) {
    match action {
        EventAction::Increment { key, count, text } => (key, count, text),
        other => panic!("{other:?} is nothing that was said"),
    }
}

#[test]
fn an_event_has_the_fields_of_kubernetes() {
    let event = new(correlator().record(at(0), &note("10.0.0.7 is db-1's")));
    let json = serde_json::to_value(&event).expect("it can be written");
    let name = event.key().name().to_owned();
    assert!(name.starts_with("db-0.18"), "{name}");
    let expected = serde_json::json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": { "name": name, "namespace": "lab" },
        "involvedObject": {
            "apiVersion": "net.example.com/v1", "kind": "Host", "name": "db-0", "namespace": "lab", "uid": "u-1",
        },
        "reason": "AddressTaken", "message": "10.0.0.7 is db-1's", "type": "Warning",
        "source": { "component": "hosts" }, "count": 1,
        "firstTimestamp": "2026-11-18T11:06:40Z", "lastTimestamp": "2026-11-18T11:06:40Z",
        "reportingComponent": "hosts", "reportingInstance": "hosts",
    });
    assert_eq!(json, expected);
}

#[test]
fn repeated_notes_increment_the_count() {
    let mut correlator = correlator();
    let first = new(correlator.record(at(0), &note("x")));
    for count in 2..=5 {
        let (key, counted, text) = again(correlator.record(at(i64::from(count)), &note("x")));
        assert_eq!((key, counted, text), (first.key(), count, "x".into()));
    }
    assert_ne!(
        new(correlator.record(at(9), &Note::normal(about("lab/db-0"), "AddressTaken", "x"))).key(),
        first.key()
    );
    assert_ne!(
        new(correlator.record(at(9), &Note::warning(about("lab/db-1"), "AddressTaken", "x"))).key(),
        first.key()
    );
    correlator.forget(&note("x"));
    assert_ne!(new(correlator.record(at(9), &note("x"))).key(), first.key(), "it was not there any more");
}

#[test]
fn similar_notes_are_combined() {
    let mut correlator = correlator();
    for i in 0..9 {
        new(correlator.record(at(i), &note(&format!("port {i}"))));
    }
    let combined = new(correlator.record(at(9), &note("port 9")));
    assert_eq!(combined.message(), "(combined from similar events): port 9");
    let (key, count, text) = again(correlator.record(at(10), &note("port 10")));
    assert_eq!((key, count, text.as_str()), (combined.key(), 2, "(combined from similar events): port 10"));
    let (key, ..) = again(correlator.record(at(11), &note("port 3")));
    assert_ne!(key, combined.key(), "that was said before");
    new(correlator.record(at(11 + 601), &note("port 11")));
}

#[test]
fn the_rate_limit_is_per_object() {
    let mut correlator = correlator();
    let said = (0..100).filter(|_| correlator.record(at(0), &note("x")) != EventAction::Discard).count();
    assert_eq!(said, 25);
    assert_ne!(
        correlator.record(at(0), &Note::warning(about("lab/db-1"), "Other", "x")),
        EventAction::Discard
    );
    assert_eq!(correlator.record(at(299), &note("x")), EventAction::Discard);
    assert_ne!(correlator.record(at(300), &note("x")), EventAction::Discard);
    assert_eq!(correlator.record(at(301), &note("x")), EventAction::Discard);
    // The clock jumps back, then forward.
    assert_eq!(correlator.record(at(-100_000), &note("x")), EventAction::Discard);
    let later =
        (0..100).filter(|_| correlator.record(at(1_000_000), &note("x")) != EventAction::Discard).count();
    assert_eq!(later, 25);
}

#[test]
fn long_messages_are_truncated_at_a_character_boundary() {
    for text in ["ä".repeat(2000), "x".repeat(1025), "x".repeat(1024)] {
        let event = new(correlator().record(at(0), &note(&text)));
        assert!(event.message().len() <= 1024 && event.message().len() > 1000, "{}", event.message().len());
    }
}

#[test]
fn the_correlation_cache_is_bounded_and_keeps_recent_entries() {
    let mut recent = RecentMap::new(100);
    for i in 0..10_000 {
        *recent.entry(i, || 0) += 1;
        *recent.entry(-1, || 0) += 1;
        assert!(recent.len() <= 100);
    }
    assert_eq!(*recent.entry(-1, || 0), 10_000);
    let limits = EventLimits { cache_size: 10, refill: SignedDuration::ZERO, ..EventLimits::default() };
    let mut correlator = Correlator::new("hosts", limits);
    for i in 0..1000 {
        new(correlator.record(at(i), &Note::normal(about(&format!("lab/h{i}")), "Ready", "it is")));
    }
}
