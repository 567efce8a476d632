//! The protobuf form of the OpenAPI v2 document, which older clients read: messages with the field
//! numbers of gnostic.

use serde_json::{Map, Value};

use crate::protobuf::{write_bytes, write_double, write_message, write_varint};

/// The whole document.
pub(super) fn of(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, DOCUMENT, document);
    out
}

/// The encoding of a value, in JSON and in messages.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Truth,
    Whole,
    Float,
    Texts,
    /// Any value: a message whose second field is the value as YAML, a superset of JSON.
    Any,
    Anys,
    Message(&'static [Field]),
    Schemas,
    /// Entries, each a message of a name and a value, in a message.
    Named(&'static [Field]),
    /// One value or a list in JSON; in a message, a list as its first field.
    Type,
    Items,
    /// Schemas of the values of a map, or whether there may be others.
    Additional,
    Properties,
    Schema,
    /// Responses by status code. A response and its schema are each the first variant of a `oneof`.
    Responses,
    ResponseSchema,
    Parameters,
    Paths,
}

/// A name in JSON, the field number, and the form.
type Field = (&'static str, u32, Form);

/// Extensions are the last field of a message that has them.
const EXTENSIONS: &str = "x-";

const DOCUMENT: &[Field] = &[
    ("swagger", 1, Form::Text),
    ("info", 2, Form::Message(INFO)),
    ("paths", 8, Form::Paths),
    ("definitions", 9, Form::Properties),
    (EXTENSIONS, 16, Form::Any),
];
const INFO: &[Field] =
    &[("title", 1, Form::Text), ("version", 2, Form::Text), ("description", 3, Form::Text)];
const PATH: &[Field] = &[
    ("get", 2, Form::Message(OPERATION)),
    ("put", 3, Form::Message(OPERATION)),
    ("post", 4, Form::Message(OPERATION)),
    ("delete", 5, Form::Message(OPERATION)),
    ("options", 6, Form::Message(OPERATION)),
    ("head", 7, Form::Message(OPERATION)),
    ("patch", 8, Form::Message(OPERATION)),
    ("parameters", 9, Form::Parameters),
    (EXTENSIONS, 10, Form::Any),
];
const OPERATION: &[Field] = &[
    ("tags", 1, Form::Texts),
    ("summary", 2, Form::Text),
    ("description", 3, Form::Text),
    ("operationId", 5, Form::Text),
    ("produces", 6, Form::Texts),
    ("consumes", 7, Form::Texts),
    ("parameters", 8, Form::Parameters),
    ("responses", 9, Form::Responses),
    ("schemes", 10, Form::Texts),
    ("deprecated", 11, Form::Truth),
    (EXTENSIONS, 13, Form::Any),
];
const RESPONSE: &[Field] =
    &[("description", 1, Form::Text), ("schema", 2, Form::ResponseSchema), (EXTENSIONS, 5, Form::Any)];
const BODY: &[Field] = &[
    ("description", 1, Form::Text),
    ("name", 2, Form::Text),
    ("in", 3, Form::Text),
    ("required", 4, Form::Truth),
    ("schema", 5, Form::Schema),
    (EXTENSIONS, 6, Form::Any),
];
const QUERY: &[Field] = &[
    ("required", 1, Form::Truth),
    ("in", 2, Form::Text),
    ("description", 3, Form::Text),
    ("name", 4, Form::Text),
    ("allowEmptyValue", 5, Form::Truth),
    ("type", 6, Form::Text),
    ("format", 7, Form::Text),
    ("uniqueItems", 20, Form::Truth),
    (EXTENSIONS, 23, Form::Any),
];
/// The fields of parameters in paths and headers.
const PLACED: &[Field] = &[
    ("required", 1, Form::Truth),
    ("in", 2, Form::Text),
    ("description", 3, Form::Text),
    ("name", 4, Form::Text),
    ("type", 5, Form::Text),
    ("format", 6, Form::Text),
    ("uniqueItems", 19, Form::Truth),
    (EXTENSIONS, 22, Form::Any),
];
const SCHEMA: &[Field] = &[
    ("$ref", 1, Form::Text),
    ("format", 2, Form::Text),
    ("title", 3, Form::Text),
    ("description", 4, Form::Text),
    ("default", 5, Form::Any),
    ("multipleOf", 6, Form::Float),
    ("maximum", 7, Form::Float),
    ("exclusiveMaximum", 8, Form::Truth),
    ("minimum", 9, Form::Float),
    ("exclusiveMinimum", 10, Form::Truth),
    ("maxLength", 11, Form::Whole),
    ("minLength", 12, Form::Whole),
    ("pattern", 13, Form::Text),
    ("maxItems", 14, Form::Whole),
    ("minItems", 15, Form::Whole),
    ("uniqueItems", 16, Form::Truth),
    ("maxProperties", 17, Form::Whole),
    ("minProperties", 18, Form::Whole),
    ("required", 19, Form::Texts),
    ("enum", 20, Form::Anys),
    ("additionalProperties", 21, Form::Additional),
    ("type", 22, Form::Type),
    ("items", 23, Form::Items),
    ("allOf", 24, Form::Schemas),
    ("properties", 25, Form::Properties),
    ("readOnly", 27, Form::Truth),
    ("externalDocs", 29, Form::Message(&[("description", 1, Form::Text), ("url", 2, Form::Text)])),
    ("example", 30, Form::Any),
    (EXTENSIONS, 31, Form::Any),
];

/// Writes the fields that the message type has. A value of another form is skipped.
fn message(out: &mut Vec<u8>, of: &[Field], object: &Value) {
    for (name, number, form) in of {
        if *name == EXTENSIONS {
            extensions(out, *number, object);
        } else if let Some(value) = object.get(name) {
            field(out, *number, *form, value);
        }
    }
}

fn field(out: &mut Vec<u8>, number: u32, form: Form, value: &Value) {
    match form {
        Form::Text => text(out, number, value),
        Form::Truth if *value == true => write_varint(out, number, 1),
        Form::Whole => {
            let whole = value.as_i64().filter(|whole| *whole != 0);
            whole.into_iter().for_each(|whole| write_varint(out, number, whole.cast_unsigned()));
        }
        Form::Float => {
            let float = value.as_f64().filter(|float| *float != 0.0);
            float.into_iter().for_each(|float| write_double(out, number, float));
        }
        Form::Truth => {}
        Form::Texts => elements(value).for_each(|one| text(out, number, one)),
        Form::Any => any(out, number, value),
        Form::Anys => elements(value).for_each(|one| any(out, number, one)),
        Form::Message(of) => inside(out, number, |out| message(out, of, value)),
        Form::Schemas => elements(value).for_each(|one| field(out, number, Form::Schema, one)),
        Form::Named(of) => named(out, number, value, |out, value| message(out, of, value)),
        Form::Type => inside(out, number, |out| match value {
            Value::Array(_) => field(out, 1, Form::Texts, value),
            _ => text(out, 1, value),
        }),
        Form::Items => inside(out, number, |out| match value {
            Value::Array(_) => field(out, 1, Form::Schemas, value),
            _ => field(out, 1, Form::Schema, value),
        }),
        Form::Additional => inside(out, number, |out| match value {
            Value::Bool(truth) => write_varint(out, 2, u64::from(*truth)),
            _ => field(out, 1, Form::Schema, value),
        }),
        Form::Properties => inside(out, number, |out| field(out, 1, Form::Named(SCHEMA), value)),
        Form::Schema => inside(out, number, |out| message(out, SCHEMA, value)),
        Form::Responses => inside(out, number, |out| {
            named(out, 1, value, |out, value| field(out, 1, Form::Message(RESPONSE), value));
        }),
        Form::ResponseSchema => inside(out, number, |out| field(out, 1, Form::Schema, value)),
        Form::Parameters => elements(value).for_each(|one| parameter(out, number, one)),
        Form::Paths => inside(out, number, |out| field(out, 2, Form::Named(PATH), value)),
    }
}

/// Writes a parameter as the variant of its message.
fn parameter(out: &mut Vec<u8>, number: u32, value: &Value) {
    let place = value["in"].as_str().unwrap_or_default();
    inside(out, number, |out| {
        inside(out, 1, |out| match place {
            "body" => field(out, 1, Form::Message(BODY), value),
            "query" => inside(out, 2, |out| field(out, 3, Form::Message(QUERY), value)),
            "path" => inside(out, 2, |out| field(out, 4, Form::Message(PLACED), value)),
            _ => inside(out, 2, |out| field(out, 1, Form::Message(PLACED), value)),
        });
    });
}

fn extensions(out: &mut Vec<u8>, number: u32, object: &Value) {
    let fields: Map<String, Value> = object
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with(EXTENSIONS))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in fields {
        inside(out, number, |out| {
            write_bytes(out, 1, name.as_bytes());
            any(out, 2, &value);
        });
    }
}

fn named(out: &mut Vec<u8>, number: u32, value: &Value, write: impl Fn(&mut Vec<u8>, &Value)) {
    for (name, value) in value.as_object().into_iter().flatten() {
        inside(out, number, |out| {
            write_bytes(out, 1, name.as_bytes());
            inside(out, 2, |out| write(out, value));
        });
    }
}

fn any(out: &mut Vec<u8>, number: u32, value: &Value) {
    inside(out, number, |out| write_bytes(out, 2, format!("{value}\n").as_bytes()));
}

fn text(out: &mut Vec<u8>, number: u32, value: &Value) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
        write_bytes(out, number, text.as_bytes());
    }
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn inside(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let Ok(()) = write_message::<std::convert::Infallible>(out, number, |out| {
        write(out);
        Ok(())
    });
}
