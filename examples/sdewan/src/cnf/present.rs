//! Objects as v1 answers them, with the fields that the original computes.

use serde_json::{Map, Value};

use super::config::ConfigObject;
use super::facts::DeviceFacts;
use crate::model::CollectionId;

/// Returns an object as v1 answers it.
pub(super) fn present(id: CollectionId, object: &ConfigObject, facts: &DeviceFacts) -> Map<String, Value> {
    let mut map = object.to_map();
    match id {
        CollectionId::Policies => {
            if let Some(Value::Array(members)) = map.get_mut("members") {
                members.iter_mut().filter_map(Value::as_object_mut).for_each(|member| {
                    let nic = member.get("interface").and_then(Value::as_str).unwrap_or_default();
                    let name = format!("{}_{nic}", object.name);
                    member.insert("name".into(), name.into());
                });
            }
        }
        CollectionId::NetworkFirewallRules => {
            for (field, computed) in [("src", "src_val"), ("dest", "dest_val")] {
                insert_nic(&mut map, object.text(field), computed, facts);
            }
        }
        CollectionId::Routes => insert_nic(&mut map, object.text("dev"), "dev_val", facts),
        CollectionId::RouteRules => {
            map.entry("flag").or_insert(Value::Bool(false));
        }
        CollectionId::Remotes => drop(map.insert("enabled".into(), "1".into())),
        _ => {}
    }
    map
}

fn insert_nic(map: &mut Map<String, Value>, nic: Option<&str>, computed: &str, facts: &DeviceFacts) {
    if let Some(nic) = nic.and_then(|nic| facts.resolve(nic)) {
        map.insert(computed.into(), nic.into());
    }
}
