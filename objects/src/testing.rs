//! What this crate's property tests and fuzz target share.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::{FieldSelector, LabelSelector, ObjectKey, ResourceVersion, Revision, Traceparent};

/// Any bytes, as text, through every parser: none panics, and what one takes is written in a form that it takes again
/// as the same.
///
/// # Panics
/// One of them does not hold to that.
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
