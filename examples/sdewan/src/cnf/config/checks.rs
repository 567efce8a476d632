//! Checks of one object, with the texts of the original. A missing reference is 428 for every
//! field, and a required field is required, which the original intends and does not enforce.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::cnf::facts::DeviceFacts;
use crate::model::{Check, CollectionId, Field, KINDS, Reference, Shape};

/// The reason why an object is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFailure {
    /// The status code of v1.
    pub code: u16,
    /// The message.
    pub message: String,
}

impl CheckFailure {
    /// A refusal.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn field(self, field: &Field, message: &str) -> Self {
        let detail = match self.message.is_empty() {
            true => String::new(),
            false => format!(" [{}]", self.message),
        };
        let name = field.rest_name().unwrap_or(field.name);
        Self { message: format!("Field[{name}] checked failed: {message}{detail}"), ..self }
    }
}

/// The things that an object may refer to.
pub struct ConfigView<'a> {
    /// Returns whether an object exists.
    pub has_object: &'a dyn Fn(CollectionId, &str) -> bool,
    /// The NICs.
    pub facts: &'a DeviceFacts,
}

/// Checks an object and returns its normalized fields, without the name.
///
/// # Errors
/// The first failed check.
pub fn check_object(
    collection: CollectionId,
    name: &str,
    body: &Map<String, Value>,
    view: &ConfigView<'_>,
) -> Result<Map<String, Value>, CheckFailure> {
    if collection == CollectionId::Zones && Check::ZoneName.check(name).is_err() {
        let text = "Field[name] checked failed: invalid zone name [The length of Name shall not exceed 11 characters]";
        return Err(CheckFailure::new(400, text));
    }
    let object = checked(collection, collection.fields(), body, view)?;
    check_members(collection, &object)?;
    check_rules(collection, &object)?;
    check_nics(collection, &object, view.facts)?;
    Ok(object)
}

fn checked(
    collection: CollectionId,
    fields: &[Field],
    body: &Map<String, Value>,
    view: &ConfigView<'_>,
) -> Result<Map<String, Value>, CheckFailure> {
    let mut object = Map::new();
    for field in fields {
        let Some(name) = field.rest_name() else { continue };
        let value = match body.get(name) {
            Some(Value::String(text)) if text.trim().is_empty() => None,
            Some(Value::Null) | None => None,
            Some(value) => Some(value),
        };
        let Some(value) = value else {
            if field.is_required_by_cnf {
                return Err(CheckFailure::new(400, format!("Field[{name}] checked failed: required")));
            }
            continue;
        };
        let value = check_value(collection, field, value, view)
            .map_err(|refusal| refusal.field(field, message(field)))?;
        object.insert(name.to_owned(), value);
    }
    Ok(object)
}

fn message(field: &Field) -> &'static str {
    match field.message {
        "" => "invalid value",
        message => message,
    }
}

fn check_value(
    collection: CollectionId,
    field: &Field,
    value: &Value,
    view: &ConfigView<'_>,
) -> Result<Value, CheckFailure> {
    let failed = || CheckFailure::new(400, "");
    let no_list = || CheckFailure::new(400, "Not an array");
    match (field.shape, value) {
        (Shape::Text | Shape::Number | Shape::Integer, Value::String(text)) => {
            check_text(collection, field, text.trim(), view)
        }
        (Shape::Flag, Value::Bool(_)) => Ok(value.clone()),
        (Shape::List, Value::Array(items)) if !items.is_empty() => {
            let items = items.iter().map(|item| match item {
                Value::String(text) => check_text(collection, field, text.trim(), view),
                _ => Err(failed()),
            });
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        (Shape::Objects(fields), Value::Array(items)) if !items.is_empty() => {
            let items = items.iter().map(|item| match item {
                Value::Object(item) => Ok(Value::Object(checked(collection, fields, item, view)?)),
                _ => Err(failed()),
            });
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        (Shape::List | Shape::Objects(_), _) => Err(no_list()),
        _ => Err(failed()),
    }
}

fn check_text(
    collection: CollectionId,
    field: &Field,
    text: &str,
    view: &ConfigView<'_>,
) -> Result<Value, CheckFailure> {
    if field.check.check(text).is_err() {
        let detail = match field.check {
            Check::HexMark if text.len() > 10 => "too large",
            Check::HexMark => "not a number",
            _ => "",
        };
        return Err(CheckFailure::new(400, detail));
    }
    match field.reference {
        // Any zone.
        Some(Reference::Object(CollectionId::Zones))
            if text == "*" && collection == CollectionId::FirewallRules => {}
        Some(Reference::Object(target)) if !(view.has_object)(target, text) => {
            let mut noun = target.row().noun.to_owned();
            if let Some(first) = noun.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            // The spelling is the original's, and clients know it.
            return Err(CheckFailure::new(428, format!("{noun}[{text}] is not definied")));
        }
        Some(Reference::Network) if !view.facts.has_nic(text) => {
            return Err(CheckFailure::new(428, format!("Interface[{text}] is not definied")));
        }
        // Between NICs with a computed address: see `check_nics`.
        Some(Reference::Nic) if collection == CollectionId::Nats => {
            let is_known = matches!(text, "#default" | "#source") || view.facts.has_nic(text);
            if !is_known {
                return Err(CheckFailure::new(428, ""));
            }
        }
        _ => {}
    }
    Ok(Value::String(text.to_owned()))
}

/// Checks that a policy has each interface once.
fn check_members(collection: CollectionId, object: &Map<String, Value>) -> Result<(), CheckFailure> {
    let members =
        object.get("members").and_then(Value::as_array).filter(|_| collection == CollectionId::Policies);
    let mut interfaces = BTreeSet::new();
    let is_new = |member: &Value| interfaces.insert(member.get("interface").map(Value::to_string));
    match members.into_iter().flatten().all(is_new) {
        true => Ok(()),
        false => Err(CheckFailure::new(400, "Same interface is used in different members")),
    }
}

/// Checks the requirements of the kinds of a collection.
fn check_rules(collection: CollectionId, object: &Map<String, Value>) -> Result<(), CheckFailure> {
    let kinds = KINDS.iter().filter(|kind| kind.collection == Some(collection));
    for rule in kinds.flat_map(|kind| kind.rules) {
        let applies =
            rule.when.iter().all(|(field, value)| object.get(*field).and_then(Value::as_str) == Some(*value));
        if applies && !rule.needs_one_of.iter().any(|field| object.contains_key(*field)) {
            return Err(CheckFailure::new(400, rule.message));
        }
    }
    Ok(())
}

/// Checks NICs that are given by an address or as the default, after all other checks.
fn check_nics(
    collection: CollectionId,
    object: &Map<String, Value>,
    facts: &DeviceFacts,
) -> Result<(), CheckFailure> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    if collection == CollectionId::Nats {
        let address = text("src_dip").and_then(|address| address.parse::<IpAddr>().ok());
        let needs_address = text("target") == Some("SNAT") && text("dest") == Some("#source");
        return match needs_address && address.and_then(|address| facts.nic_of(address)).is_none() {
            true => Err(CheckFailure::new(428, "ip not found on all interfaces")),
            false => Ok(()),
        };
    }
    for field in collection.fields().iter().filter(|field| field.reference == Some(Reference::Nic)) {
        let Some(name) = field.rest_name() else { continue };
        if text(name).is_some_and(|nic| facts.resolve(nic).is_none()) {
            let message = format!("Field[{name}] checked failed: Invalid interface");
            return Err(CheckFailure::new(428, message));
        }
    }
    Ok(())
}
