//! The object of a request body, normalized to its kind.

use http::header::{CONTENT_TYPE, USER_AGENT};
use serde_json::Value;

use super::{ObjectRequest, VerbRequest};
use crate::managed::manager_name;
use crate::meta::{coerce, dedup_owners};
use crate::protobuf;
use crate::refusal::Refusal;
use crate::request::{Expected, FieldValidation, Format, duplicate_fields, not_patched, object};
use crate::strategy::metadata_mut;

/// An object ready for admission and validation, and warnings for the client.
pub(crate) struct Input {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

impl VerbRequest<'_> {
    /// Decodes the object of the body.
    pub(super) fn body(&self, validation: FieldValidation) -> Result<Input, Refusal> {
        let kind = self.kind;
        let supported = if kind.built_in { Format::BUILT_IN } else { Format::CUSTOM };
        let format = Format::of(self.wire.header(CONTENT_TYPE), supported)?;
        let expected = self.expected();
        if format == Format::Protobuf {
            let mut value = protobuf::decode(
                &self.wire.body,
                protobuf::ExpectedType { api_version: &kind.api_version, kind: &kind.names.kind },
            )?;
            expected.check(&mut value, &[])?;
            return self.shaped(value, Vec::new(), validation);
        }
        let read = object(&self.wire.body, format, &expected)?;
        self.shaped(read.value, duplicate_fields(&read.duplicates), validation)
    }

    /// Returns the field manager of this write.
    pub(super) fn manager(&self, given: Option<&str>, options: &str) -> Result<String, Refusal> {
        manager_name(given, self.wire.header(USER_AGENT), options)
    }
}

impl ObjectRequest<'_> {
    pub(crate) fn expected(&self) -> Expected<'_> {
        let kind = self.kind;
        Expected {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.names.kind,
            built_in: kind.built_in,
        }
    }

    /// Normalizes an object: unknown fields are reported or pruned, and defaults filled in.
    /// `problems` are those found while decoding.
    pub(crate) fn shaped(
        &self,
        object: Value,
        problems: Vec<String>,
        validation: FieldValidation,
    ) -> Result<Input, Refusal> {
        self.normalized(object, problems, validation, |_, why| self.kind.unfit(why))
    }

    /// Normalizes the result of a patch.
    pub(crate) fn patched(
        &self,
        object: Value,
        problems: Vec<String>,
        validation: FieldValidation,
    ) -> Result<Input, Refusal> {
        self.expected().check_patched(&object)?;
        self.normalized(object, problems, validation, not_patched)
    }

    fn normalized(
        &self,
        mut object: Value,
        mut problems: Vec<String>,
        validation: FieldValidation,
        refuse: impl Fn(&Value, &str) -> Refusal,
    ) -> Result<Input, Refusal> {
        let kind = self.kind;
        kind.check_types(&object).map_err(|why| refuse(&object, &why))?;
        let coerced = coerce(&object["metadata"]).map_err(|why| refuse(&object, &why))?;
        let mut unknown = kind.unknown_fields(&object);
        unknown.extend(coerced.unknown);
        unknown.sort();
        unknown.append(kind.coerce_embedded(&mut object).map_err(|why| refuse(&object, &why))?);
        problems.extend(unknown.kept().iter().map(|path| format!("unknown field {path:?}")));
        problems.extend(unknown.others());
        let mut warnings = match validation {
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Strict if !problems.is_empty() => {
                return Err(refuse(&object, &format!("strict decoding error: {}", problems.join(", "))));
            }
            _ => problems,
        };
        // An empty list of managed fields resets them. Only Go types of built-in kinds keep it.
        let resets = kind.built_in
            && object["metadata"].get("managedFields").and_then(Value::as_array).is_some_and(Vec::is_empty);
        object["metadata"] = Value::Object(coerced.meta);
        if resets {
            metadata_mut(&mut object).insert("managedFields".into(), Value::Array(Vec::new()));
        }
        warnings.extend(dedup_owners(metadata_mut(&mut object)));
        kind.reshape(&mut object);
        Ok(Input { object, warnings })
    }
}
