//! Parses JSON into a [`Schema`], and validates it.

use std::collections::BTreeMap;

use machinery_cel::Pattern;
use serde_json::{Map, Value};

use super::expressions::Known;
use super::formats::ValueFormat;
use super::node::{Additional, DeclaredListType, JsonType, MapType, Schema};
use super::{declared, defaults, expressions, structure};
use crate::bounded::{FieldErrors, short};
use crate::go_format::quote;
use crate::invalid::{FieldError, Problem};

impl Schema {
    /// Parses the schema of a `CustomResourceDefinition` at the path `at`, and refuses one that is
    /// not structural.
    pub(crate) fn parse(json: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        Self::parse_again(json, at, &Known::default())
    }

    /// Parses the schema of an updated definition: expressions of the old one are accepted, even if
    /// they cannot be enforced any more.
    pub(crate) fn parse_again(json: &Value, at: &str, known: &Known) -> Result<Self, Vec<FieldError>> {
        match Self::judged(json, at, known) {
            (schema, errors) if errors.is_empty() => Ok(schema),
            (_, errors) => Err(errors),
        }
    }

    /// Parses a stored schema, and returns its errors. Writes are refused if it has keywords that
    /// cannot be parsed or enforced.
    pub(crate) fn of_stored(json: &Value, at: &str) -> (Self, Vec<FieldError>) {
        Self::judged(json, at, &Known::all())
    }

    fn judged(json: &Value, at: &str, known: &Known) -> (Self, Vec<FieldError>) {
        let mut reader = SchemaReader {
            root: at,
            known,
            unreadable: FieldErrors::default(),
            unsupported: FieldErrors::default(),
            is_structural: true,
        };
        let mut schema = reader.node(json, at);
        schema.has_passwords = schema.declares_passwords();
        let SchemaReader { unreadable, unsupported, is_structural, .. } = reader;
        let (unreadable, unsupported) = (unreadable.into_list(), unsupported.into_list());
        if !unreadable.is_empty() {
            let why = unreadable.iter().map(FieldError::to_string).collect::<Vec<_>>().join(", ");
            schema.unenforced.push(format!("schema error: {why}"));
            schema.has_rules = true;
            return (schema, unreadable.into_iter().chain(unsupported).collect());
        }
        let mut errors = Vec::new();
        if schema.nullable {
            errors.push(forbidden(&format!("{at}.nullable"), "nullable cannot be true at the root"));
        }
        if is_structural {
            let wrong = structure::check(&schema, at);
            let sound = wrong.is_empty();
            errors.extend(wrong);
            if sound {
                errors.extend(defaults::check(&schema, at));
            }
        }
        errors.extend(unsupported);
        errors.extend(declared::check(&schema, at));
        if errors.is_empty() || known.is_all() {
            errors.extend(expressions::compile(&mut schema, json, at, known));
        }
        (schema, errors)
    }

    /// Returns errors for keywords that the root of a schema must not have if its kind has a status
    /// subresource: the status is validated by itself, without them.
    pub(crate) fn check_root_with_status(json: &Value, at: &str) -> Vec<FieldError> {
        const LOST: [&str; 14] = [
            "default",
            "enum",
            "maxProperties",
            "minProperties",
            "allOf",
            "oneOf",
            "anyOf",
            "not",
            "additionalProperties",
            "nullable",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
        ];
        let idle = |value: &Value| matches!(value, Value::Null | Value::Bool(false));
        let lost = LOST.into_iter().filter(|key| json.get(key).is_some_and(|value| !idle(value)));
        lost.map(|key| {
            let detail = "is not allowed at the root of the schema if the status subresource is enabled";
            forbidden(&format!("{at}.{key}"), detail)
        })
        .collect()
    }
}

pub(super) fn forbidden(at: &str, detail: &str) -> FieldError {
    FieldError::new(at, Problem::Forbidden, detail)
}

pub(super) fn required(at: &str, detail: &str) -> FieldError {
    FieldError::new(at, Problem::Required, detail)
}

pub(super) fn wrong(at: &str, value: impl Into<Value>, detail: impl Into<String>) -> FieldError {
    FieldError::new(at, Problem::Invalid(value.into()), detail)
}

pub(super) fn not_supported(at: &str, value: Value, supported: &[&str]) -> FieldError {
    let supported = supported.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ");
    FieldError::new(at, Problem::NotSupported(value), format!("supported values: {supported}"))
}

struct SchemaReader<'a> {
    root: &'a str,
    known: &'a Known,
    /// Keywords that cannot be parsed: nothing else can be checked then.
    unreadable: FieldErrors,
    /// Keywords that are valid and not supported.
    unsupported: FieldErrors,
    /// Whether nothing unsupported would itself be structure.
    is_structural: bool,
}

impl SchemaReader<'_> {
    fn node(&mut self, json: &Value, at: &str) -> Schema {
        let mut schema: Schema = Default::default();
        let Some(fields) = json.as_object() else {
            self.unreadable(at, json, "a schema");
            return schema;
        };
        for (key, value) in fields {
            if !value.is_null() {
                self.field(&mut schema, key, value, &format!("{at}.{key}"));
            }
        }
        schema.rules.checked =
            schema.rules.format.as_deref().and_then(|name| ValueFormat::parse(name, schema.kind));
        schema
    }

    fn field(&mut self, schema: &mut Schema, key: &str, value: &Value, at: &str) {
        let rules = &mut schema.rules;
        match key {
            "type" => schema.kind = self.kind(value, at),
            "nullable" => schema.nullable = self.truth(value, at),
            "default" => schema.default = Some(value.clone()),
            "properties" => schema.properties = self.properties(value, at),
            "additionalProperties" => schema.additional = self.additional(value, at),
            "items" if value.is_array() => {
                self.unstructured(forbidden(at, "items must be a schema object and not an array"));
            }
            "items" => schema.items = Some(Box::new(self.node(value, at))),
            "title" => schema.notes.title = self.text(value, at),
            "description" => schema.notes.description = self.text(value, at),
            "example" => schema.notes.example = Some(value.clone()),
            "externalDocs" => schema.notes.external_docs = Some(value.clone()),
            "format" => rules.format = self.text(value, at),
            "pattern" => rules.pattern = self.pattern(value, at),
            "minimum" => rules.minimum = self.number(value, at),
            "exclusiveMinimum" => rules.exclusive_minimum = self.truth(value, at),
            "maximum" => rules.maximum = self.number(value, at),
            "exclusiveMaximum" => rules.exclusive_maximum = self.truth(value, at),
            "multipleOf" => rules.multiple_of = self.number(value, at),
            "minLength" => rules.min_length = self.whole(value, at),
            "maxLength" => rules.max_length = self.whole(value, at),
            "minItems" => rules.min_items = self.whole(value, at),
            "maxItems" => rules.max_items = self.whole(value, at),
            "minProperties" => rules.min_properties = self.whole(value, at),
            "maxProperties" => rules.max_properties = self.whole(value, at),
            "required" => rules.required = self.texts(value, at),
            "enum" => rules.allowed = self.list(value, at).to_vec(),
            "allOf" => rules.all_of = self.nodes(value, at),
            "anyOf" => rules.any_of = self.nodes(value, at),
            "oneOf" => rules.one_of = self.nodes(value, at),
            "not" => rules.not = Some(Box::new(self.node(value, at))),
            "uniqueItems" if self.truth(value, at) => self.unsupported.push(forbidden(
                at,
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            )),
            _ if key.starts_with("x-kubernetes-") => self.extension(schema, key, value, at),
            _ => self.unoffered(key, value, at),
        }
    }

    fn extension(&mut self, schema: &mut Schema, key: &str, value: &Value, at: &str) {
        match key {
            "x-kubernetes-preserve-unknown-fields" => match value {
                Value::Bool(false) => {
                    self.unstructured(wrong(at, false, "must be true or undefined"));
                }
                _ => schema.preserve_unknown = self.truth(value, at),
            },
            "x-kubernetes-embedded-resource" => schema.embedded = self.truth(value, at),
            "x-kubernetes-int-or-string" => schema.int_or_string = self.truth(value, at),
            "x-kubernetes-list-map-keys" => schema.list_keys = self.texts(value, at),
            "x-kubernetes-list-type" => {
                schema.list = self.choice(value, at, DeclaredListType::ALL.map(|list| (list.name(), list)));
            }
            "x-kubernetes-map-type" => {
                schema.map = self.choice(value, at, MapType::ALL.map(|map| (map.name(), map)));
            }
            "x-kubernetes-validations" => {
                schema.validations = self.list(value, at).to_vec();
            }
            // Unknown keywords are pruned when the definition is decoded, as from any object.
            _ => {}
        }
    }

    /// Parts of JSON schema that Kubernetes reads and does not offer.
    fn unoffered(&mut self, key: &str, value: &Value, at: &str) {
        let empty = match value {
            Value::String(text) => text.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let offending = match key {
            "id" | "patternProperties" | "definitions" => !empty,
            "$ref" | "dependencies" | "additionalItems" => true,
            "$schema" if !empty => {
                let detail = "OpenAPIV3Schema 'schema' is not supported";
                return self.unstructured(wrong(self.root, "", detail));
            }
            _ => false,
        };
        if offending {
            self.unstructured(forbidden(at, &format!("{key} is not supported")));
        }
    }

    fn kind(&mut self, value: &Value, at: &str) -> Option<JsonType> {
        let name = self.text(value, at)?;
        let kind = JsonType::parse(&name);
        if kind.is_none() {
            let supported = JsonType::ALL.map(JsonType::name);
            self.unreadable.push(not_supported(at, value.clone(), &supported));
        }
        if name == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.unreadable.push(forbidden(at, detail));
        }
        kind
    }

    fn additional(&mut self, value: &Value, at: &str) -> Option<Additional> {
        Some(match value {
            Value::Bool(true) => Additional::Any,
            Value::Bool(false) => Additional::Nothing,
            _ => Additional::Of(Box::new(self.node(value, at))),
        })
    }

    fn properties(&mut self, value: &Value, at: &str) -> BTreeMap<String, Schema> {
        let none = Map::new();
        let fields = value.as_object().unwrap_or_else(|| {
            self.unreadable(at, value, "an object");
            &none
        });
        fields
            .iter()
            .map(|(name, json)| (name.clone(), self.node(json, &format!("{at}[{}]", short(name)))))
            .collect()
    }

    fn pattern(&mut self, value: &Value, at: &str) -> Option<Pattern> {
        let text = self.text(value, at)?;
        // Before the compilation, which they bound.
        let states = Pattern::states_of(&text).unwrap_or_default();
        if let Some(error) = self.known.add_states(states, at) {
            self.unreadable.push(error);
            return None;
        }
        match Pattern::parse(&text) {
            Ok(pattern) => Some(pattern),
            Err(problem) => {
                let detail = format!("must be a valid regular expression, but isn't: {problem}");
                self.unreadable.push(wrong(at, text, detail));
                None
            }
        }
    }

    fn choice<T: Copy, const N: usize>(
        &mut self,
        value: &Value,
        at: &str,
        choices: [(&'static str, T); N],
    ) -> Option<T> {
        let name = self.text(value, at)?;
        let found = choices.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice);
        if found.is_none() {
            self.unreadable.push(not_supported(at, value.clone(), &choices.map(|(known, _)| known)));
        }
        found
    }

    fn nodes(&mut self, value: &Value, at: &str) -> Vec<Schema> {
        let list = self.list(value, at);
        list.iter().enumerate().map(|(i, json)| self.node(json, &format!("{at}[{i}]"))).collect()
    }

    fn texts(&mut self, value: &Value, at: &str) -> Vec<String> {
        let list = self.list(value, at);
        list.iter().enumerate().filter_map(|(i, json)| self.text(json, &format!("{at}[{i}]"))).collect()
    }

    fn list<'v>(&mut self, value: &'v Value, at: &str) -> &'v [Value] {
        value.as_array().map_or_else(
            || {
                self.unreadable(at, value, "an array");
                &[][..]
            },
            Vec::as_slice,
        )
    }

    /// Returns a string. An empty one counts as omitted, as in Go.
    fn text(&mut self, value: &Value, at: &str) -> Option<String> {
        if !value.is_string() {
            self.unreadable(at, value, "a string");
        }
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn truth(&mut self, value: &Value, at: &str) -> bool {
        value.as_bool().unwrap_or_else(|| {
            self.unreadable(at, value, "a boolean");
            false
        })
    }

    fn number(&mut self, value: &Value, at: &str) -> Option<f64> {
        if !value.is_number() {
            self.unreadable(at, value, "a number");
        }
        value.as_f64()
    }

    fn whole(&mut self, value: &Value, at: &str) -> Option<i64> {
        let whole = value.as_i64();
        if whole.is_none() {
            self.unreadable(at, value, "an integer");
        }
        whole
    }

    fn unstructured(&mut self, error: FieldError) {
        self.is_structural = false;
        self.unsupported.push(error);
    }

    fn unreadable(&mut self, at: &str, value: &Value, expected: &str) {
        let error = Problem::TypeInvalid(value.clone());
        self.unreadable.push(FieldError::new(at, error, format!("must be {expected}")));
    }
}
