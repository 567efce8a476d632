//! Requirements: conditions on one label.

use std::fmt;

use super::RequirementError;
use crate::NameRule;
use crate::excerpt::excerpt;

/// A condition on the label of one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: Box<str>,
    test: LabelTest,
}

/// The condition of a requirement: operator and values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LabelTest {
    /// The label exists, with one of these values: sorted, and at least one.
    In(Box<[Box<str>]>),
    /// The label is absent, or has none of these values: sorted, and at least one.
    NotIn(Box<[Box<str>]>),
    /// The label exists.
    Exists,
    /// The label is absent.
    Absent,
    /// The label is a number greater than this.
    Greater(i64),
    /// The label is a number less than this.
    Less(i64),
}

impl Requirement {
    /// Requires one of these values.
    ///
    /// # Errors
    /// If the key or a value is not valid for labels, or there is no value.
    pub fn any_of<V: AsRef<str>>(
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::In(checked(values)?))
    }

    /// Requires that the label is absent, or has none of these values.
    ///
    /// # Errors
    /// If the key or a value is not valid for labels, or there is no value.
    pub fn none_of<V: AsRef<str>>(
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::NotIn(checked(values)?))
    }

    /// Requires this value.
    ///
    /// # Errors
    /// If the key or the value is not valid for labels.
    pub fn equals(key: &str, value: &str) -> Result<Self, RequirementError> {
        Self::any_of(key, [value])
    }

    /// Requires that the label exists.
    ///
    /// # Errors
    /// If the key is not valid for labels.
    pub fn exists(key: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Exists)
    }

    /// Requires that the label is absent.
    ///
    /// # Errors
    /// If the key is not valid for labels.
    pub fn absent(key: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Absent)
    }

    /// Requires a number greater than this one, which is written as a label value.
    ///
    /// # Errors
    /// If the key is not valid for labels, or the value is not a number.
    pub fn greater(key: &str, than: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Greater(number(than)?))
    }

    /// Requires a number less than this one, which is written as a label value.
    ///
    /// # Errors
    /// If the key is not valid for labels, or the value is not a number.
    pub fn less(key: &str, than: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Less(number(than)?))
    }

    /// Converts an entry of `matchExpressions`, with the operators of Kubernetes: `In`, `NotIn`,
    /// `Exists` or `DoesNotExist`.
    ///
    /// # Errors
    /// If the key or a value is not valid for labels, the operator is unknown, or the values do not
    /// fit it.
    pub fn from_expression<V: AsRef<str>>(
        key: &str,
        operator: &str,
        values: &[V],
    ) -> Result<Self, RequirementError> {
        match operator {
            "In" => Self::any_of(key, values),
            "NotIn" => Self::none_of(key, values),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                Err(RequirementError::Values { operator: operator.to_owned() })
            }
            "Exists" => Self::exists(key),
            "DoesNotExist" => Self::absent(key),
            _ => Err(RequirementError::Operator { operator: excerpt(operator) }),
        }
    }

    /// Returns the key of the label.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the condition.
    #[must_use]
    pub const fn test(&self) -> &LabelTest {
        &self.test
    }

    /// Returns whether the requirement holds for the label's value, if present.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let one_of = |values: &[Box<str>], value: &str| values.binary_search_by(|v| (**v).cmp(value)).is_ok();
        let number = |value: &str| value.parse::<i64>().ok();
        match &self.test {
            LabelTest::In(values) => value.is_some_and(|value| one_of(values, value)),
            LabelTest::NotIn(values) => !value.is_some_and(|value| one_of(values, value)),
            LabelTest::Exists => value.is_some(),
            LabelTest::Absent => value.is_none(),
            LabelTest::Greater(than) => value.and_then(number).is_some_and(|number| number > *than),
            LabelTest::Less(than) => value.and_then(number).is_some_and(|number| number < *than),
        }
    }

    fn new(key: &str, test: LabelTest) -> Result<Self, RequirementError> {
        match NameRule::LabelKey.check(key) {
            Ok(()) => Ok(Self { key: key.into(), test }),
            Err(source) => Err(RequirementError::Key { text: excerpt(key), source }),
        }
    }
}

/// Checks values by the rules of labels; returns them sorted and unique.
fn checked<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Result<Box<[Box<str>]>, RequirementError> {
    let value = |value: V| checked_value(value.as_ref()).map(Box::from);
    let mut values = values.into_iter().map(value).collect::<Result<Vec<Box<str>>, _>>()?;
    // Sorted, so that selectors that differ only in order are equal and can share a stream.
    values.sort();
    values.dedup();
    if values.is_empty() { Err(RequirementError::NoValues) } else { Ok(values.into()) }
}

fn checked_value(text: &str) -> Result<&str, RequirementError> {
    match NameRule::LabelValue.check(text) {
        Ok(()) => Ok(text),
        Err(source) => Err(RequirementError::Value { text: excerpt(text), source }),
    }
}

fn number(text: &str) -> Result<i64, RequirementError> {
    checked_value(text)?.parse().map_err(|_| RequirementError::NotANumber { text: excerpt(text) })
}

/// The shortest form in the text of a selector.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key();
        match &self.test {
            LabelTest::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
            LabelTest::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
            LabelTest::In(values) => write!(f, "{key} in ({})", values.join(",")),
            LabelTest::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            LabelTest::Exists => f.write_str(key),
            LabelTest::Absent => write!(f, "!{key}"),
            LabelTest::Greater(than) => write!(f, "{key}>{than}"),
            LabelTest::Less(than) => write!(f, "{key}<{than}"),
        }
    }
}
