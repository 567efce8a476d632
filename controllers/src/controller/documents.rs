//! The encoders of objects, by informer: they name the fields of write fights.

use std::any::Any;
use std::collections::BTreeMap;

use machinery_informers::InformerId;
use machinery_objects::Object;
use serde::Serialize;

use crate::fights::DocumentOf;

/// The encoders of objects, for the sources that have one.
#[derive(Default)]
pub(super) struct Documents(BTreeMap<InformerId, Box<dyn Any + Send + Sync>>);

impl Documents {
    pub(super) fn add<T: Object + Serialize>(&mut self, informer: InformerId) {
        let document: DocumentOf<T> = |object| serde_json::to_value(object).ok();
        self.0.insert(informer, Box::new(document));
    }

    /// Returns the encoder of an informer's objects.
    pub(super) fn of<T: Object>(&self, informer: InformerId) -> Option<DocumentOf<T>> {
        self.0.get(&informer)?.downcast_ref::<DocumentOf<T>>().copied()
    }
}
