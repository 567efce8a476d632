//! Which objects, by their fields.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{RequirementError, SelectorError, parse_field};
use crate::FieldValues;
use crate::excerpt::excerpt;

/// Conditions on fields that must hold together. Without any, everything matches.
///
/// An object without a field is as one in which it is empty: `f=` selects both, and `f!=` neither. Conditions are
/// sorted and each is there once. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector(Arc<[FieldTerm]>);

/// A condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldTerm {
    field: Box<str>,
    equal: bool,
    value: Box<str>,
}

impl FieldSelector {
    /// The selector that everything matches.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The conditions, in order.
    #[must_use]
    pub fn terms(&self) -> &[FieldTerm] {
        &self.0
    }

    /// Whether everything matches because nothing is asked for.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these fields is selected.
    #[must_use]
    pub fn matches(&self, values: &FieldValues) -> bool {
        self.matches_by(|field| values.get(field))
    }

    /// Whether an object is selected whose fields are found in this way.
    pub fn matches_by<'a>(&self, mut value: impl FnMut(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| term.matches(value(term.field())))
    }

    /// The fields, with their values, that every selected object has: what an index of selectors files this one under.
    ///
    /// A field that must be empty is not among them: it may be absent, and an index knows nothing of what is absent.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|term| term.equal && !term.value.is_empty())
            .map(|term| (term.field(), term.value()))
    }

    /// The value that every selected object has in this field, if the selector asks for one.
    #[must_use]
    pub fn exactly(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|term| term.equal && term.field() == field).map(FieldTerm::value)
    }
}

impl FieldTerm {
    /// Requires this value.
    ///
    /// # Errors
    /// No field has such a name.
    pub fn equals(field: &str, value: &str) -> Result<Self, RequirementError> {
        Self::new(field, true, value)
    }

    /// Requires any other value.
    ///
    /// # Errors
    /// No field has such a name.
    pub fn differs(field: &str, value: &str) -> Result<Self, RequirementError> {
        Self::new(field, false, value)
    }

    /// Which field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The value that it must have, or must not.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether it must have the value, and not any other.
    #[must_use]
    pub const fn is_equality(&self) -> bool {
        self.equal
    }

    /// Whether it holds, given the field's value if it is there.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        (value.unwrap_or_default() == &*self.value) == self.equal
    }

    pub(super) fn new(field: &str, equal: bool, value: &str) -> Result<Self, RequirementError> {
        check_field(field)?;
        Ok(Self { field: field.into(), equal, value: value.into() })
    }
}

/// Whether a field may be called so: its name can stand in a selector as it is.
pub(crate) fn check_field(name: &str) -> Result<(), RequirementError> {
    let outside =
        |char: char| matches!(char, '=' | '!' | ',' | '\\') || char.is_whitespace() || char.is_control();
    if name.is_empty() || name.contains(outside) {
        return Err(RequirementError::Field { text: excerpt(name) });
    }
    Ok(())
}

impl FromIterator<FieldTerm> for FieldSelector {
    fn from_iter<I: IntoIterator<Item = FieldTerm>>(terms: I) -> Self {
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort();
        terms.dedup();
        Self(terms.into())
    }
}

/// The grammar of Kubernetes: `metadata.name=db-0,spec.nodeName!=node-1`, with `\`, `,` and `=` in values after a `\`.
impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_field::parse(text).map(Self::from_iter)
    }
}

/// In a form that parses to an equal selector.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.0.iter().enumerate() {
            write!(f, "{}{term}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.field, if self.equal { "=" } else { "!=" })?;
        for piece in self.value.split_inclusive(['\\', ',', '=']) {
            let plain = piece.trim_end_matches(['\\', ',', '=']);
            f.write_str(plain)?;
            if plain.len() < piece.len() {
                write!(f, "\\{}", &piece[plain.len()..])?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldSelector({self})")
    }
}
