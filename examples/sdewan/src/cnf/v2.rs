//! Version 2 of the REST API: the whole configuration in one transaction.

use std::collections::BTreeMap;

use http::header::{ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::merge::merge;
use super::request::{CnfAnswer, CnfRequest};
use super::server::CnfServer;
use super::state::CnfState;
use super::v1::{body, refused};
use crate::drive::ApplyScope;
use crate::model::{ConfigDocument, ConfigEntry, secret_mac};

/// The header with the key of the HMACs of secrets in the answer, as hexadecimal text.
pub const SECRET_KEY_HEADER: HeaderName = HeaderName::from_static("sdewan-secret-key");

/// The answer to a refused `PUT`: nothing was changed.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ConfigRefusals {
    /// A summary.
    pub message: String,
    /// The reason for each refused object.
    pub refused: Vec<RefusedObject>,
}

/// An object that a `PUT` cannot change as requested.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RefusedObject {
    /// The path of the collection: `mwan3/v1/policies`.
    pub collection: String,
    /// The name.
    pub name: String,
    /// The status code that v1 would answer.
    pub code: u16,
    /// The reason.
    pub message: String,
    /// Whether the removal of the object is refused, as an object of another owner refers to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_removal: bool,
}

/// Answers a request to the whole configuration.
pub(super) async fn config(cnf: &CnfServer, request: &CnfRequest) -> CnfAnswer {
    match request.method {
        Method::GET => read(cnf, request),
        Method::PUT => replace(cnf, request).await.unwrap_or_else(|refused| refused),
        _ => CnfAnswer::bad_method(),
    }
}

fn read(cnf: &CnfServer, request: &CnfRequest) -> CnfAnswer {
    let state = cnf.state.load();
    let etag = state.etag();
    if request.text(&IF_NONE_MATCH).is_some_and(|known| matches(known, &etag)) {
        return CnfAnswer::empty(StatusCode::NOT_MODIFIED).with(ETAG, &etag);
    }
    let key = match request.text(&SECRET_KEY_HEADER).map(decode_hex) {
        Some(None) => {
            let text = format!("{SECRET_KEY_HEADER} has to be hexadecimal");
            return CnfAnswer::message(StatusCode::BAD_REQUEST, &text);
        }
        key => key.flatten(),
    };
    CnfAnswer::object(StatusCode::OK, &document(&state, key.as_deref())).with(ETAG, &etag)
}

/// Returns the configuration with HMACs in place of secrets; without a key they are left out.
fn document(state: &CnfState, key: Option<&[u8]>) -> ConfigDocument {
    let mut collections = BTreeMap::<String, Vec<ConfigEntry>>::new();
    for (id, object) in state.config.iter() {
        let mut map = object.to_map();
        for field in id.fields().iter().filter(|field| field.is_secret) {
            let Some(name) = field.rest_name() else { continue };
            if let (Some(Value::String(secret)), Some(key)) = (map.remove(name), key) {
                map.insert(name.to_owned(), secret_mac(key, &secret).into());
            }
        }
        let owner = object.owner.as_deref().map(str::to_owned);
        collections.entry(id.path().to_owned()).or_default().push(ConfigEntry { owner, object: map });
    }
    ConfigDocument { owner: String::new(), collections }
}

async fn replace(cnf: &CnfServer, request: &CnfRequest) -> Result<CnfAnswer, CnfAnswer> {
    let Some(condition) = request.text(&IF_MATCH) else {
        let text = "If-Match is missing: read the configuration, and send its ETag";
        return Err(CnfAnswer::message(StatusCode::PRECONDITION_REQUIRED, text));
    };
    // Not at once: an array would be taken for a document.
    let body = body(request).map_err(refused)?;
    if !body.get("collections").is_some_and(Value::is_object) {
        let text = "Field[collections] checked failed: required";
        return Err(CnfAnswer::message(StatusCode::BAD_REQUEST, text));
    }
    let document: ConfigDocument = serde_json::from_value(Value::Object(body)).map_err(|error| {
        CnfAnswer::message(StatusCode::BAD_REQUEST, &format!("Body parse error: {error}"))
    })?;
    if document.owner.is_empty() {
        let text = "Field[owner] checked failed: required";
        return Err(CnfAnswer::message(StatusCode::BAD_REQUEST, text));
    }
    let change = cnf.begin().await;
    let before = change.before();
    let etag = before.etag();
    if !matches(condition, &etag) {
        let text = "the configuration has changed since it was read";
        return Err(CnfAnswer::message(StatusCode::PRECONDITION_FAILED, text).with(ETAG, &etag));
    }
    let merged = merge(&before.config, document, &cnf.facts.load(), cnf.limits.objects);
    let config = merged.map_err(|refused| {
        let message = format!("{} objects are refused, and nothing was changed", refused.len());
        let refusals = ConfigRefusals { message, refused };
        CnfAnswer::object(StatusCode::UNPROCESSABLE_ENTITY, &refusals).with(ETAG, &etag)
    })?;
    if config == before.config && cnf.pending.lock().is_empty() {
        return Ok(CnfAnswer::success().with(ETAG, &etag));
    }
    let after = CnfState { config, ..before.clone() };
    let after = change.commit(after, Some(ApplyScope::Whole)).await?;
    cnf.pending.lock().clear();
    cnf.log.reloaded();
    Ok(CnfAnswer::success().with(ETAG, &after.etag()))
}

/// Returns whether a condition names an entity tag.
fn matches(condition: &str, etag: &str) -> bool {
    condition.split(',').map(str::trim).any(|one| one == "*" || one == etag)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
