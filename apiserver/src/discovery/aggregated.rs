//! Aggregated discovery: one document with all groups.

use serde_json::{Map, Value, json};

use super::groups::{Group, Version};
use super::{KindInfo, SubresourceInfo};
use crate::accept::DiscoveryVersion;

pub(super) fn groups(groups: &[Group], version: DiscoveryVersion) -> Value {
    let items: Vec<Value> = groups.iter().map(group).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": version.api_version(), "metadata": {}, "items": items})
}

fn group(group: &Group) -> Value {
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn version(version: &Version) -> Value {
    let resources: Vec<Value> = version.kinds.iter().map(|kind| resource(kind)).collect();
    json!({"version": version.name, "resources": resources, "freshness": "Current"})
}

fn resource(kind: &KindInfo) -> Value {
    let mut entry = Map::new();
    entry.insert("resource".into(), kind.plural.clone().into());
    entry.insert("responseKind".into(), response(kind, &kind.group, &kind.version, &kind.kind));
    entry.insert("scope".into(), if kind.namespaced { "Namespaced" } else { "Cluster" }.into());
    entry.insert("singularResource".into(), kind.singular.clone().into());
    entry.insert("verbs".into(), json!(kind.verbs));
    for (key, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !names.is_empty() {
            entry.insert(key.into(), json!(names));
        }
    }
    if !kind.subresources.is_empty() {
        entry.insert(
            "subresources".into(),
            kind.subresources.iter().map(|sub| subresource(kind, sub)).collect(),
        );
    }
    entry.into()
}

fn subresource(kind: &KindInfo, sub: &SubresourceInfo) -> Value {
    json!({
        "subresource": sub.name,
        "responseKind": response(kind, &sub.group, &sub.version, &sub.kind),
        "verbs": sub.verbs,
    })
}

/// The response kind. A built-in kind omits group and version where they equal those of the list.
fn response(of: &KindInfo, group: &str, version: &str, kind: &str) -> Value {
    let is_told = of.built_in && (group, version) == (&*of.group, &*of.version);
    let (group, version) = if is_told { ("", "") } else { (group, version) };
    json!({"group": group, "version": version, "kind": kind})
}
