//! Labels of objects.

use std::fmt;

use crate::excerpt::excerpt;
use crate::pairs::Pairs;
use crate::{NameError, NameRule};

/// The labels of an object, sorted by key: one allocation for all of them, none if empty, cloned by
/// a reference count.
///
/// Any text is allowed, because a server may send any; [`check`](Self::check) applies the rules.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels(Pairs);

impl Labels {
    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    /// Returns keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter()
    }

    /// Returns whether there are no labels.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks every key and value by the rules of Kubernetes.
    ///
    /// # Errors
    /// The first invalid label.
    pub fn check(&self) -> Result<(), LabelError> {
        for (key, value) in self.iter() {
            NameRule::LabelKey
                .check(key)
                .and_then(|()| NameRule::LabelValue.check(value))
                .map_err(|source| LabelError { key: excerpt(key), value: excerpt(value), source })?;
        }
        Ok(())
    }
}

/// Of labels with one key, the last counts.
impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let labels: Vec<_> = labels.into_iter().collect();
        Self(Pairs::new(labels.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))))
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> From<[(K, V); N]> for Labels {
    fn from(labels: [(K, V); N]) -> Self {
        labels.into_iter().collect()
    }
}

/// Writes the labels as a selector that requires all of them: `app=web,tier=front`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.iter().enumerate() {
            write!(f, "{}{key}={value}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// An invalid label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}={value}` cannot be a label")]
pub struct LabelError {
    /// Its key, or the beginning of it.
    pub key: String,
    /// Its value, or the beginning of it.
    pub value: String,
    /// The violated rule.
    pub source: NameError,
}
