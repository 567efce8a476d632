//! Properties shared by this crate's mutation tests and fuzz targets: each accepts any bytes, and
//! panics if its property does not hold.

mod apply;

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use machinery_objects::InterestBy;
use serde_json::{Value, json};

use crate::builtin::table;
use crate::fence::Fence;
use crate::interest::EditRequest;
use crate::json;
use crate::patch::{Patch, PatchKind, PatchMeta};
use crate::protobuf;
use crate::request::{ContinueAt, ContinueToken, Query, Target, field_selector, label_selector};
use crate::schema::Schema;
use crate::yaml;

pub use apply::applies;

/// Paths and queries: the canonical form of an accepted path parses to the same, and no segment can
/// leave its position.
///
/// # Panics
/// The property does not hold.
pub fn paths(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    match Target::parse(path) {
        Ok(target) => {
            let shown = target.to_string();
            assert_eq!(Target::parse(&shown).as_ref(), Ok(&target), "{path:?} as {shown:?}");
            if let Target::Resource(it) = &target {
                // A name of dots is refused as a name; nothing else can be dots.
                let places =
                    [Some(&it.version), Some(&it.plural), it.namespace.as_ref(), it.subresource.as_ref()];
                assert!(
                    places.into_iter().flatten().all(|part| !matches!(part.as_str(), "" | "." | "..")),
                    "{shown:?}"
                );
            }
        }
        Err(refusal) => client_error(refusal.code, &refusal.message, path),
    }
    if let Err(refusal) = Query::parse(Some(query)) {
        client_error(refusal.code, &refusal.message, query);
    }
}

/// Selectors: an accepted one is written in a form that is accepted as the same; an invalid one is
/// refused with 400.
///
/// # Panics
/// The property does not hold.
pub fn selectors(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match label_selector(&text) {
        Ok(selector) => {
            assert_eq!(label_selector(&selector.to_string()).as_ref(), Ok(&selector), "from {text:?}")
        }
        Err(refusal) => client_error(refusal.code, &refusal.message, &text),
    }
    match field_selector(&text) {
        Ok(selector) => {
            assert_eq!(field_selector(&selector.to_string()).as_ref(), Ok(&selector), "from {text:?}")
        }
        Err(refusal) => client_error(refusal.code, &refusal.message, &text),
    }
}

/// Continue tokens: an accepted one stays within its list, and is encoded to the same text.
///
/// # Panics
/// The property does not hold.
pub fn continue_tokens(bytes: &[u8]) {
    use base64::Engine as _;
    let inside = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    for text in [&inside, &*String::from_utf8_lossy(bytes)] {
        match ContinueToken::decode(text) {
            Ok(token) => {
                assert_eq!(ContinueToken::decode(&token.encode()).as_ref(), Ok(&token), "from {text:?}");
                assert_ne!(token.at, ContinueAt::Revision(0));
                let names = token.start().split('/').collect::<Vec<_>>();
                assert!(
                    names.len() <= 2 && names.iter().all(|name| !matches!(*name, "" | "." | "..")),
                    "{names:?}"
                );
            }
            Err(refusal) => client_error(refusal.code, &refusal.message, text),
        }
    }
}

/// Patches: the first line is the kind of patch, or a document; the rest is the patch. A patched
/// document can be parsed again, respects the size limit, and a merge patch is idempotent.
///
/// # Panics
/// The property does not hold.
pub fn patches(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (document, patch) = bytes.split_at(end);
    let document = match json::read(document) {
        Ok(read) if read.value.is_object() => read.value,
        _ => json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "finalizers": ["x", "y"]},
            "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "E", "value": "1"}]}]},
        }),
    };
    let types = table().kind("", "v1", "Pod").map(|of| of as &dyn PatchMeta);
    for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic] {
        let applied =
            Patch::read(kind, patch).and_then(|(patch, _)| Ok((patch.apply(&document, types)?, patch)));
        let (made, patch) = match applied {
            Ok(applied) => applied,
            Err(refusal) => {
                client_error(refusal.code, &refusal.message, "");
                continue;
            }
        };
        let text = made.to_string();
        assert!(text.len() <= 16 << 20, "{} bytes from {}", text.len(), bytes.len());
        if kind != PatchKind::Json {
            assert!(made.is_object(), "{kind:?} makes {made}");
            assert_eq!(json::read(text.as_bytes()).map(|read| read.value), Ok(made.clone()), "{kind:?}");
        }
        if kind == PatchKind::Merge {
            assert_eq!(patch.apply(&made, None).as_ref(), Ok(&made), "twice is once");
        }
    }
}

/// Schemas: the first line is an object, the rest a schema. The published form of an accepted
/// schema is accepted, and pruning and defaulting are idempotent.
///
/// # Panics
/// The property does not hold.
pub fn schemas(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (object, schema) = bytes.split_at(end);
    let Ok(json) = json::read(schema) else { return };
    let schema = match Schema::parse(&json.value, "schema") {
        Ok(schema) => schema,
        Err(errors) => return assert!(!errors.is_empty(), "a refusal says why"),
    };
    let shown = schema.openapi();
    assert!(shown.to_string().len() <= 64 * (bytes.len() + 64), "it is not shown as much more than it is");
    let Ok(read) = json::read(object) else { return };
    let mut object = read.value;
    if !object.is_object() {
        return;
    }
    schema.prune(&mut object);
    assert_eq!(schema.unknown(&object), Vec::<String>::new(), "nothing is left to prune in {object}");
    schema.default(&mut object);
    let once = object.clone();
    schema.default(&mut object);
    assert_eq!(object, once, "defaults are put in once");
    schema.prune(&mut object);
    let errors = schema.validate(&object, None);
    assert!(
        schema.validate(&object, Some(&object)).len() <= errors.len(),
        "what stays as it was is no worse"
    );
}

/// Bodies in JSON, YAML and protobuf: a decoded body is encoded to a form that decodes to the same,
/// and memory is bounded by a multiple of the input.
///
/// # Panics
/// The property does not hold.
pub fn bodies(bytes: &[u8]) {
    if let Ok(read) = json::read(bytes) {
        let text = read.value.to_string();
        assert_eq!(json::read(text.as_bytes()).map(|again| again.value), Ok(read.value), "JSON");
    }
    if let Ok(read) = yaml::read(bytes) {
        assert!(nodes(&read.value) <= 300_000, "aliases make no bombs");
        let text = yaml::write(&read.value);
        assert_eq!(yaml::read(text.as_bytes()).map(|again| again.value), Ok(read.value), "YAML: {text}");
    }
    let expected = protobuf::ExpectedType { api_version: "v1", kind: "ConfigMap" };
    if let Ok(object) = protobuf::decode(bytes, expected) {
        assert!(
            nodes(&object) <= 64 * (bytes.len() + 64),
            "{} nodes from {} bytes",
            nodes(&object),
            bytes.len()
        );
        if let Ok(encoded) = protobuf::encode(&object) {
            assert_eq!(protobuf::decode(&encoded, expected).as_ref(), Ok(&object), "protobuf");
        }
    }
}

/// Decodes the object in a protobuf body, by default of this kind. `None` if the body is invalid.
#[must_use]
pub fn protobuf(bytes: &[u8], api_version: &str, kind: &str) -> Option<Value> {
    protobuf::decode(bytes, protobuf::ExpectedType { api_version, kind }).ok()
}

/// Formats that Kubernetes does not have, edits of interests and fences: an accepted one is encoded
/// to a form that decodes to the same.
///
/// # Panics
/// The property does not hold.
pub fn beyond(bytes: &[u8]) {
    let said = String::from_utf8_lossy(bytes);
    let edit = |body: &[u8]| EditRequest::parse("interest-0123456789", body);
    match edit(bytes) {
        Ok(ask) => {
            let texts = |keys: &BTreeSet<Arc<str>>| keys.iter().map(|key| json!(**key)).collect::<Value>();
            let mut body = json!({"edit": ask.number, "add": texts(&ask.change.add)});
            if ask.number > 0 {
                body["remove"] = texts(&ask.change.remove);
            }
            let by = ask.by.as_ref().map(|by| match by {
                InterestBy::Field(field) => ("field", field),
                InterestBy::Label(label) => ("label", label),
            });
            assert_eq!(by.is_some(), ask.number == 0, "it is said once: {said}");
            if let Some((kind, name)) = by {
                body["by"] = json!({kind: **name});
                body["resourceVersion"] = ask.after.map_or(0, |after| after.0).to_string().into();
            }
            assert_eq!(edit(body.to_string().as_bytes()).as_ref(), Ok(&ask), "from {said}");
        }
        Err(refusal) => client_error(refusal.code, &refusal.message, &said),
    }
    let Ok(value) = HeaderValue::from_bytes(bytes) else { return };
    let fence = |value| {
        Fence::of_headers(&HeaderMap::from_iter([(HeaderName::from_static("machinery-fence"), value)]))
    };
    match fence(value) {
        Ok(read) => {
            let text = read.as_ref().map(ToString::to_string).unwrap_or_default();
            let again = HeaderValue::from_str(&text).map(fence);
            assert_eq!(again.ok(), Some(Ok(read)), "from {said}");
        }
        Err(refusal) => client_error(refusal.code, &refusal.message, &said),
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(nodes).sum::<usize>(),
        _ => 1,
    }
}

/// Checks that a refusal is a client error, with a message not much longer than the request.
fn client_error(code: u16, message: &str, said: &str) {
    assert!((400..500).contains(&code), "{code}: {message}");
    let most = 8192 + 64 * said.len();
    assert!(message.len() <= most, "{} bytes of refusal for {} bytes", message.len(), said.len());
}
