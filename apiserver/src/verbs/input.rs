//! The object of a request body, normalized to its kind.

use http::header::{CONTENT_TYPE, USER_AGENT};
use serde_json::Value;

use super::{ObjectRequest, VerbRequest};
use crate::json::{ParsedJson, in_order};
use crate::managed::manager_name;
use crate::meta::{coerce, dedup_owners};
use crate::protobuf;
use crate::refusal::Refusal;
use crate::request::{Expected, FieldValidation, Format, duplicate_fields, not_patched, object};
use crate::strategy::metadata_mut;
use crate::yaml;

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
        let ParsedJson { value, duplicates } = object(&self.wire.body, format, &expected)?;
        let refuse = |_: &Value, why: &str| kind.unfit(why);
        let bytes: &[u8] = &self.wire.body;
        if format == Format::Yaml {
            let problems = repeated_keys_if(!duplicates.is_empty(), bytes);
            return self.normalized(value, problems, None, validation, refuse);
        }
        // Go decodes custom resources without their schema, and finds duplicate fields first.
        if !kind.built_in {
            return self.shaped(value, duplicate_fields(&duplicates), validation);
        }
        self.normalized(value, Vec::new(), Some((bytes, duplicates)), validation, refuse)
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
        self.normalized(object, problems, None, validation, |_, why| self.kind.unfit(why))
    }

    /// Normalizes the result of a patch.
    pub(crate) fn patched(
        &self,
        object: Value,
        problems: Vec<String>,
        validation: FieldValidation,
    ) -> Result<Input, Refusal> {
        self.expected().check_patched(&object)?;
        self.normalized(object, problems, None, validation, not_patched)
    }

    /// `text` is the JSON text of a typed object and its duplicate fields, to be reported in the
    /// order of the text among the unknown ones.
    fn normalized(
        &self,
        mut object: Value,
        mut problems: Vec<String>,
        text: Option<(&[u8], Vec<String>)>,
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
        problems.extend(match text.filter(|_| validation != FieldValidation::Ignore) {
            Some((bytes, duplicates)) => in_text_order(bytes, duplicates, unknown.kept().to_vec()),
            None => unknown.kept().iter().map(|path| unknown_field(path)).collect(),
        });
        problems.extend(unknown.others());
        let mut warnings = match validation {
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Strict if !problems.is_empty() => {
                return Err(refuse(&object, &format!("strict decoding error: {}", problems.join(", "))));
            }
            _ => problems.iter().flat_map(|problem| yaml::warnings_of(problem)).map(str::to_owned).collect(),
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

/// Returns the error about repeated keys of a YAML document.
pub(super) fn repeated_keys_if(are_there: bool, bytes: &[u8]) -> Vec<String> {
    if are_there { yaml::repeated_keys(bytes).into_iter().collect() } else { Vec::new() }
}

fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

/// Returns the messages about the duplicate and unknown fields of a typed object.
fn in_text_order(bytes: &[u8], duplicates: Vec<String>, unknown: Vec<String>) -> Vec<String> {
    if duplicates.len() + unknown.len() == 0 {
        return Vec::new();
    }
    let messages = in_order(bytes, duplicates, unknown).into_iter().map(|(path, is_unknown)| {
        if is_unknown { unknown_field(&path) } else { format!("duplicate field {path:?}") }
    });
    messages.collect()
}
