//! Field selectors.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{RequirementError, SelectorError, parse_field};
use crate::FieldValues;
use crate::excerpt::excerpt;

/// Conditions on fields, all of which must hold. Without conditions, every object matches.
///
/// An absent field counts as empty: `f=` selects such an object, and `f!=` does not. Conditions are
/// sorted and unique. Cheap to clone.
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
    /// Returns the selector that matches every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Returns the conditions, sorted.
    #[must_use]
    pub fn terms(&self) -> &[FieldTerm] {
        &self.0
    }

    /// Returns whether the selector has no conditions, so that every object matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether an object with these field values matches.
    #[must_use]
    pub fn matches(&self, values: &FieldValues) -> bool {
        self.matches_by(|field| values.get(field))
    }

    /// Returns whether an object matches, given a function from fields to its values.
    pub fn matches_by<'a>(&self, mut value: impl FnMut(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| term.matches(value(term.field())))
    }

    /// Returns the fields and values that every matching object has, as keys for an index of
    /// selectors.
    ///
    /// A field required to be empty is not included: it may be absent, and an index has no absent
    /// fields.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|term| term.equal && !term.value.is_empty())
            .map(|term| (term.field(), term.value()))
    }

    /// Returns the value that every matching object has in this field, if the selector requires
    /// one.
    #[must_use]
    pub fn exactly(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|term| term.equal && term.field() == field).map(FieldTerm::value)
    }
}

impl FieldTerm {
    /// Requires this value.
    ///
    /// # Errors
    /// If the name of the field is invalid.
    pub fn equals(field: &str, value: &str) -> Result<Self, RequirementError> {
        Self::new(field, true, value)
    }

    /// Requires any other value.
    ///
    /// # Errors
    /// If the name of the field is invalid.
    pub fn differs(field: &str, value: &str) -> Result<Self, RequirementError> {
        Self::new(field, false, value)
    }

    /// Returns the name of the field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the required or excluded value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns whether the value is required, not excluded.
    #[must_use]
    pub const fn is_equality(&self) -> bool {
        self.equal
    }

    /// Returns whether the condition holds for the field's value, if present.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        (value.unwrap_or_default() == &*self.value) == self.equal
    }

    pub(super) fn new(field: &str, equal: bool, value: &str) -> Result<Self, RequirementError> {
        check_field(field)?;
        Ok(Self { field: field.into(), equal, value: value.into() })
    }
}

/// Checks that a field name can be written in a selector without escapes.
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

/// The grammar of Kubernetes: `metadata.name=db-0,spec.nodeName!=node-1`, with `\`, `,` and `=` in
/// values escaped by a `\`.
impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_field::parse(text).map(Self::from_iter)
    }
}

/// A form that parses to an equal selector.
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
