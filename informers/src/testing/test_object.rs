//! The object of tests.

use std::sync::Arc;

use machinery_objects::{Field, Fields, Labels, Object, ObjectKey, ResourceVersion};

/// An object with labels, a selectable field and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The resourceVersion, set by the source.
    pub version: Option<ResourceVersion>,
    /// The UID, set by the source.
    pub uid: Arc<str>,
    /// The labels.
    pub labels: Labels,
    /// The selectable field [`TestObject::PLACE`].
    pub place: Arc<str>,
    /// Content that no selector sees.
    pub text: Arc<str>,
}

impl TestObject {
    /// The selectable field.
    pub const PLACE: &'static str = "spec.place";

    /// Creates an empty object with a key `name` or `namespace/name`.
    ///
    /// # Panics
    /// The key is invalid.
    #[must_use]
    pub fn new(key: &str) -> Self {
        let key = key.parse().unwrap_or_else(|error| panic!("`{key}` is no key of an object: {error}"));
        let nothing: Arc<str> = "".into();
        Self {
            key,
            version: None,
            uid: nothing.clone(),
            labels: Labels::default(),
            place: nothing.clone(),
            text: nothing,
        }
    }

    /// Returns the object at another place.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.place = place.into();
        self
    }

    /// Returns the object with another text.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        self.text = text.into();
        self
    }

    /// Returns the object with this label only.
    #[must_use]
    pub fn labeled(mut self, key: &str, value: &str) -> Self {
        self.labels = Labels::from([(key, value)]);
        self
    }

    /// Returns the selectable fields.
    pub(super) fn fields() -> Fields<Self> {
        let place = Field::new(Self::PLACE, |thing: &Self| Some(thing.place.to_string()));
        Fields::new([place.expect("its name is one that can stand in a selector")])
    }
}

impl Object for TestObject {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version.clone()
    }

    fn labels(&self) -> Labels {
        self.labels.clone()
    }

    fn uid(&self) -> Option<&str> {
        Some(&*self.uid).filter(|uid| !uid.is_empty())
    }
}
