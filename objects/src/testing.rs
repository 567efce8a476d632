//! Code shared by this crate's property tests and its fuzz target.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::{FieldSelector, LabelSelector, ObjectKey, ResourceVersion, Revision, Traceparent};

/// Runs every parser on the bytes as text: none panics, and a parsed value is written in a form
/// that parses to an equal value.
///
/// # Panics
/// If a parser violates this.
pub fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    round_trip::<LabelSelector>(&text);
    round_trip::<FieldSelector>(&text);
    round_trip::<ObjectKey>(&text);
    round_trip::<Revision>(&text);
    round_trip::<Traceparent>(&text);
    if let Some(version) = ResourceVersion::new(&text) {
        assert_eq!(version.to_string(), text);
    }
}

fn round_trip<T: FromStr<Err: Debug + PartialEq> + Display + Debug + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse(), Ok(value), "from {text:?}");
    }
}
