//! What a kind knows of its objects, whichever way it knows it.

use serde_json::Value;

use super::{Kind, Part, Shape};
use crate::builtin::{type_errors, unknown_fields};
use crate::invalid::FieldError;
use crate::native;
use crate::refusal::Refusal;
use crate::request::cannot_be_handled;

impl Kind {
    /// Whether all that is there is of the type that it must be. Of a custom resource that is said with all else.
    pub(crate) fn check_types(&self, object: &Value) -> Result<(), Refusal> {
        let Shape::Typed(of) = &self.shape else { return Ok(()) };
        match type_errors(of, object).into_iter().next() {
            None => Ok(()),
            Some(why) => {
                Err(cannot_be_handled(&self.names.kind, &self.version, &self.names.kind, &why.message))
            }
        }
    }

    /// The paths of fields that the kind has not. Those of metadata are not looked at.
    pub(crate) fn unknown_fields(&self, object: &Value) -> Vec<String> {
        match &self.shape {
            Shape::Custom(schema) => schema.unknown(object),
            Shape::Typed(of) => {
                let mut fields = unknown_fields(of, object);
                fields.retain(|field| !field.starts_with("metadata."));
                fields
            }
        }
    }

    /// Drops what the kind does not know, and fills in what is left out. An object of another version becomes one of this.
    pub(crate) fn reshape(&self, object: &mut Value) {
        self.convert(object);
        if let Shape::Custom(schema) = &self.shape {
            schema.default(object);
        }
        self.hooks.default(object);
    }

    /// Makes an object that was written in this version what is read of it in this version: what the version that is stored
    /// does not know is lost.
    pub(crate) fn through_store(&self, object: &mut Value) {
        if let Some(stored) = &self.stored {
            stored.reshape(object);
            self.convert(object);
        }
    }

    /// An object of another version becomes one of this, without what this does not know.
    pub(crate) fn convert(&self, object: &mut Value) {
        if object["apiVersion"] != self.api_version.as_str() {
            self.hooks.convert(object);
            object["apiVersion"] = self.api_version.as_str().into();
        }
        match &self.shape {
            Shape::Custom(schema) => schema.prune(object),
            Shape::Typed(of) => native::prune(of, object),
        }
    }

    /// What is wrong with an object's fields, apart from its metadata.
    pub(crate) fn validate(&self, new: &Value, old: Option<&Value>, part: Part) -> Vec<FieldError> {
        match (&self.shape, old, part) {
            (Shape::Custom(schema), Some(old), Part::Status) => schema.validate_status(new, old),
            (Shape::Custom(schema), ..) => schema.validate(new, old),
            (Shape::Typed(_), ..) => Vec::new(),
        }
    }
}
