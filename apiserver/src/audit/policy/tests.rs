use proptest::prelude::*;

use super::*;

fn policy(rules: &str) -> AuditPolicy {
    AuditPolicy::read(&format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}\n")).unwrap()
}

fn ann() -> Identity {
    Identity::new("ann").in_group("dev")
}

fn on<'a>(group: &'a str, path: &'a str) -> ResourceAttributes<'a> {
    let mut parts = path.split('/').map(|part| if part == "-" { "" } else { part });
    let mut part = || parts.next().unwrap_or_default();
    ResourceAttributes { group, namespace: part(), resource: part(), name: part(), subresource: part() }
}

/// Checks whether a rule matches a request of ann: `VERB GROUP NAMESPACE/RESOURCE/NAME/SUBRESOURCE`
/// or `VERB PATH`.
#[track_caller]
fn check(rule: &str, asked: &str, expected: bool) {
    let parts: Vec<&str> = asked.split(' ').collect();
    let (verb, on) = match parts[..] {
        [verb, path] => (verb, RequestTarget::Path(path)),
        [verb, group, path] => {
            (verb, RequestTarget::Resource(on(if group == "-" { "" } else { group }, path)))
        }
        _ => panic!("{asked}"),
    };
    let ann = ann();
    let level = policy(&format!("- {{level: Metadata, {rule}}}"))
        .decide(&AuditAttributes { has_passwords: false, user: Some(&ann), verb, on })
        .level;
    assert_eq!(level == AuditLevel::Metadata, expected, "{rule}: {asked}");
}

#[test]
fn each_field_of_a_rule_narrows_it() {
    let pods = "get - n/pods/a";
    check("", pods, true);
    check("", "get /healthz", true);
    check("users: [bob, ann]", pods, true);
    check("users: [bob]", pods, false);
    check("userGroups: [ops, dev]", pods, true);
    check("userGroups: [ops]", pods, false);
    check("verbs: [get, list]", pods, true);
    check("verbs: [list]", pods, false);
    check("namespaces: ['n']", pods, true);
    check("namespaces: [m]", pods, false);
    check("namespaces: ['']", pods, false);
    check("namespaces: ['']", "get - -/nodes/a", true);
    check("namespaces: ['']", "get /healthz", false);
    check("resources: [{group: ''}]", pods, true);
    check("resources: [{group: apps}]", pods, false);
    check("resources: [{group: apps}, {group: ''}]", pods, true);
    check("resources: [{resources: [pods]}]", pods, true);
    check("resources: [{resources: [pods]}]", "get - n/pods/a/log", false);
    check("resources: [{resources: [pods/log]}]", "get - n/pods/a/log", true);
    check("resources: [{resources: [pods/log]}]", pods, false);
    check("resources: [{resources: ['pods/*']}]", "get - n/pods/a/log", true);
    check("resources: [{resources: ['pods/*']}]", pods, true);
    check("resources: [{resources: ['pods/*']}]", "get - n/podsets/a", false);
    check("resources: [{resources: ['*/log']}]", "get - n/pods/a/log", true);
    check("resources: [{resources: ['*/log']}]", pods, false);
    check("resources: [{resources: ['*']}]", "get - n/pods/a/log", true);
    check("resources: [{resources: ['*']}]", "get apps n/pods/a", false);
    check("resources: [{resources: ['*']}]", "get /healthz", false);
    check("resources: [{resources: [pods], resourceNames: [a]}]", pods, true);
    check("resources: [{resources: [pods], resourceNames: [b]}]", pods, false);
    check("resources: [{resources: [pods], resourceNames: [b]}]", "list - n/pods", false);
    check("nonResourceURLs: [/healthz]", "get /healthz", true);
    check("nonResourceURLs: [/healthz]", "get /healthz/etcd", false);
    check("nonResourceURLs: ['/healthz*']", "get /healthz/etcd", true);
    check("nonResourceURLs: ['*']", "get /healthz", true);
    check("nonResourceURLs: ['*']", pods, false);
}

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = policy(
        "- {level: None, users: [bob]}\n- {level: Request, verbs: [get], omitStages: [Panic], omitManagedFields: true}\n- \
         {level: Metadata}",
    );
    let decide = |user: &str, verb| {
        let user = Identity::new(user);
        policy.decide(&AuditAttributes {
            has_passwords: false,
            user: Some(&user),
            verb,
            on: RequestTarget::Path("/x"),
        })
    };
    assert_eq!(decide("bob", "get").level, AuditLevel::None);
    let stages = Stages::default().with(AuditStage::Panic);
    let expected =
        AuditDecision { level: AuditLevel::Request, omit_stages: stages, omit_managed_fields: true };
    assert_eq!(decide("ann", "get"), expected);
    assert_eq!(
        decide("ann", "post"),
        AuditDecision { level: AuditLevel::Metadata, ..AuditDecision::default() }
    );
}

#[test]
fn unauthenticated_requests_match_no_rule_with_users() {
    let of = |rules| {
        policy(rules)
            .decide(&AuditAttributes {
                has_passwords: false,
                user: None,
                verb: "get",
                on: RequestTarget::Path("/x"),
            })
            .level
    };
    assert_eq!(of("- {level: Metadata, users: [ann]}"), AuditLevel::None);
    assert_eq!(of("- {level: Metadata, userGroups: ['system:unauthenticated']}"), AuditLevel::None);
    assert_eq!(of("- {level: Request}"), AuditLevel::Request);
}

#[test]
fn no_rule_logs_secrets_beyond_metadata() {
    let policy = policy("- {level: RequestResponse}");
    let level = |group, path| {
        policy
            .decide(&AuditAttributes {
                has_passwords: false,
                user: None,
                verb: "get",
                on: RequestTarget::Resource(on(group, path)),
            })
            .level
    };
    assert_eq!(level("", "n/secrets/a"), AuditLevel::Metadata);
    assert_eq!(level("", "-/secrets"), AuditLevel::Metadata);
    assert_eq!(level("", "n/serviceaccounts/a/token"), AuditLevel::Metadata);
    assert_eq!(level("authentication.k8s.io", "-/tokenreviews"), AuditLevel::Metadata);
    assert_eq!(level("", "n/serviceaccounts/a"), AuditLevel::RequestResponse);
    assert_eq!(level("example.com", "n/secrets/a"), AuditLevel::RequestResponse);
}

/// A naive policy, which follows the documentation of Kubernetes field by field.
mod oracle {
    use super::*;

    pub(super) fn decide(policy: &AuditPolicy, request: &AuditAttributes<'_>) -> AuditDecision {
        for rule in &policy.rules {
            if matches(rule, request) {
                let mut omit_stages = Stages::default();
                for stage in AuditStage::ALL {
                    if policy.omit_stages.has(stage) || rule.omit_stages.has(stage) {
                        omit_stages = omit_stages.with(stage);
                    }
                }
                let secret = match request.on {
                    RequestTarget::Path(_) => false,
                    RequestTarget::Resource(on) => {
                        ["/secrets", "/serviceaccounts/token", "authentication.k8s.io/tokenreviews"]
                            .iter()
                            .any(|one| {
                                let plain = format!("{}/{}", on.group, on.resource);
                                plain == *one && !one.ends_with("/token")
                                    || format!("{plain}/{}", on.subresource) == *one
                            })
                    }
                };
                let level = match rule.level {
                    AuditLevel::Request | AuditLevel::RequestResponse if secret => AuditLevel::Metadata,
                    level => level,
                };
                let omit_managed_fields = match rule.omit_managed_fields {
                    Some(omit) => omit,
                    None => policy.omit_managed_fields,
                };
                return AuditDecision { level, omit_stages, omit_managed_fields };
            }
        }
        AuditDecision { omit_stages: policy.omit_stages, ..AuditDecision::default() }
    }

    fn matches(rule: &AuditRule, request: &AuditAttributes<'_>) -> bool {
        let AuditRule { users, groups, verbs, resources, namespaces, paths, .. } = rule;
        let mut fits = Vec::new();
        if !users.is_empty() {
            fits.push(users.iter().any(|name| request.user.is_some_and(|user| user.user == *name)));
        }
        if !groups.is_empty() {
            fits.push(groups.iter().any(|name| request.user.is_some_and(|user| user.groups.contains(name))));
        }
        if !verbs.is_empty() {
            fits.push(verbs.iter().any(|verb| verb == request.verb));
        }
        if !namespaces.is_empty() {
            fits.push(
                matches!(request.on, RequestTarget::Resource(on) if namespaces.iter().any(|one| one == on.namespace)),
            );
        }
        if !resources.is_empty() {
            fits.push(
                matches!(request.on, RequestTarget::Resource(on) if resources.iter().any(|one| of_group(one, &on))),
            );
        }
        if !paths.is_empty() {
            fits.push(matches!(request.on, RequestTarget::Path(path) if paths.iter().any(|one| {
                one == "*" || one == path || one.ends_with('*') && path.starts_with(&one[..one.len() - 1])
            })));
        }
        fits.into_iter().all(|fit| fit)
    }

    fn of_group(of: &GroupResources, on: &ResourceAttributes<'_>) -> bool {
        if of.group != on.group {
            return false;
        }
        if of.resources.is_empty() {
            return true;
        }
        if !of.names.is_empty() && !of.names.iter().any(|name| name == on.name) {
            return false;
        }
        let full = match on.subresource {
            "" => on.resource.to_owned(),
            below => format!("{}/{below}", on.resource),
        };
        let mut accepted = vec!["*".to_owned(), full, format!("{}/*", on.resource)];
        if !on.subresource.is_empty() {
            accepted.push(format!("*/{}", on.subresource));
        }
        of.resources.iter().any(|one| accepted.contains(one))
    }
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let one = prop::sample::select(of).prop_map(str::to_owned);
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(one, 1..3)]
}

const GROUPS: &[&str] = &["", "apps", "authentication.k8s.io"];
const RESOURCES: &[&str] = &["pods", "secrets", "serviceaccounts", "tokenreviews"];
const BELOW: &[&str] = &["", "token", "log"];
const NAMES: &[&str] = &["", "a", "b"];
const NAMESPACES: &[&str] = &["", "m", "n"];
const PATHS: &[&str] = &["/", "/healthz", "/healthz/etcd", "/version"];

fn stages_of() -> impl Strategy<Value = Stages> {
    prop::collection::vec(prop::sample::select(&AuditStage::ALL[..]), 0..3)
        .prop_map(|all| all.into_iter().fold(Stages::default(), Stages::with))
}

prop_compose! {
    fn of_group()(
        group in prop::sample::select(GROUPS),
        resources in some(&["*", "pods", "secrets", "pods/*", "pods/log", "*/log", "*/token", "serviceaccounts/token"]),
        names in some(NAMES),
    ) -> GroupResources {
        let names = if resources.is_empty() { Vec::new() } else { names };
        GroupResources { group: group.into(), resources, names }
    }
}

prop_compose! {
    fn rule()(
        level in prop::sample::select(&AuditLevel::ALL[..]),
        users in some(&["ann", "bob"]),
        groups in some(&["dev", "ops"]),
        verbs in some(&["get", "list", "create"]),
        about_paths in any::<bool>(),
        resources in prop_oneof![Just(Vec::new()), prop::collection::vec(of_group(), 1..3)],
        namespaces in some(NAMESPACES),
        paths in some(&["*", "/", "/healthz", "/healthz*", "/*"]),
        omit_stages in stages_of(),
        omit_managed_fields in any::<Option<bool>>(),
    ) -> AuditRule {
        let (resources, namespaces, paths) =
            if about_paths { (Vec::new(), Vec::new(), paths) } else { (resources, namespaces, Vec::new()) };
        AuditRule { level, users, groups, verbs, resources, namespaces, paths, omit_stages, omit_managed_fields }
    }
}

proptest! {
    #[test]
    fn decisions_equal_those_of_a_naive_policy(
        rules in prop::collection::vec(rule(), 0..5),
        (omit_stages, omit_managed_fields) in (stages_of(), any::<bool>()),
        user in prop::option::of((prop::sample::select(&["ann", "bob"][..]), some(&["dev", "ops"]))),
        verb in prop::sample::select(&["get", "list", "create"][..]),
        path in prop::option::of(prop::sample::select(PATHS)),
        (group, resource, subresource) in
            (prop::sample::select(GROUPS), prop::sample::select(RESOURCES), prop::sample::select(BELOW)),
        (namespace, name) in (prop::sample::select(NAMESPACES), prop::sample::select(NAMES)),
    ) {
        let policy = AuditPolicy { rules, omit_stages, omit_managed_fields };
        let user = user.map(|(name, groups)| groups.into_iter().fold(Identity::new(name), Identity::in_group));
        let on = match path {
            Some(path) => RequestTarget::Path(path),
            None => RequestTarget::Resource(ResourceAttributes { group, resource, subresource, namespace, name }),
        };
        let request = AuditAttributes { has_passwords: false, user: user.as_ref(), verb, on };
        prop_assert_eq!(policy.decide(&request), oracle::decide(&policy, &request));
    }
}
