//! The order in which a strict decoder of Go meets unknown and duplicate fields.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Sorts the paths of duplicate and unknown fields of a document in the order of its text: an
/// unknown field where it is first, a duplicate one where it is the second time. Duplicate fields
/// below an unknown one are dropped, since Go skips it. Returns the paths, each with whether it is
/// unknown; unsorted if the document has characters that are not UTF-8.
pub(crate) fn in_order(bytes: &[u8], duplicate: Vec<String>, unknown: Vec<String>) -> Vec<(String, bool)> {
    let is_skipped = |path: &str| {
        let below = |of: &String| {
            path.strip_prefix(of.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        unknown.iter().any(below)
    };
    let duplicate = duplicate.into_iter().filter(|path| !is_skipped(path)).map(|path| (path, false));
    let mut paths: Vec<_> = duplicate.collect();
    paths.extend(unknown.into_iter().map(|path| (path, true)));
    let mut marks = vec![FieldPlace::default(); paths.len()];
    let mut walk = TextWalk { paths: &paths, marks: &mut marks, path: String::new(), at: 0 };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // Where it fails, the fields met before are in order.
    let _ = TextWalkSeed(&mut walk).deserialize(&mut deserializer);
    let mut sorted: Vec<(usize, (String, bool))> =
        marks.iter().map(|mark| mark.place.unwrap_or(usize::MAX)).zip(paths).collect();
    sorted.sort_by_key(|(place, _)| *place);
    sorted.into_iter().map(|(_, path)| path).collect()
}

/// The place of a field in the text.
#[derive(Clone, Copy, Debug, Default)]
struct FieldPlace {
    seen: bool,
    place: Option<usize>,
}

struct TextWalk<'a> {
    paths: &'a [(String, bool)],
    marks: &'a mut [FieldPlace],
    path: String,
    at: usize,
}

impl TextWalk<'_> {
    /// Returns whether to go below the field, which is pointless in an unknown one.
    fn meet(&mut self) -> bool {
        self.at += 1;
        let mut is_known = true;
        for ((path, is_unknown), mark) in self.paths.iter().zip(self.marks.iter_mut()) {
            if *path != self.path {
                continue;
            }
            is_known &= !is_unknown;
            if *is_unknown || mark.seen {
                mark.place.get_or_insert(self.at);
            }
            mark.seen = true;
        }
        is_known
    }
}

struct TextWalkSeed<'w, 'a>(&'w mut TextWalk<'a>);

impl<'de> DeserializeSeed<'de> for TextWalkSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Scalars have no fields.
macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E: serde::de::Error>(self, _: $type) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for TextWalkSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        let mut index = 0;
        loop {
            self.0.path.push_str(&format!("[{index}]"));
            let more = seq.next_element_seed(TextWalkSeed(&mut *self.0))?.is_some();
            self.0.path.truncate(length);
            if !more {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        while let Some(key) = map.next_key::<String>()? {
            if length > 0 {
                self.0.path.push('.');
            }
            self.0.path.push_str(&key);
            if self.0.meet() {
                map.next_value_seed(TextWalkSeed(&mut *self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.0.path.truncate(length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, duplicate: &[&str], unknown: &[&str], expected: &[&str]) {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let found = in_order(text.as_bytes(), owned(duplicate), owned(unknown));
        assert_eq!(found.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn fields_are_in_the_order_of_the_text() {
        check(r#"{"s": {"u": 1, "r": 2, "r": 3}}"#, &["s.r"], &["s.u"], &["s.u", "s.r"]);
        check(r#"{"s": {"r": 2, "u": 1, "r": 3}}"#, &["s.r"], &["s.u"], &["s.u", "s.r"]);
        check(r#"{"s": {"r": 2, "r": 3, "u": 1}}"#, &["s.r"], &["s.u"], &["s.r", "s.u"]);
        check(
            r#"{"z": 1, "l": [{"a": 1}, {"b": 1, "x": 2, "b": 3}], "a": 1}"#,
            &["l[1].b"],
            &["a", "l[1].x", "z"],
            &["z", "l[1].x", "l[1].b", "a"],
        );
    }

    #[test]
    fn duplicate_fields_below_unknown_ones_are_dropped() {
        check(r#"{"u": {"a": 1, "a": 2, "b": [{"c": 1, "c": 2}]}}"#, &["u.a", "u.b[0].c"], &["u"], &["u"]);
        check(r#"{"u": 1, "u": 2, "up": 1, "up": 2}"#, &["u", "up"], &["u"], &["u", "up"]);
    }

    #[test]
    fn a_text_that_cannot_be_walked_keeps_all_fields() {
        check("{\"a\": \"\u{fffd}", &["b"], &["a"], &["a", "b"]);
        assert_eq!(in_order(b"{\"\xff\": 1}", vec!["b".into()], vec!["a".into()]).len(), 2);
    }
}
