//! Random policies and requests, decided by RBAC and by the naive implementation.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::super::{GROUP, RbacPolicy, RequestAttributes, RequestTarget, ResourceAttributes};
use super::oracle::{OracleRequest, allowed};
use crate::auth::identity::Identity;

const VERBS: &[&str] = &["get", "list", "watch", "*"];
const API_GROUPS: &[&str] = &["", "apps", "*"];
const RESOURCES: &[&str] =
    &["pods", "nodes", "status", "pods/status", "*/status", "pods/", "pods/*", "*/", "*"];
const NAMES: &[&str] = &["x", "y", "*"];
const PATHS: &[&str] = &["/api", "/api/", "/api/*", "/a*", "/*", "*", "/healthz", "/**"];
const LABELS: &[&str] = &["k", "l"];

/// The attributes of random requests, which the rules above may or may not allow.
const ASKED: [&[&str]; 6] = [
    &["get", "list", "patch"],
    &["", "apps", "batch"],
    &["pods", "nodes", "pods/status"],
    &["", "status", "*"],
    &["", "a", "b"],
    &["", "x", "z", "*"],
];
const ASKED_PATHS: &[&str] = &["/api", "/api/", "/api/v1", "/healthz", "/healthz/x", "/", "/apis", "*"];

fn rule() -> impl Strategy<Value = Value> {
    let some = |of: &'static [&'static str], most| subsequence(of, 0..=most);
    let lists = (some(VERBS, 4), some(API_GROUPS, 3), some(RESOURCES, 6), some(NAMES, 2), some(PATHS, 3));
    (lists, any::<[bool; 2]>()).prop_map(|((verbs, groups, resources, names, paths), [named, for_paths])| {
        let mut rule = json!({"verbs": verbs, "apiGroups": groups, "resources": resources});
        if named {
            rule["resourceNames"] = json!(names);
        }
        if for_paths {
            rule["nonResourceURLs"] = json!(paths);
        }
        rule
    })
}

fn role() -> impl Strategy<Value = Value> {
    let place = (select(vec!["Role", "ClusterRole"]), select(vec!["a", "b"]), select(vec!["r", "s"]));
    let labels = subsequence(LABELS, 0..=2);
    let selectors = prop::option::weighted(0.2, vec(subsequence(LABELS, 0..=1), 0..3));
    (place, vec(rule(), 2..7), labels, selectors).prop_map(
        |((kind, namespace, name), rules, labels, selectors)| {
            let set =
                |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), "v")).collect::<BTreeMap<_, _>>();
            let metadata = json!({"name": name, "labels": set(&labels)});
            let mut role = json!({"kind": kind, "metadata": metadata, "rules": rules});
            match (kind, selectors) {
                ("Role", _) => role["metadata"]["namespace"] = namespace.into(),
                (_, Some(selectors)) => {
                    let selectors = selectors.iter().map(|keys| json!({"matchLabels": set(keys)}));
                    role["aggregationRule"] = json!({"clusterRoleSelectors": selectors.collect::<Vec<_>>()});
                }
                _ => {}
            }
            role
        },
    )
}

fn binding() -> impl Strategy<Value = Value> {
    let subject = select(vec![
        json!({"kind": "User", "name": "ann"}),
        json!({"kind": "User", "name": "system:serviceaccount:a:ann"}),
        json!({"kind": "Group", "name": "dev"}),
        json!({"kind": "Group", "name": "ann"}),
        json!({"kind": "ServiceAccount", "name": "ann"}),
        json!({"kind": "ServiceAccount", "name": "ann", "namespace": "b"}),
        json!({"kind": "Thing", "name": "ann"}),
    ]);
    let to = (select(vec!["Role", "ClusterRole", "ClusterRole"]), select(vec!["r", "s", "s", "gone"]));
    (prop::option::of(select(vec!["a", "b"])), 0..9_u8, to, vec(subject, 0..5)).prop_map(
        |(namespace, number, (kind, role), subjects)| {
            let metadata = json!({"name": format!("b{number}")});
            let to = json!({"kind": kind, "name": role});
            let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
            let mut binding =
                json!({"kind": kind, "metadata": metadata, "roleRef": to, "subjects": subjects});
            if let Some(namespace) = namespace {
                binding["metadata"]["namespace"] = namespace.into();
            }
            binding
        },
    )
}

/// Objects with unique names.
fn policy() -> impl Strategy<Value = Vec<Value>> {
    (vec(role(), 3..7), vec(binding(), 4..12)).prop_map(|(roles, bindings)| {
        let name = |it: &Value| {
            [&it["kind"], &it["metadata"]["namespace"], &it["metadata"]["name"]].map(Value::to_string)
        };
        let objects = roles.into_iter().chain(bindings).map(|object| (name(&object), object));
        objects.collect::<BTreeMap<_, _>>().into_values().collect()
    })
}

fn question() -> impl Strategy<Value = OracleRequest> {
    let [verb, group, resource, subresource, namespace, name] = ASKED.map(select);
    let resource = (group, resource, subresource, namespace, name);
    let resource = resource.prop_map(|(a, b, c, d, e)| Ok::<_, String>([a, b, c, d, e].map(str::to_owned)));
    let path = select(ASKED_PATHS).prop_map(|it| Err::<[String; 5], _>(it.to_owned()));
    let on = prop_oneof![2 => resource, 1 => path];
    (asker(), verb, on).prop_map(|((user, groups), verb, on)| OracleRequest {
        user,
        groups,
        verb: verb.into(),
        on,
    })
}

fn asker() -> impl Strategy<Value = (String, Vec<String>)> {
    let user =
        select(vec!["ann", "ann", "bob", "system:serviceaccount:a:ann", "system:serviceaccount:b:ann"]);
    (user, subsequence(vec!["dev", "ops", "ann"], 0..=2), prop::bool::weighted(0.02)).prop_map(
        |(user, groups, master)| {
            let groups = groups.into_iter().chain(master.then_some("system:masters"));
            (user.to_owned(), groups.map(str::to_owned).collect())
        },
    )
}

fn decided(rules: &RbacPolicy, question: &OracleRequest) -> bool {
    let on = match &question.on {
        Ok([group, resource, subresource, namespace, name]) => {
            RequestTarget::Resource(ResourceAttributes { group, resource, subresource, namespace, name })
        }
        Err(path) => RequestTarget::Path(path),
    };
    let identity = identity(&question.user, &question.groups);
    rules.allows(&identity, &RequestAttributes { verb: &question.verb, on }).allowed
}

fn identity(user: &str, groups: &[String]) -> Identity {
    let mut identity = Identity::new(user);
    identity.groups = groups.to_vec();
    identity
}

/// Number of cases; the environment variable `RBAC_CASES` overrides it. A case is a policy with ten
/// requests.
fn cases() -> u32 {
    std::env::var("RBAC_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn decisions_equal_those_of_naive_rules(policy in policy(), questions in vec(question(), 10)) {
        let rules = RbacPolicy::compile(&policy);
        for question in &questions {
            prop_assert_eq!(decided(&rules, question), allowed(&policy, question), "{:?}", question);
        }
    }
}

/// Checks that the random requests cover both results.
#[test]
fn random_requests_are_both_allowed_and_denied() {
    let mut runner = TestRunner::deterministic();
    let mut draw = || (policy(), question()).new_tree(&mut runner).expect("a policy").current();
    let allowed = (0..2_000).map(|_| draw()).filter(|(policy, question)| allowed(policy, question)).count();
    assert!((300..1_700).contains(&allowed), "{allowed} of 2000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 2))]

    /// A user with only the granted role is denied every request that the granter is denied.
    #[test]
    fn granted_roles_never_escalate_privileges(policy in policy(), given in given(), (user, groups) in asker()) {
        let rules = RbacPolicy::compile(&policy);
        if rules.may_grant(&identity(&user, &groups), &given, None).is_err() || may_escalate(&rules, &user, &groups, &given) {
            return Ok(());
        }
        let namespace = &given["metadata"]["namespace"];
        let kind = if namespace.is_null() { "ClusterRoleBinding" } else { "RoleBinding" };
        let binding = json!({
            "kind": kind, "metadata": {"name": "new", "namespace": namespace},
            "roleRef": {"kind": given["kind"], "name": "given"}, "subjects": [{"kind": "User", "name": "new"}],
        });
        let new = RbacPolicy::compile([&given, &binding]);
        for question in all_questions() {
            let of = |user: &str, groups: &[String]| {
                OracleRequest { user: user.into(), groups: groups.to_vec(), ..question.clone() }
            };
            if decided(&new, &of("new", &[])) {
                prop_assert!(decided(&rules, &of(&user, &groups)), "{:?}", question);
            }
        }
    }
}

/// A role of one rule, mostly a narrow one, since broad ones are hardly ever held.
fn given() -> impl Strategy<Value = Value> {
    (role(), 0..=2_usize, any::<[prop::sample::Index; 3]>()).prop_map(|(mut role, keep, picks)| {
        role["metadata"]["name"] = "given".into();
        if let Some(role) = role.as_object_mut() {
            role.remove("aggregationRule");
        }
        let rules = role["rules"].as_array_mut().expect("rules");
        rules.truncate(1);
        for (field, pick) in ["verbs", "apiGroups", "resources"].into_iter().zip(picks) {
            let list = rules[0][field].as_array_mut().expect("a list");
            if keep < 2 && !list.is_empty() {
                *list = vec![list.swap_remove(pick.index(list.len()))];
            }
        }
        role
    })
}

/// All requests with a path. Only a review can contain a resource with a slash, where `*/status`
/// does not cover `pods/status`.
fn all_questions() -> impl Iterator<Item = OracleRequest> {
    let mut questions: Vec<Vec<&str>> = vec![Vec::new()];
    for of in ASKED {
        questions =
            questions.iter().flat_map(|done| of.iter().map(|it| [done, &[*it][..]].concat())).collect();
    }
    let ask =
        |verb: &str, on| OracleRequest { user: String::new(), groups: Vec::new(), verb: verb.into(), on };
    let resources = questions.into_iter().filter(|words| !words[2].contains('/')).map(move |words| {
        let [group, resource, subresource, namespace, name] = [1, 2, 3, 4, 5].map(|at| words[at].to_owned());
        ask(words[0], Ok([group, resource, subresource, namespace, name]))
    });
    let paths = ASKED_PATHS.iter().map(move |path| ask("get", Err((*path).to_owned())));
    resources.chain(paths)
}

fn may_escalate(rules: &RbacPolicy, user: &str, groups: &[String], role: &Value) -> bool {
    let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
    let plural = if role["kind"] == "Role" { "roles" } else { "clusterroles" };
    let on = Ok([GROUP, plural, "", namespace, ""].map(str::to_owned));
    decided(rules, &OracleRequest { user: user.into(), groups: groups.to_vec(), verb: "escalate".into(), on })
}
