//! A deserializer that filters the entries of the map at one level, and passes all else through.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

use super::entries::{MetadataEntries, ObjectEntries};

/// A deserializer, visitor or seed with a filtered map. An option or newtype is the level of its
/// content.
pub(super) struct Filtered<T, P>(T, PhantomData<P>);

impl<T, P> Filtered<T, P> {
    pub(super) fn new(of: T) -> Self {
        Self(of, PhantomData)
    }
}

/// The level at which a map is filtered. A type, so that the code below it is not duplicated per
/// level.
pub(super) trait FilterLevel {
    type Entries<'de, A: MapAccess<'de>>: MapAccess<'de, Error = A::Error>;

    fn entries<'de, A: MapAccess<'de>>(map: A) -> Self::Entries<'de, A>;
}

/// The object.
pub(super) enum ObjectLevel {}

impl FilterLevel for ObjectLevel {
    type Entries<'de, A: MapAccess<'de>> = ObjectEntries<A>;

    fn entries<'de, A: MapAccess<'de>>(map: A) -> ObjectEntries<A> {
        ObjectEntries::new(map)
    }
}

/// The `metadata` of the object.
pub(super) enum MetadataLevel {}

impl FilterLevel for MetadataLevel {
    type Entries<'de, A: MapAccess<'de>> = MetadataEntries<A>;

    fn entries<'de, A: MapAccess<'de>>(map: A) -> MetadataEntries<A> {
        MetadataEntries(map)
    }
}

impl<'de, S: DeserializeSeed<'de>, P: FilterLevel> DeserializeSeed<'de> for Filtered<S, P> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Filtered::<_, P>::new(deserializer))
    }
}

macro_rules! asks {
    ($($ask:ident($($name:ident: $type:ty),*))*) => {$(
        fn $ask<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$ask($($name,)* Filtered::<_, P>::new(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>, P: FilterLevel> Deserializer<'de> for Filtered<D, P> {
    type Error = D::Error;

    asks! {
        deserialize_any() deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit()
        deserialize_unit_struct(name: &'static str) deserialize_newtype_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier() deserialize_ignored_any()
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! visits {
    ($($visit:ident($type:ty))*) => {$(
        fn $visit<E: de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$visit(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>, P: FilterLevel> Visitor<'de> for Filtered<V, P> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visits! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Filtered::<_, P>::new(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Filtered::<_, P>::new(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(P::entries(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(data)
    }
}
