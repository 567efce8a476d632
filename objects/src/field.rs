//! Parts of an object that it is found by.

use std::fmt;
use std::sync::Arc;

use crate::pairs::Pairs;
use crate::selector::check_field;
use crate::{FieldSelector, Object, RequirementError};

/// The name of an object as a field; every kind has it.
pub const NAME: &str = "metadata.name";
/// The namespace of an object as a field; every kind has it, empty where there is none.
pub const NAMESPACE: &str = "metadata.namespace";

/// A part of an object by name: `spec.nodeName`, and how to take it out. Cheap to clone.
pub struct Field<O> {
    name: Arc<str>,
    extract: Arc<ExtractFn<O>>,
}

type ExtractFn<O> = dyn Fn(&O) -> Option<String> + Send + Sync;

impl<O> Field<O> {
    /// A field of this name, which `extract` takes out of an object that has it.
    ///
    /// # Errors
    /// The name cannot stand in a selector.
    pub fn new(
        name: &str,
        extract: impl Fn(&O) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, RequirementError> {
        check_field(name)?;
        Ok(Self { name: name.into(), extract: Arc::new(extract) })
    }

    /// Its name, as selectors have it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object's value, if it has the field.
    #[must_use]
    pub fn of(&self, object: &O) -> Option<String> {
        (self.extract)(object)
    }
}

/// The fields by which objects of a kind are selected: name and namespace, and what the kind adds. Cheap to clone.
pub struct Fields<O>(Arc<[Field<O>]>);

impl<O: Object> Fields<O> {
    /// Name, namespace and these. Of two with one name the last counts.
    #[must_use]
    pub fn new(fields: impl IntoIterator<Item = Field<O>>) -> Self {
        let always = [
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
    /// The names, name and namespace first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Field::name)
    }

    /// Takes the values of all fields out of an object.
    #[must_use]
    pub fn of(&self, object: &O) -> FieldValues {
        let values: Vec<_> =
            self.0.iter().filter_map(|field| Some((field.name(), field.of(object)?))).collect();
        FieldValues(Pairs::new(values.iter().map(|(name, value)| (*name, value.as_str()))))
    }

    /// Holds a selector against the fields that there are.
    ///
    /// # Errors
    /// It asks for a field that there is not: that selects nothing, and whoever asked believes that it does.
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

/// The values of an object's fields: one allocation, one count to clone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldValues(Pairs);

impl FieldValues {
    /// The value of a field, if the object has it.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field)
    }

    /// Fields and values, by field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter()
    }
}

/// A selector asks for a field by which this kind is not selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no field `{field}` to select by: there are {known}")]
pub struct UnknownField {
    /// The field.
    pub field: String,
    /// Those that there are.
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
