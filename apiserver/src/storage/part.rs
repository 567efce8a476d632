//! One part of a stored object, without the rest: what is beside the path to it is passed over, and never made.

use std::borrow::Cow;
use std::fmt::{Formatter, Result as Written};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;

use super::form::{NotStored, Stored};

impl Stored<'_> {
    /// What is at the end of a path of names, as [`Stored::read`] would have it there. The revision is not found in this way.
    pub(crate) fn part<'p>(&self, path: &'p [&'p str]) -> Result<Option<Value>, NotStored> {
        let not = |error: serde_json::Error| NotStored::because(error.to_string());
        let mut json = serde_json::Deserializer::from_slice(self.json());
        let part = Part(path).deserialize(&mut json).map_err(not)?;
        json.end().map_err(not)?;
        Ok(part)
    }
}

/// What is at the end of these names.
struct Part<'p>(&'p [&'p str]);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Option<Value>, D::Error> {
        match self.0 {
            [] => Value::deserialize(value).map(Some),
            [name, rest @ ..] => value.deserialize_any(Below(name, rest)),
        }
    }
}

/// What is under this name, at the end of these. Only objects have names.
struct Below<'p>(&'p str, &'p [&'p str]);

impl<'de> Visitor<'de> for Below<'_> {
    type Value = Option<Value>;

    fn expecting(&self, to: &mut Formatter<'_>) -> Written {
        to.write_str("JSON")
    }

    /// Of names that are there twice the last counts, as it does when all is read.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let mut part = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                part = map.next_value_seed(Part(self.1))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(part)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<Value>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Option<Value>, E> {
        Ok(None)
    }
}

/// A name, which is borrowed unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

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

    proptest! {
        #[test]
        fn a_part_is_what_reading_all_would_find(
            spec in any_json(),
            path in prop::collection::vec("[a-c\\\\\"]{0,2}", 0..4),
        ) {
            let object = json!({"kind": "X", "metadata": {"name": "a"}, "spec": spec});
            let bytes = encode(object.as_object().expect("an object"), 0);
            let stored = Stored::of(&bytes).expect("it is one");
            let path: Vec<&str> = std::iter::once("spec").chain(path.iter().map(String::as_str)).collect();
            let whole = stored.read(Revision(1)).expect("it is JSON");
            let expected = path.iter().try_fold(&whole, |value, name| value.get(name));
            let part = stored.part(&path).expect("it is JSON");
            prop_assert_eq!(part.as_ref(), expected);
        }
    }

    #[test]
    fn what_is_cut_short_has_no_parts() {
        let object = json!({"kind": "X", "metadata": {"name": "a"}, "spec": {"a": 1}});
        let mut bytes = encode(object.as_object().expect("an object"), 0);
        bytes.pop();
        assert!(Stored::of(&bytes).expect("its head is well").part(&["metadata", "name"]).is_err());
    }
}
