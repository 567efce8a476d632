use serde_json::{Value, json};

use super::super::RbacPolicy;
use super::{binding, cluster_binding, cluster_role, role, user};
use crate::auth::identity::Identity;

/// Checks whether ann may write `object` with the permissions `rules` in the cluster and `local` in
/// namespace `a`.
fn check(rules: &[&str], local: &[&str], object: &Value, old: Option<&Value>, expected: Result<(), &str>) {
    let mut objects = vec![
        cluster_role("held", rules),
        cluster_binding("held", "ClusterRole/held", &["User/ann"]),
        role("a", "held", local),
        binding("a", "held", "Role/held", &["User/ann"]),
        cluster_role("pods", &["get,list - pods"]),
        role("a", "pods", &["get - pods"]),
    ];
    objects.extend(old.cloned());
    let answer = RbacPolicy::compile(&objects).may_grant(&user("ann"), object, old);
    assert_eq!(answer.map_err(|refusal| refusal.message), expected.map_err(str::to_owned), "{object}");
}

const HEAD: &str = "user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
                    currently held:\n";

fn refused(of: &str, missing: &str) -> String {
    format!("{of} is forbidden: {HEAD}{missing}")
}

#[test]
fn a_role_may_grant_permissions_of_its_author() {
    let new = |rules: &[&str]| cluster_role("new", rules);
    let clusterrole = "clusterroles.rbac.authorization.k8s.io \"new\"";
    let pods = &["get,list - pods"][..];
    check(pods, &[], &new(&[]), None, Ok(()));
    check(pods, &[], &new(&["list - pods", "get - pods x,y"]), None, Ok(()));
    check(&["get - pods", "list - pods"], &[], &new(pods), None, Ok(()));
    check(&["get,list * *"], &[], &new(pods), None, Ok(()));
    check(&["get - */status"], &[], &new(&["get - pods/status"]), None, Ok(()));
    check(&["get /api/*"], &[], &new(&["get /api/*,/api/v1"]), None, Ok(()));
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\" \"create\"]}";
    check(pods, &[], &new(&["get,watch,create - pods"]), None, Err(&refused(clusterrole, missing)));
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}";
    check(&["get - pods x"], &[], &new(&["get - pods"]), None, Err(&refused(clusterrole, missing)));
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"y\"], Verbs:[\"get\"]}";
    check(&["get - pods x"], &[], &new(&["get - pods x,y"]), None, Err(&refused(clusterrole, missing)));
    let missing =
        "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"get\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"get\"]}";
    check(
        &["get - *", "get /*"],
        &[],
        &new(&["get * *", "get *"]),
        None,
        Err(&refused(clusterrole, missing)),
    );
    // Permissions in one namespace cannot be granted in all of them.
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}";
    check(&[], &["get - pods"], &new(&["get - pods"]), None, Err(&refused(clusterrole, missing)));
    check(&[], &["get - pods"], &role("a", "new", &["get - pods"]), None, Ok(()));
    let of_b = refused("roles.rbac.authorization.k8s.io \"new\"", missing);
    check(&[], &["get - pods"], &role("b", "new", &["get - pods"]), None, Err(&of_b));
    // The namespace of a ClusterRole's metadata is ignored.
    let mut sly = new(&["get - pods"]);
    sly["metadata"]["namespace"] = "a".into();
    check(&[], &["get - pods"], &sly, None, Err(&refused(clusterrole, missing)));
}

#[test]
fn the_verb_escalate_allows_any_role() {
    let all = role("a", "new", &["* * *"]);
    let escalate = |names: &str| format!("escalate rbac.authorization.k8s.io roles{names}");
    check(&[&escalate("")], &[], &all, None, Ok(()));
    check(&[], &[&escalate("")], &all, None, Ok(()));
    check(&[], &[&escalate(" new")], &all, Some(&role("a", "new", &[])), Ok(()));
    let missing = "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}";
    let refusal = refused("roles.rbac.authorization.k8s.io \"new\"", missing);
    check(&[], &[&escalate(" new")], &all, None, Err(&refusal));
    check(&[], &[&escalate(" other")], &all, Some(&role("a", "new", &[])), Err(&refusal));
    assert_eq!(RbacPolicy::default().may_grant(&Identity::admin(), &all, None), Ok(()));
}

#[test]
fn binding_requires_the_permissions_or_the_verb_bind() {
    let of_cluster = |to| cluster_binding("new", to, &["User/eve"]);
    let of_a = |to| binding("a", "new", to, &["User/eve"]);
    check(&["* - pods"], &[], &of_cluster("ClusterRole/pods"), None, Ok(()));
    check(&[], &["get,list - pods"], &of_a("ClusterRole/pods"), None, Ok(()));
    check(&[], &["get - pods"], &of_a("Role/pods"), None, Ok(()));
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}";
    let refusal = refused("rolebindings.rbac.authorization.k8s.io \"new\"", missing);
    check(&[], &["get - pods"], &of_a("ClusterRole/pods"), None, Err(&refusal));
    check(
        &["bind rbac.authorization.k8s.io clusterroles pods"],
        &[],
        &of_cluster("ClusterRole/pods"),
        None,
        Ok(()),
    );
    check(
        &[],
        &["bind rbac.authorization.k8s.io clusterroles pods"],
        &of_a("ClusterRole/pods"),
        None,
        Ok(()),
    );
    let missing = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}";
    let refusal = refused("clusterrolebindings.rbac.authorization.k8s.io \"new\"", missing);
    let bind = &["bind rbac.authorization.k8s.io clusterroles pods"];
    check(&[], bind, &of_cluster("ClusterRole/pods"), None, Err(&refusal));
    let gone = "clusterrole.rbac.authorization.k8s.io \"gone\" not found";
    check(&["* - pods"], &[], &of_cluster("ClusterRole/gone"), None, Err(gone));
    check(&["* * *"], &[], &of_cluster("Role/pods"), None, Ok(()));
    check(
        &["* - *"],
        &[],
        &of_cluster("Role/pods"),
        None,
        Err("role.rbac.authorization.k8s.io \"pods\" not found"),
    );
    let kind = "unsupported role reference kind: \"Pod\"";
    check(&["* * *"], &[], &of_cluster("Pod/pods"), None, Err(kind));
}

#[test]
fn an_aggregated_role_requires_all_permissions() {
    let mut gathering = cluster_role("new", &[]);
    gathering["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]});
    let plain = cluster_role("new", &[]);
    let refusal = "clusterroles.rbac.authorization.k8s.io \"new\" is forbidden: must have cluster-admin privileges to \
                   use an aggregationRule";
    check(&["* - *"], &[], &gathering, None, Err(refusal));
    check(&["get,list,watch * *"], &[], &gathering, None, Err(refusal));
    check(&["* * *"], &[], &gathering, None, Ok(()));
    check(&["escalate rbac.authorization.k8s.io clusterroles"], &[], &gathering, None, Ok(()));
    check(&["* - *"], &[], &plain, Some(&gathering), Err(refusal));
}

#[test]
fn changes_of_owners_and_finalizers_need_no_permissions() {
    let old = cluster_role("new", &["* * *"]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    new["metadata"]["resourceVersion"] = "7".into();
    check(&[], &[], &new, Some(&old), Ok(()));
    new["metadata"]["labels"] = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    let missing = "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}";
    let refusal = refused("clusterroles.rbac.authorization.k8s.io \"new\"", missing);
    check(&[], &[], &new, Some(&old), Err(&refusal));
}

/// A role is a product of four lists, so 3 MB can express 10^18 permissions. Without a limit this
/// test would not end.
#[test]
fn a_role_with_too_many_combinations_is_refused() {
    let many = |prefix: &str| (0..50_000).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>();
    let mut bomb = role("a", "new", &[]);
    bomb["rules"] = json!([{"verbs": many("v"), "apiGroups": many("g"), "resources": many("r"), "resourceNames": many("n")}]);
    let held = vec!["get,list,watch,create - pods,services,secrets"; 20];
    let objects = [cluster_role("held", &held), cluster_binding("held", "ClusterRole/held", &["User/ann"])];
    let rules = RbacPolicy::compile(&objects);
    let refusal = rules.may_grant(&user("ann"), &bomb, None).expect_err("she has none of it");
    assert!(
        refusal.message.ends_with("{and more than can be compared one by one}"),
        "{}",
        refusal.message.len()
    );
    assert!(refusal.message.len() < 1 << 20);
    // A role beyond the limits may still be covered by one rule as a whole.
    let mut wide = role("a", "new", &[]);
    wide["rules"] =
        json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": many("n")}]);
    assert_eq!(rules.may_grant(&user("ann"), &wide, None), Ok(()));
}
