//! An object to test with.

use std::sync::Arc;

use machinery_objects::{Field, Fields, Labels, Object, ObjectKey, ResourceVersion};

/// An object with labels, a place and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestObject {
    /// Which.
    pub key: ObjectKey,
    /// As its source has it; `None` before that.
    pub version: Option<ResourceVersion>,
    /// Which of those that had the key; the source gives it.
    pub uid: Arc<str>,
    /// What it is selected by.
    pub labels: Labels,
    /// What it is selected by, too: the field [`TestObject::PLACE`].
    pub place: Arc<str>,
    /// What it says.
    pub text: Arc<str>,
}

impl TestObject {
    /// The field by which things are selected.
    pub const PLACE: &'static str = "spec.place";

    /// One that says nothing, of a key that is `name` or `namespace/name`.
    ///
    /// # Panics
    /// If that is no key.
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

    /// The same elsewhere.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.place = place.into();
        self
    }

    /// The same with another text.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        self.text = text.into();
        self
    }

    /// The same with one label, and no other.
    #[must_use]
    pub fn labeled(mut self, key: &str, value: &str) -> Self {
        self.labels = Labels::from([(key, value)]);
        self
    }

    /// What things are selected by.
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
