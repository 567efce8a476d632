//! Version 1 of the REST API: objects one by one, as in the original.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::commit::PendingChange;
use super::config::{CheckFailure, CnfConfig, ConfigObject, ConfigView, NameSpaces, check_object, is_used};
use super::present::present;
use super::request::{CnfAnswer, CnfRequest};
use super::server::CnfServer;
use super::state::CnfState;
use crate::drive::ApplyScope;
use crate::model::CollectionId;

/// Answers a request to a collection.
pub(super) async fn collection(cnf: &CnfServer, id: CollectionId, request: &CnfRequest) -> CnfAnswer {
    match request.method {
        Method::GET => {
            let (state, facts) = (cnf.state.load(), cnf.facts.load());
            let objects = state.config.list(id).iter().map(|object| present(id, object, &facts));
            let objects: Vec<_> = objects.collect();
            CnfAnswer::object(StatusCode::OK, &json!({ id.row().name: objects }))
        }
        Method::POST => create(cnf, id, request).await.unwrap_or_else(|refused| refused),
        // They need the name of an object.
        Method::PUT | Method::DELETE => CnfAnswer::bad_uri(),
        _ => CnfAnswer::bad_method(),
    }
}

/// Answers a request to an object.
pub(super) async fn object(cnf: &CnfServer, id: CollectionId, name: &str, request: &CnfRequest) -> CnfAnswer {
    match request.method {
        Method::GET => match cnf.state.load().config.get(id, name) {
            Some(object) => CnfAnswer::object(StatusCode::OK, &present(id, object, &cnf.facts.load())),
            None => {
                let text = format!("Cannot find {}[{name}]", id.row().noun);
                CnfAnswer::message(StatusCode::NOT_FOUND, &text)
            }
        },
        Method::PUT => replace(cnf, id, name, request).await.unwrap_or_else(|refused| refused),
        Method::DELETE => delete(cnf, id, name).await.unwrap_or_else(|refused| refused),
        Method::POST => CnfAnswer::bad_uri(),
        _ => CnfAnswer::bad_method(),
    }
}

async fn create(cnf: &CnfServer, id: CollectionId, request: &CnfRequest) -> Result<CnfAnswer, CnfAnswer> {
    let body = body(request).map_err(refused)?;
    let name = match body.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
        _ => return Err(refused(CheckFailure::new(400, "Field[name] checked failed: required"))),
    };
    let change = cnf.begin().await;
    let config = &change.before().config;
    let fields = check(cnf, config, id, &name, &body).map_err(refused)?;
    if config.get(id, &name).is_some() {
        return Err(conflict());
    }
    if config.len() >= cnf.limits.objects {
        let text = format!("the CNF has {} objects, which is its limit", cnf.limits.objects);
        return Err(CnfAnswer::message(StatusCode::INSUFFICIENT_STORAGE, &text));
    }
    write(cnf, change, id, (&name, fields), StatusCode::CREATED).await
}

async fn replace(
    cnf: &CnfServer,
    id: CollectionId,
    name: &str,
    request: &CnfRequest,
) -> Result<CnfAnswer, CnfAnswer> {
    let body = body(request).map_err(refused)?;
    let change = cnf.begin().await;
    let fields = check(cnf, &change.before().config, id, name, &body).map_err(refused)?;
    write(cnf, change, id, (name, fields), StatusCode::OK).await
}

/// Puts an object in its place, or behind all others.
async fn write(
    cnf: &CnfServer,
    change: PendingChange<'_>,
    id: CollectionId,
    (name, fields): (&str, Map<String, Value>),
    status: StatusCode,
) -> Result<CnfAnswer, CnfAnswer> {
    let facts = cnf.facts.load();
    let mut after = change.before().clone();
    let mut names = NameSpaces::without(&after.config, &facts, (id, name));
    if !names.take(id, name, &fields) {
        return Err(conflict());
    }
    let owner = after.config.get(id, name).and_then(|object| object.owner.clone());
    let object = ConfigObject { name: name.into(), owner, fields: Arc::new(fields) };
    let shown = present(id, &object, &facts);
    after.config.put(id, object);
    cnf.commit_v1(change, id, after).await?;
    Ok(CnfAnswer::object(status, &shown))
}

async fn delete(cnf: &CnfServer, id: CollectionId, name: &str) -> Result<CnfAnswer, CnfAnswer> {
    let change = cnf.begin().await;
    let mut after = change.before().clone();
    let noun = id.row().noun;
    if after.config.get(id, name).is_none() {
        return Err(refused(CheckFailure::new(404, format!("{noun} {name} is not defined"))));
    }
    if is_used(&after.config, id, name) {
        return Err(refused(CheckFailure::new(409, format!("{noun} {name} is used"))));
    }
    after.config.remove(id, name);
    cnf.commit_v1(change, id, after).await?;
    Ok(CnfAnswer::success())
}

fn check(
    cnf: &CnfServer,
    config: &CnfConfig,
    id: CollectionId,
    name: &str,
    body: &Map<String, Value>,
) -> Result<Map<String, Value>, CheckFailure> {
    let has_object = |target: CollectionId, name: &str| config.get(target, name).is_some();
    let facts = cnf.facts.load();
    check_object(id, name, body, &ConfigView { has_object: &has_object, facts: &facts })
}

impl CnfServer {
    /// Commits a change of one collection. Changes of collections with a service wait for its
    /// restart, as in the original; others apply at once.
    async fn commit_v1(
        &self,
        change: PendingChange<'_>,
        id: CollectionId,
        after: CnfState,
    ) -> Result<(), CnfAnswer> {
        match id.row().service {
            Some(service) => {
                change.commit(after, None).await?;
                self.pending.lock().insert(service);
            }
            None => drop(change.commit(after, Some(ApplyScope::Collection(id))).await?),
        }
        Ok(())
    }
}

/// Parses the body: an object.
pub(super) fn body(request: &CnfRequest) -> Result<Map<String, Value>, CheckFailure> {
    let wrong = |why: &str| CheckFailure::new(400, format!("Body parse error: {why}"));
    match serde_json::from_slice(&request.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(wrong("an object is expected")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

pub(super) fn refused(refusal: CheckFailure) -> CnfAnswer {
    let status = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::BAD_REQUEST);
    CnfAnswer::message(status, &refusal.message)
}

fn conflict() -> CnfAnswer {
    CnfAnswer::message(StatusCode::CONFLICT, "Conflict")
}
