//! One condition on one label.

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

/// What must hold for the label of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LabelTest {
    /// It is there, with one of these values: sorted, and at least one.
    In(Box<[Box<str>]>),
    /// It is not there, or with none of these values: sorted, and at least one.
    NotIn(Box<[Box<str>]>),
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It is there, and is a number greater than this.
    Greater(i64),
    /// It is there, and is a number less than this.
    Less(i64),
}

impl Requirement {
    /// Requires one of these values.
    ///
    /// # Errors
    /// The key or a value can be no label's, or there is no value.
    pub fn any_of<V: AsRef<str>>(
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::In(checked(values)?))
    }

    /// Requires that the label is not there, or has none of these values.
    ///
    /// # Errors
    /// The key or a value can be no label's, or there is no value.
    pub fn none_of<V: AsRef<str>>(
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::NotIn(checked(values)?))
    }

    /// Requires this value.
    ///
    /// # Errors
    /// The key or the value can be no label's.
    pub fn equals(key: &str, value: &str) -> Result<Self, RequirementError> {
        Self::any_of(key, [value])
    }

    /// Requires that the label is there.
    ///
    /// # Errors
    /// The key can be no label's.
    pub fn exists(key: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Exists)
    }

    /// Requires that the label is not there.
    ///
    /// # Errors
    /// The key can be no label's.
    pub fn absent(key: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Absent)
    }

    /// Requires a number greater than this one, which is written as a label's value is.
    ///
    /// # Errors
    /// The key can be no label's, or the value is no number.
    pub fn greater(key: &str, than: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Greater(number(than)?))
    }

    /// Requires a number less than this one, which is written as a label's value is.
    ///
    /// # Errors
    /// The key can be no label's, or the value is no number.
    pub fn less(key: &str, than: &str) -> Result<Self, RequirementError> {
        Self::new(key, LabelTest::Less(number(than)?))
    }

    /// What one of Kubernetes' `matchExpressions` says, with its operator as there: `In`, `NotIn`, `Exists` or
    /// `DoesNotExist`.
    ///
    /// # Errors
    /// The key or a value can be no label's, there is no such operator, or the values do not go with it.
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

    /// Which label.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What must hold for it.
    #[must_use]
    pub const fn test(&self) -> &LabelTest {
        &self.test
    }

    /// Whether it holds, given the label's value if it is there.
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

/// Values that labels may have, sorted, each once.
fn checked<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Result<Box<[Box<str>]>, RequirementError> {
    let value = |value: V| checked_value(value.as_ref()).map(Box::from);
    let mut values = values.into_iter().map(value).collect::<Result<Vec<Box<str>>, _>>()?;
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

/// In the shortest form that a selector's text has for it.
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
