//! The body of a request: its format, and the kind of its object.

use serde_json::{Map, Value};

use crate::invalid::{FieldError, Problem, invalid};
use crate::json::{self, MalformedJson, ParsedJson, type_name};
use crate::refusal::Refusal;
use crate::yaml;

/// How much of a body is shown in a refusal.
const SHOWN: usize = 30;

/// How much of one is shown where Kubernetes shows it whole.
const SHOWN_WHOLE: usize = 4096;

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    /// Supported for built-in kinds only.
    Protobuf,
}

/// The kind and version that a body must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    /// A body of a built-in kind may omit its apiVersion and kind.
    pub(crate) built_in: bool,
}

impl Format {
    /// The formats of custom resources.
    pub(crate) const CUSTOM: &'static [Self] = &[Self::Json, Self::Yaml];
    /// The formats of built-in kinds.
    pub(crate) const BUILT_IN: &'static [Self] = &[Self::Json, Self::Yaml, Self::Protobuf];

    /// Returns the format of a `Content-Type` header; without one it is JSON. 415 if it is not
    /// supported.
    pub(crate) fn of(content_type: Option<&str>, supported: &[Self]) -> Result<Self, Refusal> {
        let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if essence.is_empty() && content_type.is_none_or(str::is_empty) {
            return Ok(Self::Json);
        }
        let found = supported.iter().find(|format| format.media_type().eq_ignore_ascii_case(essence));
        found.copied().ok_or_else(Self::refused)
    }

    /// 415: the supported types. Protobuf is in Kubernetes' list for every kind, also for
    /// unsupported ones.
    pub(super) fn refused() -> Refusal {
        let accepted: Vec<_> = Self::BUILT_IN.iter().map(|format| format.media_type()).collect();
        let why = "the body of the request was in an unknown format - accepted media types include";
        Refusal::new(415, "UnsupportedMediaType", format!("{why}: {}", accepted.join(", ")))
    }

    /// Returns the media type for headers.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// Reads an object, and checks its apiVersion and kind against the expectation. Protobuf is decoded
/// elsewhere, and checked by [`Expected::check`].
pub(crate) fn object(bytes: &[u8], format: Format, expected: &Expected<'_>) -> Result<ParsedJson, Refusal> {
    let mut read = match format {
        Format::Json => json::read(bytes)
            .map_err(|MalformedJson(why)| format!("couldn't get version/kind; json parse error: {why}")),
        Format::Yaml => yaml::read(bytes).map_err(|MalformedJson(why)| why),
        Format::Protobuf => return Err(Format::refused()),
    }
    .map_err(|why| match why.split_once("json parse error: json: ") {
        // Numbers that the grammar allows and that overflow every type.
        Some((_, why)) => {
            cannot_be_handled(expected.kind, expected.version, expected.kind, &format!("json: {why}"))
        }
        None => expected.unrecognized(&why, bytes),
    })?;
    expected.check(&mut read.value, bytes)?;
    Ok(read)
}

/// 400: a field of a body with an apiVersion and kind has the wrong type.
pub(crate) fn cannot_be_handled(kind: &str, version: &str, as_kind: &str, why: &str) -> Refusal {
    Refusal::bad_request(format!("{kind} in version {version:?} cannot be handled as a {as_kind}: {why}"))
}

/// 422: the patched document cannot be an object of the kind.
pub(crate) fn not_patched(object: &Value, why: &str) -> Refusal {
    let mut text = object.to_string();
    if text.len() > SHOWN_WHOLE {
        text.truncate(text.floor_char_boundary(SHOWN_WHOLE));
        text.push_str(" ...");
    }
    invalid("", "", "", &[FieldError::new("patch", Problem::Invalid(text.into()), why)])
}

/// Returns the messages about duplicate keys: warnings, or together a refusal.
pub(crate) fn duplicate_fields(paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("duplicate field {path:?}")).collect()
}

impl Expected<'_> {
    /// Checks the apiVersion and kind of an object, and fills in omitted ones of a built-in kind.
    pub(crate) fn check(&self, value: &mut Value, bytes: &[u8]) -> Result<(), Refusal> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let (api_version, kind) = head(value).map_err(|why| self.unrecognized(&why, bytes))?;
        let Value::Object(map) = value else { return Err(self.unrecognized("it is no object", bytes)) };
        if self.built_in {
            if kind.is_empty() {
                map.insert("kind".into(), self.kind.into());
            }
            if api_version.is_empty() {
                map.insert("apiVersion".into(), self.api_version().into());
            }
        } else if kind.is_empty() {
            let (begin, more) = match bytes.get(..SHOWN_WHOLE) {
                Some(begin) => (begin, " ..."),
                None => (bytes, ""),
            };
            let why = format!("Object 'Kind' is missing in '{}{more}'", String::from_utf8_lossy(begin));
            return Err(self.unrecognized(&why, bytes));
        }
        if api_version != self.api_version() && !(self.built_in && api_version.is_empty()) {
            return Err(Refusal::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                self.api_version(),
            )));
        }
        if kind == self.kind || (self.built_in && kind.is_empty()) {
            return Ok(());
        }
        if self.built_in {
            let why = format!("no kind {kind:?} is registered for version {:?} here", self.api_version());
            return Err(cannot_be_handled(&kind, self.version, self.kind, &why));
        }
        Err(self.another(value, &[must_be("kind", &kind, self.kind)]))
    }

    /// Returns whether an object is still this after a patch: 422 if it is not.
    pub(crate) fn check_patched(&self, object: &Value) -> Result<(), Refusal> {
        let (api_version, kind) = head(object).map_err(|why| not_patched(object, &why))?;
        if kind.is_empty() {
            return Err(not_patched(object, "Object 'Kind' is missing"));
        }
        let expected = self.api_version();
        let mut errors = Vec::new();
        if kind != self.kind {
            errors.push(must_be("kind", &kind, self.kind));
        }
        if api_version != expected {
            errors.push(must_be("apiVersion", &api_version, &expected));
        }
        if errors.is_empty() { Ok(()) } else { Err(self.another(object, &errors)) }
    }

    /// 422: the apiVersion or kind of the object is another.
    fn another(&self, object: &Value, errors: &[FieldError]) -> Refusal {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&object["apiVersion"]);
        let group = version.split_once('/').map_or("", |(group, _)| group);
        invalid(group, &text(&object["kind"]), &text(&object["metadata"]["name"]), errors)
    }

    fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    fn unrecognized(&self, why: &str, bytes: &[u8]) -> Refusal {
        let shown = summary(bytes);
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({shown})",
            self.kind
        ))
    }
}

fn must_be(field: &str, found: &str, expected: &str) -> FieldError {
    FieldError::new(field, Problem::Invalid(found.into()), format!("must be {expected}"))
}

/// Returns the apiVersion and kind of an object, empty where omitted.
pub(super) fn head(value: &Value) -> Result<(String, String), String> {
    let wrong = |value: &Value, place: &str| {
        let found = type_name(value);
        format!("couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go {place}")
    };
    let map = match value {
        Value::Null => return Ok(Default::default()),
        Value::Object(map) => map,
        other => return Err(wrong(other, &format!("value of type {HEAD}"))),
    };
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(wrong(other, &format!("struct field .{key} of type string"))),
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    Ok((version, kind))
}

/// Go's name of the struct that it reads apiVersion and kind into.
const HEAD: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Returns the beginning of a body: as a text if it looks like JSON, else as its bytes.
fn summary(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN { " ..." } else { "" };
    let begin = &bytes[..bytes.len().min(SHOWN)];
    match begin {
        [] => "<empty>".into(),
        [b'{', ..] => format!("{}{more}", String::from_utf8_lossy(begin)),
        _ => format!("{}{more}", begin.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

#[cfg(test)]
mod tests;
