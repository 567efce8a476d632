//! The entries of an object and of its metadata, one of which is passed over.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::within::{Meta, Within};
use crate::text::Text;

/// Whose entry `metadata` is looked into.
pub(super) struct Object<A> {
    map: A,
    /// Whether the value that is next is that of `metadata`.
    in_metadata: bool,
}

impl<A> Object<A> {
    pub(super) fn new(map: A) -> Self {
        Self { map, in_metadata: false }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Object<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Text(key)) = self.map.next_key()? else { return Ok(None) };
        self.in_metadata = key == "metadata";
        seed.deserialize(Key::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if self.in_metadata {
            self.map.next_value_seed(Within::<_, Meta>::new(seed))
        } else {
            self.map.next_value_seed(seed)
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// That has no `managedFields`.
pub(super) struct Metadata<A>(pub(super) A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Metadata<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(key)) = self.0.next_key()? {
            if key != "managedFields" {
                return seed.deserialize(Key::new(key)).map(Some);
            }
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// A key that was read, which is a text, as it was in the map: borrowed if it was.
struct Key<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<E>,
}

impl<'de, E> Key<'de, E> {
    fn new(text: Cow<'de, str>) -> Self {
        Self { text, error: PhantomData }
    }
}

impl<'de, E: de::Error> Deserializer<'de> for Key<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Cow::Owned(text) => {
                let text: StrDeserializer<'_, E> = text.as_str().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
