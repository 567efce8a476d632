//! Which objects, by their labels.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{LabelTest, Requirement, RequirementError, SelectorError, parse_label};
use crate::Labels;

/// Conditions on labels that must hold together. Without any, everything matches.
///
/// The conditions are sorted and each is there once, so two texts that say the same in another order are equal
/// selectors. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector(Arc<[Requirement]>);

impl LabelSelector {
    /// The selector that everything matches.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that asks for these labels with these values: Kubernetes' `matchLabels`.
    ///
    /// # Errors
    /// A key or a value can be no label's.
    pub fn from_labels<K: AsRef<str>, V: AsRef<str>>(
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, RequirementError> {
        labels.into_iter().map(|(key, value)| Requirement::equals(key.as_ref(), value.as_ref())).collect()
    }

    /// The conditions, in order.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Whether everything matches because nothing is asked for.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_by(|key| labels.get(key))
    }

    /// Whether an object is selected whose labels are found in this way.
    pub fn matches_by<'a>(&self, mut label: impl FnMut(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(label(requirement.key())))
    }

    /// The labels, with their values, that every selected object has: what an index of selectors files this one under.
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

/// The grammar of Kubernetes: `app=web, tier in (front,back), env!=test, !legacy, replicas>2`.
impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_label::parse(text).map(Self::from_iter)
    }
}

/// In a form that parses to an equal selector.
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
