//! Schema-dependent operations on objects, for both kinds of schema.

use serde_json::Value;

use super::{Kind, KindSchema, Subresource};
use crate::bounded::{BoundedTexts, FieldErrors};
use crate::builtin::{type_errors, unknown_fields};
use crate::invalid::{FieldError, Problem};
use crate::meta::{check_embedded, coerce};
use crate::native;
use crate::refusal::Refusal;
use crate::request::cannot_be_handled;
use crate::schema::Schema;

/// The result of validation.
pub(crate) struct Checked {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) warnings: Vec<String>,
}

impl KindSchema {
    /// Returns whether a write evaluates expressions of the schema.
    pub(crate) fn has_rules(&self) -> bool {
        matches!(self, Self::Custom(schema) if schema.has_rules)
    }
}

impl Kind {
    /// Checks the types of all fields. Those of custom resources are checked by validation instead.
    pub(crate) fn check_types(&self, object: &Value) -> Result<(), String> {
        let why = match &self.shape {
            KindSchema::Typed(of) => type_errors(of, object).into_iter().next().map(|why| why.message),
            KindSchema::Custom(schema) if self.built_in => schema.type_error(object),
            KindSchema::Custom(_) => None,
        };
        why.or_else(|| self.hooks.unfit(object)).map_or(Ok(()), Err)
    }

    /// The 400 refusal of a body with a type error.
    pub(crate) fn unfit(&self, why: &str) -> Refusal {
        cannot_be_handled(&self.names.kind, &self.version, &self.names.kind, why)
    }

    /// Coerces the metadata of embedded resources; returns the paths of dropped fields.
    pub(crate) fn coerce_embedded(&self, object: &mut Value) -> Result<BoundedTexts, String> {
        let (mut unknown, mut wrong) = (BoundedTexts::default(), None);
        if let KindSchema::Custom(schema) = &self.shape {
            schema.change_embedded_metadata(object, &mut |at, metadata| match coerce(metadata) {
                _ if metadata.is_null() => {}
                Ok(coerced) => {
                    unknown.extend(coerced.unknown.iter().map(|path| path.replacen("metadata", at, 1)));
                    *metadata = Value::Object(coerced.meta);
                }
                Err(why) => wrong = Some(format!("{at}: {why}")),
            });
        }
        wrong.map_or(Ok(unknown), Err)
    }

    /// Returns the paths of unknown fields, except those of metadata.
    pub(crate) fn unknown_fields(&self, object: &Value) -> BoundedTexts {
        match &self.shape {
            KindSchema::Custom(schema) => {
                let mut fields = schema.unknown_fields(object);
                fields.append(self.hooks.unknown(object));
                fields
            }
            KindSchema::Typed(of) => {
                let mut fields = BoundedTexts::default();
                let found = unknown_fields(of, object);
                fields.extend(found.iter().filter(|field| !field.starts_with("metadata.")));
                fields
            }
        }
    }

    /// Returns the path of the first field that cannot be applied: one that the schema of a custom
    /// resource excludes, otherwise any unknown field.
    pub(crate) fn undeclared_field(&self, object: &Value) -> Option<String> {
        match &self.shape {
            KindSchema::Custom(schema) if !self.built_in => schema.undeclared(object),
            KindSchema::Custom(_) | KindSchema::Typed(_) => {
                self.unknown_fields(object).kept().first().cloned()
            }
        }
    }

    /// Converts an object to this version, prunes unknown fields and sets default values.
    pub(crate) fn reshape(&self, object: &mut Value) {
        self.convert(object);
        if let KindSchema::Custom(schema) = &self.shape {
            schema.default(object);
        }
        self.hooks.default(object);
    }

    /// As `reshape`, but invalid nulls are kept, so that validation rejects them.
    pub(crate) fn reshape_applied(&self, object: &mut Value) {
        self.convert(object);
        if let KindSchema::Custom(schema) = &self.shape {
            schema.fill(object);
        }
        self.hooks.default(object);
    }

    /// Converts an object to the storage version and back: fields unknown to that version are lost.
    pub(crate) fn through_store(&self, object: &mut Value) {
        if let Some(stored) = &self.stored {
            stored.reshape(object);
            self.convert(object);
            self.hooks.default(object);
        }
    }

    /// Converts an object to this version for admission. A custom one is neither pruned nor
    /// defaulted, which is up to the version in which it was written.
    pub(crate) fn convert_for_admission(&self, object: &mut Value) {
        match &self.shape {
            KindSchema::Custom(_) => {
                self.hooks.convert(object);
                object["apiVersion"] = self.api_version.as_str().into();
            }
            KindSchema::Typed(_) => self.reshape(object),
        }
    }

    /// Converts an object to this version and prunes unknown fields.
    pub(crate) fn convert(&self, object: &mut Value) {
        if object["apiVersion"] != self.api_version.as_str() {
            self.hooks.convert(object);
            object["apiVersion"] = self.api_version.as_str().into();
        }
        match &self.shape {
            KindSchema::Custom(schema) => schema.prune(object),
            KindSchema::Typed(of) => native::prune(of, object),
        }
    }

    /// Returns the schema, if it declares passwords.
    pub(crate) fn secret_fields(&self) -> Option<&Schema> {
        match &self.shape {
            KindSchema::Custom(schema) if schema.has_passwords => Some(schema),
            _ => None,
        }
    }

    /// Removes the passwords of an object, and of its old state, from its errors.
    pub(crate) fn hide_in_errors(&self, new: &Value, old: Option<&Value>, errors: &mut [FieldError]) {
        if let Some(schema) = self.secret_fields() {
            let objects: Vec<&Value> = std::iter::once(new).chain(old).collect();
            schema.hide_in_errors(&objects, errors);
        }
    }

    /// Validates the fields of an object, except its metadata.
    pub(crate) fn validate(&self, new: &Value, old: Option<&Value>, subresource: Subresource) -> Checked {
        let mut errors = match (&self.shape, old, subresource) {
            (KindSchema::Custom(schema), Some(old), Subresource::Status) => schema.validate_status(new, old),
            (KindSchema::Custom(schema), ..) => {
                let mut errors: FieldErrors = schema.validate(new, old).into_iter().collect();
                schema
                    .embedded_metadata(new, &mut |at, metadata| errors.extend(check_embedded(metadata, at)));
                errors.into_list()
            }
            (KindSchema::Typed(_), ..) => Vec::new(),
        };
        if self.built_in {
            // The schemas of built-in kinds declare list types for field ownership; uniqueness is
            // not enforced.
            errors.retain(|error| !matches!(error.problem, Problem::Duplicate(_)));
        }
        errors.extend(self.scale.iter().flat_map(|scale| scale.errors(new, subresource)));
        let mut warnings = Vec::new();
        if let KindSchema::Custom(schema) = &self.shape {
            let (broken, tolerated) = schema.broken_rules(new, old, &errors);
            errors.extend(broken);
            warnings.extend(tolerated.iter().map(FieldError::to_string));
        }
        Checked { errors, warnings }
    }
}
