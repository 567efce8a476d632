//! Label selectors.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{LabelTest, Requirement, RequirementError, SelectorError, parse_label};
use crate::Labels;

/// Requirements on labels, all of which must hold. Without requirements, every object matches.
///
/// The requirements are sorted and unique, so selectors that differ only in order are equal. Cheap
/// to clone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector(Arc<[Requirement]>);

impl LabelSelector {
    /// Returns the selector that matches every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Creates a selector that requires these labels with these values: `matchLabels` of
    /// Kubernetes.
    ///
    /// # Errors
    /// If a key or a value is not valid for labels.
    pub fn from_labels<K: AsRef<str>, V: AsRef<str>>(
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, RequirementError> {
        labels.into_iter().map(|(key, value)| Requirement::equals(key.as_ref(), value.as_ref())).collect()
    }

    /// Returns the requirements, sorted.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Returns whether the selector has no requirements, so that every object matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether an object with these labels matches.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_by(|key| labels.get(key))
    }

    /// Returns whether an object matches, given a function from keys to its label values.
    pub fn matches_by<'a>(&self, mut label: impl FnMut(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(label(requirement.key())))
    }

    /// Returns the labels and values that every matching object has, as keys for an index of
    /// selectors.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|requirement| match requirement.test() {
            LabelTest::In(values) if values.len() == 1 => Some((requirement.key(), &*values[0])),
            _ => None,
        })
    }
}

impl FromIterator<Requirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort();
        requirements.dedup();
        Self(requirements.into())
    }
}

/// Parses the grammar of Kubernetes:
/// `app=web, tier in (front,back), env!=test, !legacy, replicas>2`.
impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_label::parse(text).map(Self::from_iter)
    }
}

/// A form that parses to an equal selector.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            write!(f, "{}{requirement}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LabelSelector({self})")
    }
}
