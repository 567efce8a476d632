//! The entries of an object and of its metadata, without `managedFields`.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::within::{Filtered, MetadataLevel};
use crate::text::Text;

/// The entries of an object; its `metadata` is filtered.
pub(super) struct ObjectEntries<A> {
    map: A,
    /// Whether the next value is `metadata`.
    in_metadata: bool,
}

impl<A> ObjectEntries<A> {
    pub(super) fn new(map: A) -> Self {
        Self { map, in_metadata: false }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ObjectEntries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Text(key)) = self.map.next_key()? else { return Ok(None) };
        self.in_metadata = key == "metadata";
        seed.deserialize(MapKey::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if self.in_metadata {
            self.map.next_value_seed(Filtered::<_, MetadataLevel>::new(seed))
        } else {
            self.map.next_value_seed(seed)
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// The entries of metadata, without `managedFields`.
pub(super) struct MetadataEntries<A>(pub(super) A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MetadataEntries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(key)) = self.0.next_key()? {
            if key != "managedFields" {
                return seed.deserialize(MapKey::new(key)).map(Some);
            }
            // Skipped while decoding: clearing them afterwards would allocate them first.
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// A key that was already read, passed on as in the map: borrowed if it was.
struct MapKey<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<E>,
}

impl<'de, E> MapKey<'de, E> {
    fn new(text: Cow<'de, str>) -> Self {
        Self { text, error: PhantomData }
    }
}

impl<'de, E: de::Error> Deserializer<'de> for MapKey<'de, E> {
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
