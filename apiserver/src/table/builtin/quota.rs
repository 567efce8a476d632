//! Columns of ResourceQuotas.

use serde_json::{Map, Value};

use super::{BuiltIn, Head, nothing_more};
use crate::table::column::name_and_age;

pub(super) static RESOURCE_QUOTA: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Request", "What is used of what may be, of all but limits."),
        Head::text("Limit", "What is used of what may be, of limits."),
        Head::AGE,
    ],
    cells: |quota, now| {
        let (name, age) = name_and_age(quota, now);
        let (limits, rest) = used(&quota["status"]);
        vec![name, rest.into(), limits.into(), age]
    },
    conditions: nothing_more,
};

/// Formats the usage of limits, and of all other keys: `pods: 3/5, secrets: 1/2`.
fn used(status: &Value) -> (String, String) {
    let mut keys: Vec<&str> =
        status["hard"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    keys.sort_unstable();
    let part = |key: &&&str| {
        let (used, hard) = (status["used"][**key].as_str(), status["hard"][**key].as_str());
        format!("{key}: {}/{}", used.unwrap_or("0"), hard.unwrap_or("0"))
    };
    let of = |limits: bool| {
        let keys = keys.iter().filter(|key| key.starts_with("limits.") == limits);
        keys.map(|key| part(&key)).collect::<Vec<_>>().join(", ")
    };
    (of(true), of(false))
}
