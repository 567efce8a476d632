//! Object keys: namespace and name.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{NameError, NameRule};

/// The namespace and name of an object, unique within its kind.
///
/// It is one shared text, `namespace/name` or `name`: two words in size, cloned by a reference
/// count, and a map of keys can be searched with a `&str`. Keys are ordered as Kubernetes orders
/// lists, by the bytes of that text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// Creates the key of an object, with a namespace or cluster-scoped.
    ///
    /// Only requires that both are valid path segments; the rules of a kind are those of
    /// [`NameRule`].
    ///
    /// # Errors
    /// If one of them is empty, `.` or `..`, or holds `/`, `%` or NUL.
    pub fn new(namespace: Option<&str>, name: &str) -> Result<Self, NameError> {
        NameRule::PathSegment.check(name)?;
        let Some(namespace) = namespace else { return Ok(Self(name.into())) };
        NameRule::PathSegment.check(namespace)?;
        Ok(joined(namespace, name))
    }

    /// Returns the key of an object without a name. No store holds such an object, and no source
    /// returns one.
    #[must_use]
    pub fn unnamed() -> Self {
        Self::default()
    }

    /// Returns whether the object has no name yet.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// Returns the name within the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns the text: `namespace/name`, or `name`; empty for an unnamed object.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Joined on the stack if short: every event of every source creates a key.
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
