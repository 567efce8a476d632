//! Partial decoding of a stored object: values beside the given paths are skipped without
//! allocation.

use std::fmt::{Formatter, Result as Written};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Value};

use super::form::{NotStored, Stored};
use super::text::Text;

/// A path of field names, from the root of the object.
pub(crate) type Path<'p> = &'p [&'p str];

impl Stored<'_> {
    /// Returns only the values at these paths, as [`Stored::read`] would have them. The revision is
    /// not among them.
    pub(crate) fn parts(&self, paths: &[Path<'_>]) -> Result<Value, NotStored> {
        let not = |error: serde_json::Error| NotStored::because(error.to_string());
        let mut json = serde_json::Deserializer::from_slice(self.json());
        let parts = Parts(paths).deserialize(&mut json).map_err(not)?;
        json.end().map_err(not)?;
        Ok(parts)
    }
}

/// Decodes the values at these paths. A path through a value that is no object finds nothing.
struct Parts<'a, 'p>(&'a [Path<'p>]);

impl<'de> DeserializeSeed<'de> for Parts<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        match self.0.iter().any(|path| path.is_empty()) {
            true => Value::deserialize(value),
            false => value.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Parts<'_, '_> {
    type Value = Value;

    fn expecting(&self, to: &mut Formatter<'_>) -> Written {
        to.write_str("JSON")
    }

    /// The last of duplicate names counts, as in a full decode.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut parts = Map::new();
        while let Some(Text(name)) = map.next_key()? {
            let below = |path: &Path<'_>| path.first().is_some_and(|first| *first == name);
            if self.0.iter().any(below) {
                let paths: Vec<_> = self.0.iter().filter(|path| below(path)).map(|path| &path[1..]).collect();
                parts.insert(name.into_owned(), map.next_value_seed(Parts(&paths))?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(parts.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use machinery_objects::Revision;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::storage::encode;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f32>().prop_filter("a number", |number| number.is_finite()).prop_map(Value::from),
            "[a-c\\\\\"\n]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\\\\\"]{0,2}", inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    fn any_path() -> impl Strategy<Value = Vec<String>> {
        let below = prop::collection::vec("[a-c\\\\\"]{0,2}", 0..4);
        (prop_oneof![Just("spec"), Just("kind"), Just("other")], below)
            .prop_map(|(first, below)| std::iter::once(first.to_owned()).chain(below).collect())
    }

    proptest! {
        #[test]
        fn partial_decoding_equals_full_decoding(
            spec in any_json(),
            paths in prop::collection::vec(any_path(), 0..4),
        ) {
            let object = json!({"kind": "X", "metadata": {"name": "a"}, "spec": spec});
            let bytes = encode(object.as_object().expect("an object"), 0);
            let stored = Stored::of(&bytes).expect("it is one");
            let whole = stored.read(Revision(1)).expect("it is JSON");
            let names: Vec<Vec<&str>> =
                paths.iter().map(|path| path.iter().map(String::as_str).collect()).collect();
            let parts = stored.parts(&names.iter().map(|path| &path[..]).collect::<Vec<_>>()).expect("it is JSON");
            let leaf = |object: &Value, path: &[&str]| {
                path.iter().try_fold(object, |value, name| value.get(name)).cloned()
            };
            for path in &names {
                prop_assert_eq!(leaf(&parts, path), leaf(&whole, path), "{:?}", path);
            }
            prop_assert_eq!(parts.get("metadata"), None);
        }
    }

    #[test]
    fn a_truncated_object_has_no_parts() {
        let object = json!({"kind": "X", "metadata": {"name": "a"}, "spec": {"a": 1}});
        let mut bytes = encode(object.as_object().expect("an object"), 0);
        let parts =
            |bytes: &[u8]| Stored::of(bytes).expect("its head is well").parts(&[&["metadata", "name"]]);
        assert_eq!(parts(&bytes).expect("it is whole"), json!({"metadata": {"name": "a"}}));
        bytes.pop();
        assert!(parts(&bytes).is_err());
    }
}
