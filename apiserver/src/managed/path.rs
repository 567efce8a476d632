//! Path elements of `FieldsV1`: a field, list key, set value or index.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use serde_json::{Number, Value};

use super::codec::MalformedFields;
use crate::go_format::format_value;
use crate::json::{json_iterator, json_iterator_name, number, read};

/// A step. The order is that of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// The field of this name.
    Field(String),
    /// The item of a list of maps that has these values in its key fields, which are in order.
    Key(Vec<(String, Literal)>),
    /// The item of a set that is this value.
    Value(Literal),
    /// The item at this place.
    Index(i64),
}

impl PathElement {
    /// Returns the serialized form: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:3`.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let field = |(name, value): &(String, Literal)| {
                    format!("{}:{}", json_iterator_name(name), json_iterator(&value.0))
                };
                format!("k:{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => format!("v:{}", json_iterator(&value.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Parses the output of `to_text`. `None` is an unknown kind of path element, of a later
    /// version, which is ignored.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, MalformedFields> {
        let (kind, rest) = text.split_at_checked(2).ok_or(MalformedFields)?;
        match kind {
            "f:" => Ok(Some(Self::Field(rest.into()))),
            "v:" => Ok(Some(Self::Value(Literal::new(value(rest)?)))),
            "k:" => {
                let Value::Object(fields) = value(rest)? else { return Err(MalformedFields) };
                let literal = |(name, value)| (name, Literal::new(value));
                Ok(Some(Self::Key(fields.into_iter().map(literal).collect())))
            }
            "i:" => Ok(Some(Self::Index(rest.parse().map_err(|_| MalformedFields)?))),
            _ if kind.ends_with(':') => Ok(None),
            _ => Err(MalformedFields),
        }
    }
}

/// Reads numbers as Go does: a float is the same element in any notation.
fn value(text: &str) -> Result<Value, MalformedFields> {
    read(text.as_bytes()).map(|read| read.value).map_err(|_| MalformedFields)
}

/// The form in messages: `.name`, `[name="a"]`, `[="a"]`, `[3]`.
impl Display for PathElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let field = |(name, value): &(String, Literal)| format!("{name}={}", format_value(&value.0));
                write!(f, "[{}]", fields.iter().map(field).collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => write!(f, "[={}]", format_value(&value.0)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value in a path, which has an order. Numbers are the same if they are as numbers, however they
/// were written.
#[derive(Clone, Debug)]
pub(crate) struct Literal(Value);

impl Literal {
    pub(crate) fn new(value: Value) -> Self {
        match &value {
            // Whole floats become integers, and integers beyond 64 bits with a sign become floats.
            Value::Number(given) if given.as_i64().is_none() => {
                Self(number(&given.to_string()).map_or(value, Value::Number))
            }
            _ => Self(value),
        }
    }

    const fn rank(&self) -> u8 {
        match &self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            // Containers in paths are only possible where a client writes managedFields itself.
            (left, right) => {
                self.rank().cmp(&other.rank()).then_with(|| left.to_string().cmp(&right.to_string()))
            }
        }
    }
}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Literal {}

/// Compares numbers by value; of two that are equal as floats, whole numbers come first and are
/// compared exactly.
fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    let whole = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (left_whole, right_whole) => {
            let [left, right] = [left, right].map(|number| number.as_f64().unwrap_or_default());
            left.total_cmp(&right).then(right_whole.is_some().cmp(&left_whole.is_some()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Literal, PathElement};
    use crate::json::GoRecording;

    fn check(text: &str, expected: Option<PathElement>) {
        let parsed = PathElement::parse(text).unwrap();
        assert_eq!(parsed, expected, "{text}");
        if let Some(element) = expected {
            assert_eq!(element.to_text(), text);
        }
    }

    fn literal(value: impl Into<Value>) -> Literal {
        Literal::new(value.into())
    }

    #[test]
    fn path_elements_survive_a_round_trip() {
        check("f:name", Some(PathElement::Field("name".into())));
        check("f:", Some(PathElement::Field(String::new())));
        check("f:a:b/c", Some(PathElement::Field("a:b/c".into())));
        check("i:-3", Some(PathElement::Index(-3)));
        check("v:\"a\"", Some(PathElement::Value(literal("a"))));
        check("v:\"\\u003ca\\u0026\"", Some(PathElement::Value(literal("<a&"))));
        check("v:80", Some(PathElement::Value(literal(80))));
        let key = vec![("name".to_owned(), literal("a")), ("port".to_owned(), literal(80))];
        check("k:{\"name\":\"a\",\"port\":80}", Some(PathElement::Key(key)));
        check("x:of a time to come", None);
        for text in ["", "f", "ff:a", "i:a", "v:", "v:{", "v:1 2", "k:[]", "k:1"] {
            assert!(PathElement::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn path_elements_are_written_as_structured_merge_diff_does() {
        let recording = GoRecording::load();
        for float in recording.floats().filter(|float| float.value.is_sign_positive() || float.value != 0.0) {
            let element = PathElement::Value(literal(float.value));
            assert_eq!(element.to_text(), float.path_element);
            assert_eq!(PathElement::parse(&float.path_element).unwrap(), Some(element));
        }
        for (text, _, item, key) in recording.strings {
            check(&item, Some(PathElement::Value(literal(text.as_str()))));
            check(&key, Some(PathElement::Key(vec![(text.clone(), literal(text))])));
        }
    }

    #[test]
    fn floats_written_by_older_versions_are_the_same_elements() {
        for float in GoRecording::load().floats() {
            let before = format!("v:{}", serde_json::to_string(&float.value).unwrap());
            let element = PathElement::parse(&before).unwrap();
            assert_eq!(element, PathElement::parse(&float.path_element).unwrap(), "{before}");
            let before = format!("k:{{\"a\":{}}}", serde_json::to_string(&float.value).unwrap());
            let key = PathElement::Key(vec![("a".into(), literal(float.value))]);
            assert_eq!(PathElement::parse(&before).unwrap(), Some(key), "{before}");
        }
        for (before, now) in [("v:1e21", "v:1e+21"), ("v:1.0", "v:1"), ("v:1e16", "v:10000000000000000")] {
            let element = PathElement::parse(before).unwrap().unwrap();
            assert_eq!(element.to_text(), now);
            assert_eq!(Some(element), PathElement::parse(now).unwrap());
        }
    }

    #[test]
    fn path_elements_are_shown_as_go_prints_their_values() {
        let shown = |text: &str| PathElement::parse(text).unwrap().unwrap().to_string();
        assert_eq!(shown("v:1e21"), "[=1e+21]");
        assert_eq!(shown("v:\"a\\u0301\\u200b<\""), "[=\"a\u{301}\\u200b<\"]");
        assert_eq!(shown("k:{\"a\":0.5,\"b\":true}"), "[a=0.5,b=true]");
    }

    #[test]
    fn equal_numbers_are_equal_path_elements() {
        assert_eq!(literal(1), literal(1.0));
        assert_eq!(PathElement::parse("v:80.0").unwrap().unwrap().to_text(), "v:80");
        let ordered = [
            json!(-1.5),
            json!(1),
            json!(1.5),
            json!(u64::MAX),
            json!("a"),
            json!(false),
            json!([]),
            json!({}),
            json!(null),
        ];
        for pair in ordered.windows(2) {
            assert!(literal(pair[0].clone()) < literal(pair[1].clone()), "{pair:?}");
        }
    }
}
