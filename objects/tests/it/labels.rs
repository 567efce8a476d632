//! Labels, beyond being a map (`model.rs`).

use machinery_objects::Labels;

use crate::report;

#[test]
fn p07_any_texts_can_be_labels_and_rules_are_checked_apart() {
    let labels = Labels::from([("3:a", "=,\0"), ("", ""), ("ö", "12:"), ("", "last")]);
    assert_eq!(
        (labels.get("3:a"), labels.get(""), labels.get("ö")),
        (Some("=,\0"), Some("last"), Some("12:"))
    );
    assert_eq!(labels.get("a"), None);

    for length in [0, 1, 63, 64, 65, 4_095, 4_096, 300_000] {
        let (key, value) = ("k".repeat(length), "ö".repeat(length));
        let labels = Labels::from([(key.as_str(), value.as_str()), ("z", "after")]);
        assert_eq!((labels.get(&key), labels.get("z")), (Some(value.as_str()), Some("after")));
    }

    assert_eq!(Labels::from([("example.com/a", "B-1"), ("b", "")]).check(), Ok(()));
    let error = Labels::from([("a", "b"), ("c", "d e")]).check().unwrap_err();
    let reason =
        "' ' at byte 1 has no place in a label's value, which is made of A-Z, a-z, 0-9, `-`, `_` and `.`";
    assert_eq!(report(&error), format!("`c=d e` cannot be a label: {reason}"));
    assert!(Labels::from([("", "b")]).check().is_err());
}

#[test]
fn p07_labels_cost_two_words_and_read_well() {
    assert_eq!(size_of::<Labels>(), 16);
    let labels = Labels::from([("tier", "front"), ("app", "web")]);
    assert_eq!(labels.to_string(), "app=web,tier=front");
    assert_eq!(format!("{labels:?}"), r#"{"app": "web", "tier": "front"}"#);
    assert_eq!(Labels::default().to_string(), "");
}
