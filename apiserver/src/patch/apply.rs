//! A decoded patch, which can be applied repeatedly until its write is committed.

use serde_json::Value;

use super::json::{self as operations, PatchOperation};
use super::{PatchKind, PatchMeta, merge, strategic};
use crate::bounded::BoundedTexts;
use crate::json::{self, MalformedJson, ParsedJson, plain_type_name};
use crate::refusal::Refusal;

/// A decoded patch of one of the supported formats.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    Json(Vec<PatchOperation>),
    Merge(Value),
    Strategic(Value),
}

/// Reads a patch and applies it once.
#[cfg(test)]
pub(super) fn apply(
    kind: PatchKind,
    document: &Value,
    patch: &[u8],
    types: Option<&dyn PatchMeta>,
) -> Result<Value, Refusal> {
    Patch::read(kind, patch)?.0.apply(document, types)
}

impl Patch {
    /// Reads a patch from a request's body. Also returns the findings of strict field validation in
    /// the patch itself, in the words of Kubernetes: duplicate keys, and unknown members of
    /// operations. A body that is not JSON is refused with 400.
    pub(crate) fn read(kind: PatchKind, body: &[u8]) -> Result<(Self, Vec<String>), Refusal> {
        let ParsedJson { value, duplicates } = json::read(body).map_err(|MalformedJson(why)| {
            let why = if why.ends_with("exceeded max depth") { ": nested too deeply" } else { "" };
            Refusal::bad_request(format!("invalid JSON patch{why}"))
        })?;
        let patch = Self::new(kind, value)?;
        let whose = if kind == PatchKind::Json { "json patch " } else { "" };
        let mut problems: Vec<String> =
            duplicates.iter().map(|path| format!("{whose}duplicate field {path:?}")).collect();
        let unknown = patch.unknown_fields();
        problems.extend_from_slice(unknown.kept());
        problems.extend(unknown.others());
        Ok((patch, problems))
    }

    fn new(kind: PatchKind, body: Value) -> Result<Self, Refusal> {
        if kind == PatchKind::Json {
            return PatchOperation::list(&body).map(Self::Json);
        }
        let mismatch = format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            plain_type_name(&body)
        );
        match (kind, &body) {
            (PatchKind::Merge, Value::Object(_)) => Ok(Self::Merge(body)),
            (PatchKind::Merge, Value::Null) => Err(Refusal::bad_request("Invalid JSON Patch")),
            (PatchKind::Merge, _) => Err(Refusal::bad_request(format!("error decoding patch: {mismatch}"))),
            (_, Value::Object(_)) => Ok(Self::Strategic(body)),
            _ => Err(Refusal::bad_request(mismatch)),
        }
    }

    /// Returns the patched document, which is an object and stays one. `types` are those of the
    /// document, which a strategic merge needs.
    pub(crate) fn apply(&self, document: &Value, types: Option<&dyn PatchMeta>) -> Result<Value, Refusal> {
        match (self, types) {
            (Self::Json(operations), _) => operations::apply(document.clone(), operations),
            (Self::Merge(patch), _) => Ok(merge::apply(document.clone(), patch)),
            (Self::Strategic(patch), Some(types)) => strategic::apply(document.clone(), patch, types),
            (Self::Strategic(_), None) => {
                Err(Refusal::bad_request("strategic merge patch format is not supported"))
            }
        }
    }

    fn unknown_fields(&self) -> BoundedTexts {
        let mut fields = BoundedTexts::default();
        let Self::Json(operations) = self else { return fields };
        for (at, operation) in operations.iter().enumerate() {
            for name in &operation.unknown {
                fields.push(format_args!("json patch unknown field \"[{at}].{name}\""));
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Patch, apply};
    use crate::patch::PatchKind;

    fn check_refused(kind: PatchKind, patch: &str, code: u16, message: &str) {
        let refusal = apply(kind, &json!({}), patch.as_bytes(), None).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (code, message), "{patch}");
    }

    #[test]
    fn invalid_patches_are_refused_in_the_words_of_kubernetes() {
        for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic] {
            check_refused(kind, "{", 400, "invalid JSON patch");
            check_refused(kind, "", 400, "invalid JSON patch");
            check_refused(kind, "{} {}", 400, "invalid JSON patch");
            let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
            check_refused(kind, &deep, 400, "invalid JSON patch: nested too deeply");
        }
        let said = "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}";
        check_refused(PatchKind::Merge, "[]", 400, said);
        check_refused(PatchKind::Merge, "null", 400, "Invalid JSON Patch");
        let said = "json: cannot unmarshal string into Go value of type map[string]interface {}";
        check_refused(PatchKind::Strategic, "\"a\"", 400, said);
        let said = "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        check_refused(PatchKind::Json, "{}", 400, said);
        check_refused(PatchKind::Strategic, "{}", 400, "strategic merge patch format is not supported");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        let patched = apply(PatchKind::Merge, &json!({}), b"{\"a\":\"\xff\\u0000\"}", None).unwrap();
        assert_eq!(patched, json!({"a": "\u{fffd}\0"}));
    }

    #[test]
    fn duplicate_and_unknown_members_are_reported() {
        let (_, problems) = Patch::read(PatchKind::Merge, br#"{"a":{"b":1,"b":2}}"#).unwrap();
        assert_eq!(problems, ["duplicate field \"a.b\""]);
        let patch =
            br#"[{"op":"add","op":"add","path":"/a","value":1},{"op":"remove","path":"/a","why":"x","Path":"y"}]"#;
        let (patch, problems) = Patch::read(PatchKind::Json, patch).unwrap();
        let said = ["duplicate field \"[0].op\"", "unknown field \"[1].Path\"", "unknown field \"[1].why\""];
        assert_eq!(problems, said.map(|said| format!("json patch {said}")));
        assert_eq!(patch.apply(&json!({}), None).unwrap(), json!({}));
    }
}
