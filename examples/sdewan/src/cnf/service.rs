//! The services of a CNF: their names and actions.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::request::{CnfAnswer, CnfRequest};
use super::route::SERVICES;
use super::server::CnfServer;
use super::v1::{body, refused};
use crate::drive::ApplyScope;
use crate::model::Service;

const ACTIONS: [&str; 4] = ["start", "stop", "restart", "reload"];

/// Answers with the names of the services.
pub(super) fn list(request: &CnfRequest) -> CnfAnswer {
    match request.method {
        Method::GET => CnfAnswer::object(StatusCode::OK, &json!({ "services": SERVICES.map(Service::name) })),
        _ => CnfAnswer::bad_method(),
    }
}

/// Acts on a service. All actions but `stop` make the data path follow the configuration of the
/// service's collections.
pub(super) async fn act(cnf: &CnfServer, service: Service, request: &CnfRequest) -> CnfAnswer {
    if request.method != Method::PUT {
        return CnfAnswer::bad_method();
    }
    let action = match body(request) {
        Ok(mut body) => body.remove("action"),
        Err(failure) => return refused(failure),
    };
    let message = match &action {
        Some(Value::String(action)) if ACTIONS.contains(&action.trim()) => None,
        Some(Value::Null) | None => Some("Field[action] checked failed: required"),
        Some(_) => Some("Field[action] checked failed: wrong action"),
    };
    if let Some(message) = message {
        return CnfAnswer::message(StatusCode::BAD_REQUEST, message);
    }
    let change = cnf.begin().await;
    let scope = ApplyScope::Service(service);
    if let Err(error) = cnf.apply.apply(scope, &change.before().config).await {
        return CnfAnswer::message(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
    }
    cnf.pending.lock().remove(&service);
    cnf.log.reloaded();
    CnfAnswer::success()
}
