use proptest::prelude::*;

use super::{Resource, Target};

/// `group version namespace plural name subresource rest…`, with `-` for missing ones.
fn check(path: &str, expected: &str) {
    let Target::Resource(found) = Target::parse(path).unwrap() else { panic!("{path} is no resource") };
    assert!(!found.watched);
    let or = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".into());
    let group = if found.group.is_empty() { "-" } else { &found.group };
    let mut shown = vec![group.to_owned(), found.version.clone(), or(&found.namespace), found.plural.clone()];
    shown.extend([or(&found.name), or(&found.subresource)]);
    shown.extend(found.rest.clone());
    assert_eq!(shown.join(" "), expected);
    assert_eq!(found.to_string(), path);
}

fn other(path: &str, expected: &[&str]) {
    assert_eq!(
        Target::parse(path).unwrap(),
        Target::Other(expected.iter().map(ToString::to_string).collect())
    );
}

fn refused(path: &str, code: u16) {
    assert_eq!(Target::parse(path).unwrap_err().code, code, "{path}");
}

#[test]
fn resources() {
    check("/api/v1/pods", "- v1 - pods - -");
    check("/api/v1/namespaces/a/pods", "- v1 a pods - -");
    check("/api/v1/namespaces/a/pods/b", "- v1 a pods b -");
    check("/api/v1/namespaces/a/pods/b/log", "- v1 a pods b log");
    check("/api/v1/namespaces/a/pods/b/proxy/c/d", "- v1 a pods b proxy c d");
    check("/api/v1/nodes/n/status", "- v1 - nodes n status");
    check("/apis/apps/v1/deployments", "apps v1 - deployments - -");
    check("/apis/apps/v1/namespaces/a/deployments/b/scale", "apps v1 a deployments b scale");
    check("/apis/example.com/v1/namespaces/a/widgets/w:x", "example.com v1 a widgets w:x -");
}

#[test]
fn namespaces_are_objects_too() {
    check("/api/v1/namespaces", "- v1 - namespaces - -");
    check("/api/v1/namespaces/a", "- v1 - namespaces a -");
    check("/api/v1/namespaces/a/status", "- v1 - namespaces a status");
    check("/api/v1/namespaces/a/finalize", "- v1 - namespaces a finalize");
    check("/api/v1/namespaces/status/pods", "- v1 status pods - -");
    check("/api/v1/namespaces/a/namespaces/b", "- v1 a namespaces b -");
    let of = |path: &str| match Target::parse(path).unwrap() {
        Target::Resource(resource) => resource.authorized_in().map(str::to_owned),
        Target::Other(_) | Target::Nothing => None,
    };
    assert_eq!(of("/api/v1/namespaces/a").as_deref(), Some("a"));
    assert_eq!(of("/api/v1/namespaces/a/pods").as_deref(), Some("a"));
    assert_eq!(of("/api/v1/namespaces"), None);
    assert_eq!(of("/api/v1/nodes/a"), None);
}

#[test]
fn interests() {
    let interest = |path: &str, plain: &str, id: &str| {
        let Target::Resource(plain) = Target::parse(plain).unwrap() else { panic!("{plain} is no resource") };
        let target = Target::Resource(Resource { interest: Some(id.into()), ..plain });
        assert_eq!(target.to_string(), path);
        assert_eq!(Target::parse(path), Ok(target));
    };
    let id = "node-7-0123456789";
    interest(&format!("/api/v1/pods/interests/{id}"), "/api/v1/pods", id);
    interest(&format!("/api/v1/namespaces/a/pods/interests/{id}"), "/api/v1/namespaces/a/pods", id);
    interest(&format!("/apis/apps/v1/deployments/interests/{id}"), "/apis/apps/v1/deployments", id);
    interest(&format!("/api/v1/namespaces/interests/{id}"), "/api/v1/namespaces", id);
    check("/api/v1/namespaces/interests/replicationcontrollers", "- v1 interests replicationcontrollers - -");
    check("/api/v1/namespaces/interests/pods/interests/status", "- v1 interests pods interests status");
    check(
        "/apis/x.org/v1/namespaces/interests/things4567890123456",
        "x.org v1 interests things4567890123456 - -",
    );
    for id in ["a-23456789-12345", &"1".repeat(64)] {
        assert!(super::is_interest(id), "{id}");
    }
    for id in [
        "",
        "a-2345678901234",
        &"1".repeat(65),
        "no-digits-in-this-id",
        "Node-7-0123456789",
        "node_7_0123456789",
    ] {
        assert!(!super::is_interest(id), "{id}");
        check(
            &format!("/api/v1/pods/interests/{}", if id.is_empty() { "x" } else { id }),
            &format!("- v1 - pods interests {}", if id.is_empty() { "x" } else { id }),
        );
    }
}

#[test]
fn other_paths() {
    other("/", &[]);
    other("/healthz", &["healthz"]);
    other("/readyz/etcd", &["readyz", "etcd"]);
    other("/api", &["api"]);
    other("/api/", &["api"]);
    other("/api/v1", &["api", "v1"]);
    other("/api/v1/", &["api", "v1"]);
    other("/apis", &["apis"]);
    other("/apis/apps", &["apis", "apps"]);
    other("/apis/apps/v1/", &["apis", "apps", "v1"]);
    other("/openapi/v3/apis/apps/v1", &["openapi", "v3", "apis", "apps", "v1"]);
    other("/version/", &["version"]);
}

fn nothing(path: &str) {
    assert_eq!(Target::parse(path), Ok(Target::Nothing), "{path}");
}

#[test]
fn the_legacy_watch_prefix() {
    let watched = |path: &str, plain: &str| {
        let Target::Resource(plain) = Target::parse(plain).unwrap() else { panic!("{plain} is no resource") };
        let target = Target::Resource(Resource { watched: true, ..plain });
        assert_eq!(target.to_string(), path);
        assert_eq!(Target::parse(path), Ok(target));
    };
    watched("/api/v1/watch/pods", "/api/v1/pods");
    watched("/apis/apps/v1/watch/namespaces/a/deployments", "/apis/apps/v1/namespaces/a/deployments");
    watched("/apis/apps/v1/watch/namespaces/a/deployments/b", "/apis/apps/v1/namespaces/a/deployments/b");
    check("/api/v1/watch", "- v1 - watch - -");
}

#[test]
fn a_slash_at_the_end_means_nothing() {
    let same = |path: &str| assert_eq!(Target::parse(&format!("{path}/")), Target::parse(path));
    same("/api/v1/pods");
    same("/api/v1/namespaces/a/pods/b");
    same("/version");
    nothing("/api/v1/pods//");
}

#[test]
fn paths_are_decoded_once() {
    let decoded = Target::parse("/api/v1/namespaces/a%2Db/config%6daps/x%20y").unwrap();
    let again = "/api/v1/namespaces/a-b/configmaps/x%20y";
    assert_eq!(decoded, Target::parse(again).unwrap());
    assert_eq!(decoded.to_string(), again);
    refused("/api/v1/pods/%252e%252e", 400);
}

#[test]
fn ambiguous_paths_are_refused() {
    refused("", 400);
    refused("*", 400);
    refused("api/v1", 400);
    refused("http://host/api/v1", 400);
    nothing("//");
    nothing("//api/v1/pods");
    nothing("/api//v1/pods");
    nothing("/api/v1//pods");
    nothing("/api/v1/namespaces//pods");
    nothing("/api/v1/../v1/pods");
    nothing("/api/v1/./pods");
    nothing("/api/v1/pods/../..");
    nothing("/api/v1/namespaces/%2e/pods");
    refused("/api/v1/pods/..", 400);
    refused("/api/v1/pods/%2e%2E", 400);
    refused("/api/v1/pods/./status", 400);
    refused("/api/v1/namespaces/a%2Fb/pods", 400);
    refused("/api/v1/pods/a%2fstatus", 400);
    refused("/api/v1/pods/a%5cb", 400);
    refused("/api/v1/pods/a%00", 400);
    refused("/api/v1/pods/a%0d%0a", 400);
    refused("/api/v1/pods/a%", 400);
    refused("/api/v1/pods/a%4", 400);
    refused("/api/v1/pods/a%zz", 400);
    refused("/api/v1/pods/a%+1", 400);
    refused("/api/v1/pods/%ff", 400);
    refused(&format!("/api/v1/pods/{}", "a".repeat(9000)), 400);
}

fn part() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec!["namespaces", "status", "watch"]).prop_map(str::to_owned);
    prop_oneof!["[a-z0-9.-]{1,12}", "\\PC{1,8}", known]
        .prop_map(|part| part.replace(['/', '%', '\\'], "x"))
        .prop_filter("names something", |part| part != "." && part != "..")
}

fn resources_of() -> impl Strategy<Value = Resource> {
    let below = prop_oneof![
        Just((None, None, Vec::new())),
        part().prop_map(|name| (Some(name), None, Vec::new())),
        (part(), part(), prop::collection::vec(part(), 0..3)).prop_map(|(name, subresource, rest)| (
            Some(name),
            Some(subresource),
            rest
        )),
    ];
    let group = (prop_oneof![Just(String::new()), part()], any::<bool>());
    (group, part(), prop::option::of(part()), part(), below).prop_map(
        |((group, watched), version, namespace, plural, (name, subresource, rest))| Resource {
            group,
            version,
            watched,
            namespace,
            plural,
            name,
            subresource,
            interest: None,
            rest,
        },
    )
}

proptest! {
    #[test]
    fn written_paths_parse_to_the_same(resource in resources_of()) {
        let mut resource = resource;
        // Segments below a Namespace that are no subresource are in it; and no kind has the name of
        // such a subresource.
        match &resource.namespace {
            None if resource.plural == "namespaces" => {
                resource.subresource = resource.subresource.map(|_| "finalize".into());
            }
            Some(_) if resource.plural == "status" => resource.plural = "statuses".into(),
            // A collection called `watch` can only be read as the legacy watch prefix.
            None if resource.plural == "watch" => resource.watched = true,
            _ => {}
        }
        let target = Target::Resource(resource);
        prop_assert_eq!(Target::parse(&target.to_string()), Ok(target));
    }

    #[test]
    fn parsed_paths_are_canonical(path in "/?(%[0-9a-f]{2}|[a-z.%/]|\\PC){0,20}|/apis?(/[a-z.%0-9]{0,4}){0,7}") {
        if let Ok(target) = Target::parse(&path) {
            prop_assert_eq!(Target::parse(&target.to_string()), Ok(target.clone()));
            let parts = match target {
                Target::Resource(resource) => [vec![resource.group, resource.version, resource.plural], resource.rest,
                    [resource.namespace, resource.name, resource.subresource].into_iter().flatten().collect()].concat(),
                Target::Other(parts) => parts,
                Target::Nothing => Vec::new(),
            };
            for part in parts {
                prop_assert!(!part.contains(['/', '%', '\0']) && part != "." && part != "..");
            }
        }
    }
}
