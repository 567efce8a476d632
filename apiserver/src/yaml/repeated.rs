//! Repeated keys of mappings, with the texts of the strict YAML decoder of Kubernetes.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::{MAX_DUPLICATES, MalformedJson, decoded, first};
use crate::go_format::quote;

/// The beginning of an error of Kubernetes' YAML decoder.
const PREFIX: &str = "yaml: unmarshal errors:\n";
/// The prefix that `sigs.k8s.io/yaml` adds.
const CONVERTING: &str = "error converting YAML to JSON: ";

/// Returns the error about the repeated keys of a document: one line for each, up to a hundred.
pub(crate) fn repeated_keys(bytes: &[u8]) -> Option<String> {
    let lines = decoded(|| {
        let text = String::from_utf8_lossy(bytes);
        let mut options = super::limits();
        // The last of repeated numbers would be the only one.
        options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
        serde_saphyr::with_deserializer_from_str_with_options(first::first(&text).0, options, |yaml| {
            RepeatedKeys::deserialize(yaml)
        })
        .map(|found| found.0)
        .map_err(|error| MalformedJson(error.to_string()))
    });
    let lines = lines.unwrap_or_default();
    (!lines.is_empty()).then(|| format!("{PREFIX}  {}", lines.join("\n  ")))
}

/// Returns the error as a conversion to JSON has it, which server-side apply reports.
pub(crate) fn converting(error: &str) -> String {
    format!("{CONVERTING}{error}")
}

/// Returns the warnings for an error: its lines, if it is about repeated keys of YAML.
pub(crate) fn warnings_of(error: &str) -> impl Iterator<Item = &str> {
    let lines = error.strip_prefix(CONVERTING).unwrap_or(error).strip_prefix(PREFIX);
    lines.unwrap_or(error).split(if lines.is_some() { "\n" } else { "\u{0}" }).map(str::trim)
}

/// The messages about repeated keys of a value and below it, in the order of decoding.
struct RepeatedKeys(Vec<String>);

impl RepeatedKeys {
    fn push(&mut self, line: u64, key: &str) {
        if self.0.len() < MAX_DUPLICATES {
            self.0.push(format!("line {line}: key {key} already set in map"));
        }
    }

    fn extend(&mut self, below: Self) {
        self.0.extend(below.0);
        self.0.truncate(MAX_DUPLICATES);
    }
}

impl<'de> Deserialize<'de> for RepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RepeatedKeysVisitor)
    }
}

struct RepeatedKeysVisitor;

/// Scalars have no keys.
macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E: de::Error>(self, _: $type) -> Result<RepeatedKeys, E> {
            Ok(RepeatedKeys(Vec::new()))
        })*
    };
}

impl<'de> Visitor<'de> for RepeatedKeysVisitor {
    type Value = RepeatedKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: de::Error>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys(Vec::new()))
    }

    fn visit_none<E: de::Error>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys(Vec::new()))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RepeatedKeys, D::Error> {
        RepeatedKeys::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RepeatedKeys, A::Error> {
        let mut found = RepeatedKeys(Vec::new());
        while let Some(below) = seq.next_element()? {
            found.extend(below);
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RepeatedKeys, A::Error> {
        let (mut found, mut known) = (RepeatedKeys(Vec::new()), BTreeSet::new());
        while let Some(GoKey(key)) = map.next_key()? {
            let value: Spanned<RepeatedKeys> = map.next_value()?;
            found.extend(value.value);
            if known.contains(&key) {
                // Go reports the line of the value.
                found.push(value.referenced.line(), &key);
            }
            known.insert(key);
        }
        Ok(found)
    }
}

/// A key as Go formats it in errors: texts are quoted.
struct GoKey(String);

impl<'de> Deserialize<'de> for GoKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GoKeyVisitor)
    }
}

struct GoKeyVisitor;

impl Visitor<'_> for GoKeyVisitor {
    type Value = GoKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a boolean as the key of a map")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<GoKey, E> {
        Ok(GoKey(value.to_string()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<GoKey, E> {
        Ok(GoKey(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<GoKey, E> {
        Ok(GoKey(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<GoKey, E> {
        Ok(GoKey(value.to_string()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<GoKey, E> {
        Ok(GoKey(quote(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, expected: &[&str]) {
        let error = repeated_keys(yaml.as_bytes());
        let lines = expected.join("\n  ");
        let expected = (!expected.is_empty()).then(|| format!("{PREFIX}  {lines}"));
        assert_eq!(error, expected, "{yaml}");
    }

    /// Recorded from `sigs.k8s.io/yaml`.
    #[test]
    fn repeated_keys_are_reported_with_the_lines_of_their_values() {
        check("a: 1\nb: {c: 1}\n", &[]);
        check("\na: 1\nb:\n  foo: x\n  foo: y\n", &["line 5: key \"foo\" already set in map"]);
        check(
            "---\n# a comment\na: {b: 1, b: 2}\na: 3\n1: x\n1: y\n",
            &[
                "line 3: key \"b\" already set in map",
                "line 4: key \"a\" already set in map",
                "line 6: key 1 already set in map",
            ],
        );
        check("a: 1\na:\n  b: 2\n", &["line 3: key \"a\" already set in map"]);
        check("a: [{b: 1,\n  b: 2}]\n", &["line 2: key \"b\" already set in map"]);
        check("{\"a\": 1, \"a\": 2}", &["line 1: key \"a\" already set in map"]);
    }

    #[test]
    fn warnings_are_the_lines_of_an_error() {
        let error = repeated_keys(b"a: 1\na: 2\na: 3\n").expect("keys are repeated");
        let lines = ["line 2: key \"a\" already set in map", "line 3: key \"a\" already set in map"];
        assert_eq!(warnings_of(&error).collect::<Vec<_>>(), lines);
        assert_eq!(warnings_of(&converting(&error)).collect::<Vec<_>>(), lines);
        assert_eq!(warnings_of("unknown field \"a\"").collect::<Vec<_>>(), ["unknown field \"a\""]);
    }
}
