//! Text of stored JSON.

use std::borrow::{Borrow, Cow};

use serde::Deserialize;

/// A text that is borrowed unless it has escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}
