//! Unaggregated discovery: one document per group and version.

use serde_json::{Map, Value, json};

use super::groups::{Group, Version};
use super::{KindInfo, SubresourceInfo};

pub(super) fn api_versions(core: Option<&Group>, address: &str) -> Value {
    let versions: Vec<&str> = core.map_or_else(|| vec!["v1"], |core| names(core).collect());
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

pub(super) fn groups(groups: &[Group]) -> Value {
    let groups: Vec<Value> = groups.iter().map(entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(super) fn group(group: &Group) -> Value {
    let mut alone = entry(group);
    alone["kind"] = "APIGroup".into();
    alone["apiVersion"] = "v1".into();
    alone
}

pub(super) fn resources(group: &str, version: &Version) -> Value {
    let resources: Vec<Value> = version
        .kinds
        .iter()
        .flat_map(|kind| {
            std::iter::once(resource(kind)).chain(kind.subresources.iter().map(|sub| subresource(kind, sub)))
        })
        .collect();
    let group_version =
        if group.is_empty() { version.name.clone() } else { format!("{group}/{}", version.name) };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    // The list of the core group has no `apiVersion`, as in Kubernetes.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

fn names(group: &Group) -> impl Iterator<Item = &str> {
    group.versions.iter().map(|version| version.name.as_str())
}

fn entry(group: &Group) -> Value {
    let versions: Vec<Value> = names(group)
        .map(|version| json!({"groupVersion": format!("{}/{version}", group.name), "version": version}))
        .collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

fn resource(kind: &KindInfo) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), kind.plural.clone().into());
    entry.insert("singularName".into(), kind.singular.clone().into());
    entry.insert("namespaced".into(), kind.namespaced.into());
    entry.insert("kind".into(), kind.kind.clone().into());
    entry.insert("verbs".into(), json!(kind.verbs));
    for (key, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !names.is_empty() {
            entry.insert(key.into(), json!(names));
        }
    }
    if !kind.storage_version_hash.is_empty() {
        entry.insert("storageVersionHash".into(), kind.storage_version_hash.clone().into());
    }
    entry.into()
}

fn subresource(kind: &KindInfo, sub: &SubresourceInfo) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", kind.plural, sub.name),
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    // Group and version are omitted where they equal those of the list.
    if (&sub.group, &sub.version) != (&kind.group, &kind.version) {
        entry["version"] = sub.version.clone().into();
        if !sub.group.is_empty() {
            entry["group"] = sub.group.clone().into();
        }
    }
    entry
}
