use serde_json::{Value, json};

use super::super::{RbacPolicy, RequestAttributes, RequestTarget, defaults};
use super::{asked, binding, cluster_binding, cluster_role, role, user};
use crate::auth::identity::Identity;

fn check(objects: &[Value], identity: &Identity, request: &str, expected: bool) {
    let decision = RbacPolicy::compile(objects).allows(identity, &asked(request));
    assert_eq!(decision.allowed, expected, "{request}: {}", decision.reason());
}

fn check_path(objects: &[Value], identity: &Identity, path: &str, expected: bool) {
    let attributes = RequestAttributes { verb: "get", on: RequestTarget::Path(path) };
    assert_eq!(RbacPolicy::compile(objects).allows(identity, &attributes).allowed, expected, "{path}");
}

#[test]
fn only_permissions_of_a_rule_are_allowed() {
    let bound =
        |rules: &[&str]| [cluster_role("r", rules), cluster_binding("b", "ClusterRole/r", &["User/ann"])];
    let ann = user("ann");
    let pods = bound(&["get,list - pods"]);
    check(&pods, &ann, "get - pods a/x", true);
    check(&pods, &ann, "list - pods", true);
    check(&pods, &ann, "watch - pods", false);
    check(&pods, &ann, "get - pods/log a/x", false);
    check(&pods, &ann, "get apps pods a/x", false);
    check(&pods, &user("bob"), "get - pods a/x", false);
    let status = bound(&["update - pods/status", "get - */status", "* apps *"]);
    check(&status, &ann, "update - pods/status a/x", true);
    check(&status, &ann, "update - pods a/x", false);
    check(&status, &ann, "get - nodes/status -/n", true);
    check(&status, &ann, "get - nodes -/n", false);
    check(&status, &ann, "get - nodes/scale -/n", false);
    check(&status, &ann, "deletecollection apps deployments a", true);
    check(&status, &ann, "update apps deployments/status a/x", true);
    let named = bound(&["get,list,create,deletecollection - secrets x,y"]);
    check(&named, &ann, "get - secrets a/x", true);
    check(&named, &ann, "get - secrets a/z", false);
    check(&named, &ann, "list - secrets a", false);
    check(&named, &ann, "list - secrets a/x", true);
    check(&named, &ann, "create - secrets a", false);
    check(&named, &ann, "deletecollection - secrets a", false);
}

#[test]
fn paths_are_allowed_by_name_or_prefix() {
    let rules = &["get /healthz,/api/*,/x**"];
    let objects =
        [cluster_role("r", rules), cluster_binding("b", "ClusterRole/r", &["Group/system:authenticated"])];
    let ann = user("ann");
    for (path, expected) in [
        ("/healthz", true),
        ("/healthz/", false),
        ("/api/v1", true),
        ("/api", false),
        ("/xyz", true),
        ("/", false),
    ] {
        check_path(&objects, &ann, path, expected);
        check_path(&objects, &Identity::anonymous(), path, false);
    }
}

#[test]
fn a_binding_in_a_namespace_is_for_that_namespace() {
    let objects = [
        role("a", "r", &["get - pods"]),
        cluster_role("c", &["list - pods", "get /x"]),
        binding("a", "b1", "Role/r", &["User/ann", "ServiceAccount/robot"]),
        binding("b", "b2", "Role/r", &["User/ann"]),
        binding("b", "b3", "ClusterRole/c", &["ServiceAccount/a/robot"]),
        cluster_binding("b4", "ClusterRole/c", &["ServiceAccount/robot"]),
        cluster_binding("b5", "Role/c", &["User/eve"]),
    ];
    let (ann, robot) = (user("ann"), Identity::service_account("a", "robot"));
    check(&objects, &ann, "get - pods a/x", true);
    check(&objects, &ann, "get - pods b/x", false);
    check(&objects, &ann, "get - pods", false);
    check(&objects, &robot, "get - pods a/x", true);
    check(&objects, &robot, "list - pods b", true);
    check(&objects, &robot, "list - pods", false);
    check(&objects, &Identity::service_account("b", "robot"), "get - pods a/x", false);
    check(&objects, &user("eve"), "list - pods", false);
    check_path(&objects, &robot, "/x", false);
}

#[test]
fn an_aggregated_role_has_the_rules_of_those_it_selects() {
    let labelled = |mut role: Value, key: &str| {
        role["metadata"]["labels"] = json!({key: "true"});
        role
    };
    let gathering = |name, selector: Value| {
        let mut role = cluster_role(name, &["get own rule"]);
        role["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
        role
    };
    let objects = [
        labelled(cluster_role("plain", &["get - pods"]), "to-middle"),
        labelled(gathering("middle", json!({"matchLabels": {"to-middle": "true"}})), "to-top"),
        gathering("top", json!({"matchExpressions": [{"key": "to-top", "operator": "Exists"}]})),
        labelled(gathering("ring", json!({"matchLabels": {"ring": "true"}})), "ring"),
        gathering("broken", json!({"matchExpressions": [{"key": "to-top", "operator": "Like"}]})),
        gathering("typed", json!({"matchLabels": "everything"})),
        cluster_binding("b1", "ClusterRole/top", &["User/ann"]),
        cluster_binding("b2", "ClusterRole/broken", &["User/bob"]),
        cluster_binding("b3", "ClusterRole/typed", &["User/bob"]),
        cluster_binding("b4", "ClusterRole/ring", &["User/bob"]),
    ];
    check(&objects, &user("ann"), "get - pods a/x", true);
    check(&objects, &user("ann"), "get own rule a/x", false);
    check(&objects, &user("bob"), "get - pods a/x", false);
    let rules = RbacPolicy::compile(&objects);
    assert_eq!(rules.of_cluster_role("top"), Some(json!([super::rule("get - pods")])));
    assert_eq!(rules.of_cluster_role("ring"), Some(json!([])));
    assert_eq!(rules.of_cluster_role("none"), None);
}

#[test]
fn reasons_are_those_of_kubernetes() {
    let objects = [
        cluster_role("c", &["get - pods"]),
        role("a", "r", &["list - pods"]),
        cluster_binding("b1", "ClusterRole/c", &["User/bob", "Group/system:authenticated", "User/ann"]),
        binding("a", "b2", "Role/r", &["ServiceAccount/robot"]),
        binding("a", "b3", "Role/gone", &["User/ann"]),
        cluster_binding("b4", "ClusterRole/gone", &["User/ann", "User/eve"]),
        cluster_binding("b5", "Thing/gone", &["User/ann"]),
        cluster_binding("b6", "Role/r", &["User/cat"]),
    ];
    let rules = RbacPolicy::compile(&objects);
    let check = |identity: &Identity, request: &str, allowed: bool, expected: &str| {
        let decision = rules.allows(identity, &asked(request));
        assert_eq!((decision.allowed, decision.reason().as_str()), (allowed, expected));
    };
    let ann = user("ann");
    let by =
        "RBAC: allowed by ClusterRoleBinding \"b1\" of ClusterRole \"c\" to Group \"system:authenticated\"";
    check(&ann, "get - pods a/x", true, by);
    let by = "RBAC: allowed by RoleBinding \"b2/a\" of Role \"r\" to ServiceAccount \"robot/a\"";
    check(&Identity::service_account("a", "robot"), "list - pods a", true, by);
    check(&Identity::admin(), "list - pods a", true, "");
    check(&user("dan"), "list - pods a", false, "");
    let gone = "clusterrole.rbac.authorization.k8s.io \"gone\" not found";
    check(&user("eve"), "list - pods a", false, &format!("RBAC: {gone}"));
    check(&user("cat"), "list - pods a", false, "RBAC: role.rbac.authorization.k8s.io \"r\" not found");
    let kind = "unsupported role reference kind: \"Thing\"";
    let role = "role.rbac.authorization.k8s.io \"gone\" not found";
    check(&ann, "list - pods a", false, &format!("RBAC: [{gone}, {kind}, {role}]"));
}

#[test]
fn malformed_rules_allow_nothing() {
    let ann = user("ann");
    for (field, value) in [
        ("verbs", json!("*")),
        ("verbs", json!([1])),
        ("apiGroups", json!({"*": "*"})),
        ("resources", json!(null)),
        ("resourceNames", json!("x")),
        ("resourceNames", json!([null])),
    ] {
        let mut role = cluster_role("r", &["* * *"]);
        role["rules"][0][field] = value;
        let objects = [role, cluster_binding("b", "ClusterRole/r", &["User/ann"])];
        check(&objects, &ann, "get - pods a/x", false);
    }
    let objects = [
        json!(null),
        cluster_role("all", &["* * *"]),
        json!({"kind": "Role", "metadata": {"name": "r"}, "rules": [super::rule("* * *")]}),
        // Without a namespace the role would apply to all of them.
        binding("", "b1", "ClusterRole/all", &["User/ann"]),
        binding("", "b2", "Role/r", &["User/ann"]),
        cluster_binding("b3", "Role/all", &["User/ann"]),
        json!({"kind": "ClusterRole", "metadata": 7, "rules": "all", "aggregationRule": 7}),
        json!({"kind": "ClusterRoleBinding", "roleRef": "r", "subjects": ["ann", {"kind": "User"}]}),
    ];
    check(&objects, &ann, "get - pods a/x", false);
    check(&objects, &user(""), "get - pods a/x", false);
}

#[test]
fn a_rules_review_lists_the_rules_of_a_user() {
    let both = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "nonResourceURLs": ["/x"]});
    let mut c = cluster_role("c", &[]);
    c["rules"] = json!([both]);
    let objects = [
        c,
        role("a", "r", &["list - pods x"]),
        // Two subjects of a binding match her; its rules appear once.
        cluster_binding("b1", "ClusterRole/c", &["User/ann", "Group/system:authenticated"]),
        cluster_binding("b2", "ClusterRole/gone", &["User/ann"]),
        binding("a", "b3", "Role/r", &["User/ann"]),
    ];
    let rules = RbacPolicy::compile(&objects);
    let expected = json!({
        "resourceRules": [super::rule("get - pods"), super::rule("list - pods x")],
        "nonResourceRules": [super::rule("get /x")],
        "incomplete": false,
        "evaluationError": "clusterrole.rbac.authorization.k8s.io \"gone\" not found",
    });
    assert_eq!(rules.rules_for(&user("ann"), "a"), expected);
    let nothing = json!({"resourceRules": [], "nonResourceRules": [], "incomplete": false});
    assert_eq!(rules.rules_for(&Identity::anonymous(), "a"), nothing);
    assert_eq!(rules.rules_for(&Identity::admin(), "a")["resourceRules"][0], super::rule("* * *"));
}

#[test]
fn default_roles_are_aggregated_into_each_other() {
    let mut objects = defaults();
    for name in ["admin", "edit", "view"] {
        objects.push(binding("a", name, &format!("ClusterRole/{name}"), &[&format!("User/{name}")]));
    }
    let requests = [
        ("get - configmaps a/x", [true, true, true]),
        ("watch apps deployments/status a/x", [true, true, true]),
        ("patch - configmaps a/x", [true, true, false]),
        ("get - secrets a/x", [true, true, false]),
        ("patch apps deployments/status a/x", [false, false, false]),
        ("create rbac.authorization.k8s.io roles a", [true, false, false]),
        ("escalate rbac.authorization.k8s.io roles a/x", [false, false, false]),
        ("bind rbac.authorization.k8s.io roles a/x", [false, false, false]),
        ("get - configmaps b/x", [false, false, false]),
        ("get example.com widgets a/x", [false, false, false]),
        ("create authorization.k8s.io selfsubjectaccessreviews", [true, true, true]),
    ];
    for (request, expected) in requests {
        for (name, expected) in ["admin", "edit", "view"].into_iter().zip(expected) {
            check(&objects, &user(name), request, expected);
        }
    }
    check_path(&objects, &user("x"), "/apis/apps/v1", true);
    check_path(&objects, &Identity::anonymous(), "/apis/apps/v1", false);
    check_path(&objects, &Identity::anonymous(), "/healthz", true);
    check_path(&objects, &user("x"), "/metrics", false);
}

#[test]
fn no_default_role_is_named_twice_or_missing() {
    let objects = defaults();
    let names: std::collections::BTreeSet<_> =
        objects.iter().map(|it| (it["kind"].to_string(), it["metadata"]["name"].to_string())).collect();
    assert_eq!(names.len(), objects.len());
    for binding in objects.iter().filter(|it| it["kind"] == "ClusterRoleBinding") {
        let role = ("\"ClusterRole\"".to_owned(), binding["roleRef"]["name"].to_string());
        assert!(names.contains(&role), "{role:?}");
    }
}
