//! Selectors compared with naive models, and every parser on arbitrary text.

use std::collections::BTreeMap;

use machinery_objects::{FieldSelector, FieldTerm, LabelSelector, Labels, Requirement};
use proptest::prelude::*;

/// A generated requirement.
#[derive(Clone, Debug)]
enum Naive {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
    Greater(String, u8),
    Less(String, u8),
}

impl Naive {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let number = |key: &String| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(key, values) => values.iter().any(|value| labels.get(key) == Some(value)),
            Self::NotIn(key, values) => values.iter().all(|value| labels.get(key) != Some(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
            Self::Greater(key, than) => number(key).is_some_and(|number| number > i64::from(*than)),
            Self::Less(key, than) => number(key).is_some_and(|number| number < i64::from(*than)),
        }
    }

    fn made(&self) -> Requirement {
        match self {
            Self::In(key, values) => Requirement::any_of(key, values),
            Self::NotIn(key, values) => Requirement::none_of(key, values),
            Self::Exists(key) => Requirement::exists(key),
            Self::Absent(key) => Requirement::absent(key),
            Self::Greater(key, than) => Requirement::greater(key, &than.to_string()),
            Self::Less(key, than) => Requirement::less(key, &than.to_string()),
        }
        .unwrap()
    }

    /// The requirement as text, with optional spaces.
    fn written(&self, spaces: &str) -> String {
        let s = spaces;
        match self {
            Self::In(key, values) => format!("{s}{key} in{s}({s}{}{s})", values.join(&format!("{s},{s}"))),
            Self::NotIn(key, values) => format!("{key} {s}notin{s}({}{s}){s}", values.join(",")),
            Self::Exists(key) => format!("{s}{key}{s}"),
            Self::Absent(key) => format!("{s}!{s}{key}"),
            Self::Greater(key, than) => format!("{key}{s}>{s}{than}"),
            Self::Less(key, than) => format!("{s}{key}<{s}{than:03}{s}"),
        }
    }
}

/// Few keys and few values, so that they coincide; some are named like operators.
fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "in", "notin", "example.com/a"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "x", "y", "in", "4", "5", "12"]).prop_map(str::to_owned)
}

fn field() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b.c", "d"])
}

fn naive() -> impl Strategy<Value = Naive> {
    let values = || prop::collection::vec(value(), 1..4);
    prop_oneof![
        (key(), values()).prop_map(|(key, values)| Naive::In(key, values)),
        (key(), values()).prop_map(|(key, values)| Naive::NotIn(key, values)),
        key().prop_map(Naive::Exists),
        key().prop_map(Naive::Absent),
        (key(), 0..20u8).prop_map(|(key, than)| Naive::Greater(key, than)),
        (key(), 0..20u8).prop_map(|(key, than)| Naive::Less(key, than)),
    ]
}

/// Text made of the tokens of the grammars, sometimes of arbitrary characters.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "a", "b", "in", "notin", "(", ")", ",", "=", "==", "!=", "!", ">", "<", " ", "\t", "\\", "\\,",
        "\\=", "1", "-1", "/", "a/b", "ö", "\0", ".", "0",
    ];
    let piece =
        prop_oneof![9 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn p03_a_selector_matches_like_its_naive_model(
        naive in prop::collection::vec(naive(), 0..5),
        labels in prop::collection::btree_map(key(), value(), 0..5),
        spaces in "[ \t\r\n]{0,2}",
    ) {
        let made: LabelSelector = naive.iter().map(Naive::made).collect();
        let text = naive.iter().map(|naive| naive.written(&spaces)).collect::<Vec<_>>().join(",");
        prop_assert_eq!(&text.parse::<LabelSelector>().unwrap(), &made, "{:?}", text);
        prop_assert_eq!(&made.to_string().parse::<LabelSelector>().unwrap(), &made);

        let kept: Labels = labels.iter().collect();
        let expected = naive.iter().all(|naive| naive.holds(&labels));
        prop_assert_eq!(made.matches(&kept), expected, "{:?} on {:?}", made, kept);
        if expected {
            for (key, value) in made.equalities() {
                prop_assert_eq!(kept.get(key), Some(value));
            }
        }
    }

    #[test]
    fn p06_a_field_selector_matches_like_its_naive_model(
        terms in prop::collection::vec((field(), any::<bool>(), "[x,=\\\\ ö]{0,3}"), 0..5),
        fields in prop::collection::btree_map(field(), "[x,=\\\\ ö]{0,2}", 0..3),
    ) {
        let made: FieldSelector = terms.iter().map(|(field, equal, value)| {
            if *equal { FieldTerm::equals(field, value) } else { FieldTerm::differs(field, value) }.unwrap()
        }).collect();
        prop_assert_eq!(&made.to_string().parse::<FieldSelector>().unwrap(), &made);

        let found = |field: &str| fields.get(field).map(String::as_str);
        let expected = terms.iter().all(|(field, equal, value)| (found(field).unwrap_or("") == value) == *equal);
        prop_assert_eq!(made.matches_by(found), expected);
        if expected {
            for (field, value) in made.equalities() {
                prop_assert_eq!(found(field), Some(value));
            }
        }
    }

    #[test]
    fn p07_labels_are_a_map(pairs in prop::collection::vec((text(), text()), 0..6), other in text()) {
        let labels: Labels = pairs.iter().map(|(key, value)| (key, value)).collect();
        let map: BTreeMap<&str, &str> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        prop_assert!(labels.iter().eq(map.iter().map(|(key, value)| (*key, *value))), "{:?} of {:?}", labels, map);
        for key in map.keys().copied().chain([other.as_str()]) {
            prop_assert_eq!(labels.get(key), map.get(key).copied());
        }
        prop_assert_eq!(labels.is_empty(), map.is_empty());
        let reversed: Labels = labels.iter().collect::<Vec<_>>().into_iter().rev().collect();
        prop_assert_eq!(labels, reversed);
    }

    #[test]
    #[cfg(feature = "testing")]
    fn p02_no_text_makes_a_parser_panic_or_contradict_itself(text in text()) {
        machinery_objects::testing::texts(text.as_bytes());
    }
}

#[test]
#[cfg(feature = "testing")]
fn the_corpus_holds() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/texts");
    let entries: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!entries.is_empty());
    for entry in entries {
        machinery_objects::testing::texts(&std::fs::read(entry).unwrap());
    }
}
