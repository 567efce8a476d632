//! Fields by which objects are selected.

use std::fmt;
use std::sync::Arc;

use crate::pairs::Pairs;
use crate::selector::check_field;
use crate::{FieldSelector, Object, RequirementError};

/// The name of an object as a field; every kind has it.
pub const NAME: &str = "metadata.name";
/// The namespace of an object as a field; every kind has it, empty for cluster-scoped objects.
pub const NAMESPACE: &str = "metadata.namespace";

/// A selectable field: a name such as `spec.nodeName`, and the function that extracts it. Cheap to
/// clone.
pub struct Field<O> {
    name: Arc<str>,
    extract: Arc<ExtractFn<O>>,
}

type ExtractFn<O> = dyn Fn(&O) -> Option<String> + Send + Sync;

impl<O> Field<O> {
    /// Creates a field of this name, extracted by `extract`.
    ///
    /// # Errors
    /// If the name is not valid in a selector.
    pub fn new(
        name: &str,
        extract: impl Fn(&O) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, RequirementError> {
        check_field(name)?;
        Ok(Self { name: name.into(), extract: Arc::new(extract) })
    }

    /// Returns the name, as used in selectors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the object's value, if it has the field.
    #[must_use]
    pub fn of(&self, object: &O) -> Option<String> {
        (self.extract)(object)
    }
}

/// The selectable fields of a kind: name, namespace and its own. Cheap to clone.
pub struct Fields<O>(Arc<[Field<O>]>);

impl<O: Object> Fields<O> {
    /// Creates the set of name, namespace and `fields`. Of two with one name the last counts.
    #[must_use]
    pub fn new(fields: impl IntoIterator<Item = Field<O>>) -> Self {
        let always = [
            // As in Kubernetes, where every kind can be selected by these two.
            Field { name: NAME.into(), extract: Arc::new(|object: &O| Some(object.key().name().to_owned())) },
            Field {
                name: NAMESPACE.into(),
                extract: Arc::new(|object: &O| object.key().namespace().map(str::to_owned)),
            },
        ];
        Self(always.into_iter().chain(fields).collect())
    }
}

impl<O> Fields<O> {
    /// Returns the names, name and namespace first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Field::name)
    }

    /// Extracts the values of all fields from an object.
    #[must_use]
    pub fn of(&self, object: &O) -> FieldValues {
        let values: Vec<_> =
            self.0.iter().filter_map(|field| Some((field.name(), field.of(object)?))).collect();
        FieldValues(Pairs::new(values.iter().map(|(name, value)| (*name, value.as_str()))))
    }

    /// Checks that the kind has every field of a selector.
    ///
    /// # Errors
    /// If it does not: such a selector would silently select nothing.
    pub fn check(&self, selector: &FieldSelector) -> Result<(), UnknownField> {
        match selector.terms().iter().find(|term| self.names().all(|name| name != term.field())) {
            None => Ok(()),
            Some(term) => Err(UnknownField {
                field: term.field().to_owned(),
                known: self.names().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// The field values of an object: one allocation, cloned by a reference count.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldValues(Pairs);

impl FieldValues {
    /// Returns the value of a field, if the object has it.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field)
    }

    /// Returns fields and values, sorted by field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter()
    }
}

/// A selector names a field by which the kind cannot be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no field `{field}` to select by: there are {known}")]
pub struct UnknownField {
    /// The unknown field.
    pub field: String,
    /// The known fields.
    pub known: String,
}

impl<O> Clone for Field<O> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), extract: self.extract.clone() }
    }
}

impl<O> fmt::Debug for Field<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.name)
    }
}

impl<O> Clone for Fields<O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<O> fmt::Debug for Fields<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl fmt::Debug for FieldValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
