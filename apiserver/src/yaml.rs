//! YAML as Kubernetes reads it: one document, that could have been JSON.

mod first;
mod repeated;

pub(crate) use repeated::{converting, repeated_keys, warnings_of};

use std::collections::BTreeSet;
use std::{fmt, thread};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Budget, Options, budget, options};

use crate::bounded::{TEXT_BYTES, shortened};
use crate::json::{self, DocumentMemory, MAX_DEPTH, MAX_VALUES, MalformedJson, ParsedJson, number};

/// The stack of the recursive parser, which needs much of it for each level in unoptimized builds.
const STACK: usize = 8 << 20;

/// Maximum number of values, including repetitions by aliases.
const MAX_NODES: usize = MAX_VALUES;

/// How much aliases may repeat: less than makes a small text a large object.
const MAX_REPEATED: usize = 30_000;

/// Maximum number of duplicate keys in warnings.
const MAX_DUPLICATES: usize = 100;

/// Reads one document; later ones must be empty. Scalars are those of YAML 1.1: `yes`, `on` and
/// their like are true.
///
/// Keys that are numbers or booleans become texts. Aliases and merges are followed within limits; a
/// tag of an application means nothing.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedJson, MalformedJson> {
    // Most bodies with the content type of YAML are JSON.
    if bytes.trim_ascii_start().starts_with(b"{") {
        match json::read(bytes) {
            Ok(read) => return Ok(read),
            Err(why) if why.is_limit() => return Err(why),
            Err(_) => {}
        }
    }
    decoded(|| parse(bytes))
}

/// Runs a decoder in a thread with a stack for it.
fn decoded<T: Send>(decode: impl FnOnce() -> Result<T, MalformedJson> + Send) -> Result<T, MalformedJson> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, decode);
        reader
            .ok()
            .and_then(|reader| reader.join().ok())
            .unwrap_or_else(|| Err(malformed("the reader failed".into())))
    })
}

fn parse(bytes: &[u8]) -> Result<ParsedJson, MalformedJson> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| malformed(format!("no UTF-8 at byte {}", error.valid_up_to())))?;
    let (text, rest) = first::first(text);
    if !first::is_nothing(rest) {
        return Err(malformed("more than one document".into()));
    }
    let (mut duplicates, mut memory) = (Vec::new(), DocumentMemory::of(bytes));
    let seed = Node { duplicates: &mut duplicates, memory: &mut memory };
    let value =
        serde_saphyr::with_deserializer_from_str_with_options(text, limits(), |yaml| seed.deserialize(yaml))
            .map_err(|error| malformed(error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")))?;
    let mut known = BTreeSet::new();
    duplicates.retain(|path| known.insert(path.clone()));
    Ok(ParsedJson { value, duplicates })
}

/// A value as YAML.
pub(crate) fn write(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string()) // JSON is YAML, too
}

fn limits() -> Options {
    let budget: Option<Budget> = budget! {
        max_depth: MAX_DEPTH,
        max_nodes: MAX_NODES,
        max_events: 4 * MAX_NODES,
        max_documents: 1,
    };
    options! {
        budget: budget,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED },
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

fn malformed(why: String) -> MalformedJson {
    MalformedJson(format!("yaml: {why}"))
}

/// A value, with the paths of duplicate keys below it added to those known.
struct Node<'a> {
    duplicates: &'a mut Vec<String>,
    memory: &'a mut DocumentMemory,
}

impl Node<'_> {
    /// The visitor of a value below this one.
    const fn child(&mut self) -> Node<'_> {
        Node { duplicates: &mut *self.duplicates, memory: &mut *self.memory }
    }

    /// Prefixes the findings from index `below` on with this step.
    fn below(&mut self, below: usize, step: &str) {
        for path in &mut self.duplicates[below..] {
            let dot = if path.starts_with('[') { "" } else { "." };
            // The step is repeated in each path below it.
            *path = shortened(format!("{step}{dot}{path}"), TEXT_BYTES);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        number(&value.to_string()).map(Value::Number).ok_or_else(|| E::custom("the number is too big"))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        number(&value.to_string()).map(Value::Number).ok_or_else(|| E::custom("the number is too big"))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        number(&value.to_string()).map(Value::Number).ok_or_else(|| E::custom("the number is too big"))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        number(&value.to_string())
            .map(Value::Number)
            .ok_or_else(|| E::custom("the number is none that JSON has"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let below = self.duplicates.len();
            let Some(item) = seq.next_element_seed(self.child())? else {
                return Ok(Value::Array(items));
            };
            self.below(below, &format!("[{}]", items.len()));
            items.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        let first = self.duplicates.len();
        while let Some(key) = map.next_key_seed(MappingKey)? {
            if object.contains_key(&key)
                && self.duplicates.len() < MAX_DUPLICATES
                && !self.duplicates[first..].contains(&key)
            {
                self.duplicates.push(shortened(key.clone(), TEXT_BYTES));
            }
            let fields = object.len();
            self.memory.field(&key, fields).map_err(|why| de::Error::custom(why.0))?;
            let below = self.duplicates.len();
            let value = map.next_value_seed(self.child())?;
            self.below(below, &key);
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A key, as a text.
struct MappingKey;

impl<'de> DeserializeSeed<'de> for MappingKey {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for MappingKey {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a boolean as the key of a map")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(yaml: &str, expected: Value) {
        let read = read(yaml.as_bytes()).unwrap();
        assert_eq!((read.value, read.duplicates), (expected, Vec::<String>::new()), "{yaml}");
    }

    fn refused(yaml: &str) {
        let why = read(yaml.as_bytes()).unwrap_err().to_string();
        assert!(why.starts_with("yaml: ") && !why.contains('\n'), "{why}");
    }

    #[test]
    fn documents() {
        check(
            "a: {b: [1, -2, x, null, ~, ]}\nc:\n- d: |\n    e\n",
            json!({"a": {"b": [1, -2, "x", null, null]}, "c": [{"d": "e\n"}]}),
        );
        check("---\na: 1\n...\n", json!({"a": 1}));
        check("a: 1\n---\n# nothing\n", json!({"a": 1}));
        check("{\"a\": 1}\n---\n", json!({"a": 1}));
        check("# nothing\n", Value::Null);
        check("", Value::Null);
        check(r#"{"n":{},yes: 1, "a": 'b'}"#, json!({"n": {}, "true": 1, "a": "b"}));
        check(r#"{"a":{"b":[1,"2",true,null]}}"#, json!({"a": {"b": [1, "2", true, null]}}));
    }

    #[test]
    fn scalars_are_those_of_yaml_1_1() {
        check(
            "[yes, No, on, OFF, true, 'yes', y, n]",
            json!([true, false, true, false, true, "yes", true, false]),
        );
        check("[0x1f, 0o17, 017, 1_000, 1e3, 1.50, 1.0]", json!([31, 15, 15, 1000, 1000, 1.5, 1]));
        check(
            "[Y, N, 0b11, +12, -0, 0.0, .5, 08, 0777, =, 12:30:45, True]",
            json!([true, false, 3, 12, 0, 0, 0.5, 8, 511, "=", "12:30:45", true]),
        );
        check("{1e3: b, 0x10: d}", json!({"1000": "b", "16": "d"}));
        check("[9223372036854775807, 18446744073709551615]", json!([i64::MAX, 18_446_744_073_709_551_615.0]));
        check(
            "[2026-11-21, 2026-11-21T00:00:00Z, 1.2.3, '1']",
            json!(["2026-11-21", "2026-11-21T00:00:00Z", "1.2.3", "1"]),
        );
        check("[!!str 1, !mine x]", json!(["1", "x"]));
        check("{1: a, true: b, 1.5: c, x: d}", json!({"1": "a", "true": "b", "1.5": "c", "x": "d"}));
        refused("[.nan]");
        refused("[.inf]");
        refused("[1e999]");
    }

    #[test]
    fn aliases_and_merges() {
        check(
            "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
            json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}),
        );
        refused("a: *x");
        let lines: String = (1..12)
            .map(|n| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 9].join(",")))
            .collect();
        refused(&format!("l0: &l0 [x,x,x,x,x,x,x,x,x]\n{lines}"));
    }

    #[test]
    fn unsupported_documents_are_refused() {
        refused("a: 1\n---\nb: 2\n");
        refused("a: [");
        refused("a: b: c");
        refused("? [1]\n: x");
        assert!(read(b"a: \xff").is_err());
    }

    #[test]
    fn the_nesting_of_documents_is_limited() {
        let nested =
            |open: &str, depth: usize, close: &str| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
            assert_eq!(read(nested(open, MAX_DEPTH - 4, close).as_bytes()).is_ok(), open != "? ", "{open}");
            refused(&nested(open, MAX_DEPTH + 2, close));
            refused(&open.repeat(100_000));
        }
    }

    #[test]
    fn the_last_duplicate_key_counts_and_all_are_reported() {
        let read = read(b"a: 1\na: 2\nb:\n- {c: {}}\n- c: {d: 1, d: 2}\n").unwrap();
        assert_eq!(read.value, json!({"a": 2, "b": [{"c": {}}, {"c": {"d": 2}}]}));
        assert_eq!(read.duplicates, ["a", "b[1].c.d"]);
        let many = super::read("a: 1\na: 2\na: {b: 1, b: 2, b: 3}\na: {b: 1, b: 2}\n".as_bytes()).unwrap();
        assert_eq!(
            (many.value, many.duplicates),
            (json!({"a": {"b": 2}}), vec!["a".to_owned(), "a.b".to_owned()])
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-c\\-:?&*{}\\[\\],'\"|>%@!# \n0-9.~<]|: |- |\n  ){0,40}|\\PC{0,20}") {
            let _ = read(text.as_bytes());
        }
    }
}
