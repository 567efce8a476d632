//! Which object of a kind.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{NameError, NameRule};

/// The name of an object among those of its kind: in a namespace, or in none.
///
/// It is one shared text, `namespace/name` or `name`: two words to keep, one count to clone, and a map of keys can be
/// asked with a `&str`. Keys are ordered as Kubernetes orders lists, by the bytes of that text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of an object in a namespace, or in none.
    ///
    /// It asks for no more than that both can stand in a path; what a kind asks for besides is [`NameRule`]'s.
    ///
    /// # Errors
    /// One of them is empty, a dot or two, or holds `/`, `%` or NUL.
    pub fn new(namespace: Option<&str>, name: &str) -> Result<Self, NameError> {
        NameRule::PathSegment.check(name)?;
        let Some(namespace) = namespace else { return Ok(Self(name.into())) };
        NameRule::PathSegment.check(namespace)?;
        Ok(joined(namespace, name))
    }

    /// The key of an object that has no name yet. No store holds such an object, and no source hands one out.
    #[must_use]
    pub fn unnamed() -> Self {
        Self::default()
    }

    /// Whether the object has no name yet.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.0.is_empty()
    }

    /// The object's namespace, if it is in one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The object's name in its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// The whole text: `namespace/name`, or `name`; empty if there is no name yet.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Copied together where it costs nothing: each event of each source makes a key.
fn joined(namespace: &str, name: &str) -> ObjectKey {
    let mut short = [0; 128];
    let length = namespace.len() + 1 + name.len();
    let text = short.get_mut(..length).and_then(|text| {
        text[..namespace.len()].copy_from_slice(namespace.as_bytes());
        text[namespace.len()] = b'/';
        text[namespace.len() + 1..].copy_from_slice(name.as_bytes());
        std::str::from_utf8(text).ok()
    });
    ObjectKey(text.map_or_else(|| [namespace, "/", name].concat().into(), Into::into))
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_unnamed() { "(unnamed)" } else { &self.0 })
    }
}

impl FromStr for ObjectKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None => Self::new(None, text),
            Some((namespace, name)) => Self::new(Some(namespace), name),
        }
    }
}
