use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::version::by_priority;
use super::version::groups_by_priority;
use super::*;
use crate::accept::DiscoveryVersion;

fn kind(group: &str, version: &str, kind: &str) -> KindInfo {
    let singular = kind.to_lowercase();
    KindInfo {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        plural: format!("{singular}s"),
        singular,
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        built_in: false,
        verbs: CUSTOM_VERBS,
        storage_version_hash: String::new(),
        subresources: Vec::new(),
    }
}

fn discovery() -> Discovery {
    let mut widget = KindInfo {
        short_names: vec!["wd".into()],
        categories: vec!["all".into()],
        storage_version_hash: storage_version_hash("example.com", "v1", "Widget"),
        ..kind("example.com", "v1", "Widget")
    };
    widget.subresources = vec![widget.status(), SubresourceInfo::scale()];
    let node =
        KindInfo { namespaced: false, built_in: true, verbs: TERMINATING_VERBS, ..kind("", "v1", "Node") };
    let kinds = [
        widget,
        kind("example.com", "v1beta1", "Widget"),
        kind("example.com", "v1", "Gadget"),
        kind("apps", "v1", "Deployment"),
        kind("aaa.example.com", "v1", "Other"),
        node,
    ];
    Discovery::new(kinds.into_iter().map(Arc::new))
}

fn read(page: &Page) -> Value {
    serde_json::from_slice(&page.json).expect("JSON")
}

#[track_caller]
fn check(found: Value, expected: Value) {
    assert_eq!(found, expected);
}

#[test]
fn root_documents_list_groups() {
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]);
    let expected =
        json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses});
    check(discovery().api_versions("127.0.0.1:6443"), expected.clone());
    check(Discovery::default().api_versions("127.0.0.1:6443"), expected);
    let groups = read(discovery().groups());
    let names: Vec<&Value> =
        groups["groups"].as_array().expect("groups").iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["apps", "aaa.example.com", "example.com"]);
    assert_eq!((&groups["kind"], &groups["apiVersion"]), (&json!("APIGroupList"), &json!("v1")));
}

#[test]
fn a_group_document_lists_versions() {
    let version =
        |version: &str| json!({"groupVersion": format!("example.com/{version}"), "version": version});
    let expected = json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": "example.com",
        "versions": [version("v1"), version("v1beta1")], "preferredVersion": version("v1"),
    });
    check(discovery().group("example.com").expect("there"), expected);
    assert_eq!(discovery().group("nowhere"), None);
    assert_eq!(discovery().group(""), None);
}

#[test]
fn a_version_document_lists_resources() {
    let found = discovery().resources("example.com", "v1").expect("there");
    let verbs = json!(CUSTOM_VERBS);
    let few = json!(["get", "patch", "update"]);
    check(
        found,
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1",
            "resources": [
                {"name": "gadgets", "singularName": "gadget", "namespaced": true, "kind": "Gadget", "verbs": verbs},
                {
                    "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget", "verbs": verbs,
                    "shortNames": ["wd"], "categories": ["all"], "storageVersionHash": storage_version_hash("example.com", "v1", "Widget"),
                },
                {"name": "widgets/status", "singularName": "", "namespaced": true, "kind": "Widget", "verbs": few},
                {
                    "name": "widgets/scale", "singularName": "", "namespaced": true, "group": "autoscaling", "version": "v1", "kind": "Scale",
                    "verbs": few,
                },
            ],
        }),
    );
    let core = discovery().resources("", "v1").expect("there");
    assert_eq!((&core["groupVersion"], core.get("apiVersion")), (&json!("v1"), None));
    assert_eq!(core["resources"][0]["namespaced"], false);
    assert_eq!(discovery().resources("example.com", "v2"), None);
}

#[test]
fn aggregated_discovery_lists_everything() {
    let discovery = discovery();
    let found = read(discovery.aggregated_apis(DiscoveryVersion::V2));
    assert_eq!(
        (&found["kind"], &found["apiVersion"]),
        (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
    );
    let group = &found["items"][2];
    assert_eq!(group["metadata"]["name"], "example.com");
    assert_eq!(
        (&group["versions"][0]["version"], &group["versions"][0]["freshness"]),
        (&json!("v1"), &json!("Current"))
    );
    let few = json!(["get", "patch", "update"]);
    let widget = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    check(
        group["versions"][0]["resources"][1].clone(),
        json!({
            "resource": "widgets", "responseKind": widget, "scope": "Namespaced", "singularResource": "widget", "verbs": CUSTOM_VERBS,
            "shortNames": ["wd"], "categories": ["all"],
            "subresources": [
                {"subresource": "status", "responseKind": widget, "verbs": few},
                {"subresource": "scale", "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}, "verbs": few},
            ],
        }),
    );
    let beta = read(discovery.aggregated_apis(DiscoveryVersion::V2beta1));
    assert_eq!(
        (&beta["apiVersion"], &beta["items"]),
        (&json!("apidiscovery.k8s.io/v2beta1"), &found["items"])
    );
    let core = read(discovery.aggregated_api(DiscoveryVersion::V2));
    assert_eq!(core["items"].as_array().map(Vec::len), Some(1));
    let node = &core["items"][0]["versions"][0]["resources"][0];
    assert_eq!(node["scope"], "Cluster");
    assert_eq!(node["responseKind"], json!({"group": "", "version": "", "kind": "Node"}));
    assert_eq!(read(Discovery::default().aggregated_api(DiscoveryVersion::V2))["items"], json!([]));
}

#[test]
fn a_matching_etag_is_recognized() {
    let page = Page::render(&json!({"a": 1}));
    assert_eq!(page, Page::render(&json!({"a": 1})));
    assert_ne!(page.hash, Page::render(&json!({"a": 2})).hash);
    let etag = page.etag();
    for (header, known) in [
        (None, false),
        (Some("*"), true),
        (Some(etag.as_str()), true),
        (Some(&format!("\"x\", W/{etag}")), true),
        (Some(page.hash.as_str()), false),
    ] {
        assert_eq!(page.is_known(header), known, "{header:?}");
    }
}

#[test]
fn storage_version_hashes_are_those_of_kubernetes() {
    assert_eq!(storage_version_hash("apps", "v1", "Deployment"), "8aSe+NMegvE=");
    assert_eq!(storage_version_hash("", "v1", "Pod"), "xPOwRZ+Yhw8=");
}

#[test]
fn versions_are_ordered_by_priority() {
    let mut versions = [
        "foo1",
        "v1alpha1",
        "v10",
        "v3beta1",
        "v2",
        "foo10",
        "v11alpha2",
        "v1",
        "v12alpha1",
        "v11beta2",
        "v1beta",
        "v",
    ];
    versions.sort_by(|a, b| by_priority(a, b));
    let expected = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
        "v",
        "v1beta",
    ];
    assert_eq!(versions, expected);
    let mut groups = ["z.example.com", "apps", "", "a.example.com", "coordination.k8s.io"];
    groups.sort_by(|a, b| groups_by_priority(a, b));
    assert_eq!(groups, ["", "apps", "coordination.k8s.io", "a.example.com", "z.example.com"]);
}

proptest! {
    #[test]
    fn version_order_is_total(mut names in prop::collection::vec("v?[0-9]{0,25}(alpha|beta)?[0-9]{0,2}", 0..20)) {
        names.sort_by(|a, b| by_priority(a, b));
        prop_assert!(names.windows(2).all(|pair| by_priority(&pair[0], &pair[1]).is_le()));
    }
}
