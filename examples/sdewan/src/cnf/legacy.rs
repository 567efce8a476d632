//! The original's legacy services: ports that are forwarded to services of the cluster. They have
//! no PUT, and the agent does not use them.

use http::{Method, StatusCode};
use machinery::tokio::net::lookup_host;
use machinery::tokio::time::timeout;
use serde_json::{Map, Value, json};

use super::request::{CnfAnswer, CnfRequest};
use super::server::CnfServer;
use super::state::LegacyService;
use super::v1::{body, refused};
use crate::model::Check;

/// Answers a request to the legacy services, or to one of them.
pub(super) async fn answer(cnf: &CnfServer, name: Option<&str>, request: &CnfRequest) -> CnfAnswer {
    match (&request.method, name) {
        (&Method::GET, None) => {
            let state = cnf.state.load();
            let services: Vec<_> = state.services.values().collect();
            CnfAnswer::object(StatusCode::OK, &json!({ "services": services }))
        }
        (&Method::GET, Some(name)) => match cnf.state.load().services.get(name) {
            Some(service) => CnfAnswer::object(StatusCode::OK, service),
            None => CnfAnswer::message(StatusCode::NOT_FOUND, &format!("Cannot find service[{name}]")),
        },
        (&Method::POST, None) => create(cnf, request).await.unwrap_or_else(|refused| refused),
        (&Method::DELETE, Some(name)) => delete(cnf, name).await.unwrap_or_else(|refused| refused),
        (&Method::POST | &Method::DELETE, _) => CnfAnswer::bad_uri(),
        _ => CnfAnswer::bad_method(),
    }
}

async fn create(cnf: &CnfServer, request: &CnfRequest) -> Result<CnfAnswer, CnfAnswer> {
    let body = body(request).map_err(refused)?;
    let (port, dport) = (text(&body, "port"), text(&body, "dport"));
    let is_port = |port: &str| {
        let number = port.parse::<u32>().ok();
        Check::Positive.check(port).is_ok() && number.is_some_and(|number| number < 65_535)
    };
    if !is_port(port) || !is_port(dport) {
        return Err(CnfAnswer::message(StatusCode::RANGE_NOT_SATISFIABLE, "Invalid Port Range"));
    }
    let (name, fullname) = (text(&body, "name"), text(&body, "fullname"));
    for (field, value) in [("name", name), ("fullname", fullname)] {
        if value.is_empty() || field == "fullname" && Check::DnsName.check(value).is_err() {
            let text = format!("Field[{field}] checked failed: required");
            return Err(CnfAnswer::message(StatusCode::BAD_REQUEST, &text));
        }
    }
    // Before the change begins, as it may take long.
    let found = timeout(cnf.limits.lookup, lookup_host((fullname, 0))).await;
    if !found.is_ok_and(|found| found.is_ok_and(|mut addresses| addresses.next().is_some())) {
        let text = "Timeout: waiting for service ready...";
        return Err(CnfAnswer::message(StatusCode::REQUEST_TIMEOUT, text));
    }
    let change = cnf.begin().await;
    let mut after = change.before().clone();
    let is_known = after.services.values().any(|service| service.name == name || service.port == port);
    if is_known {
        return Err(CnfAnswer::message(StatusCode::CONFLICT, "Duplicated Service Configuration"));
    }
    let [name, fullname, port, dport] = [name, fullname, port, dport].map(str::to_owned);
    let service = LegacyService { name: name.clone(), fullname, port, dport };
    after.services.insert(name, service.clone());
    change.commit(after, None).await?;
    Ok(CnfAnswer::object(StatusCode::OK, &service))
}

async fn delete(cnf: &CnfServer, name: &str) -> Result<CnfAnswer, CnfAnswer> {
    let change = cnf.begin().await;
    let mut after = change.before().clone();
    if after.services.remove(name).is_none() {
        return Err(CnfAnswer::message(StatusCode::NOT_FOUND, &format!("service {name} is not defined")));
    }
    change.commit(after, None).await?;
    Ok(CnfAnswer::success())
}

fn text<'a>(body: &'a Map<String, Value>, field: &str) -> &'a str {
    body.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}
