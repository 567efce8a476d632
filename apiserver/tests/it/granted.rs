//! Random requests of users with random roles: each is allowed exactly if a naive reading of its
//! role and of the request allows it.

use http::Method;
use machinery_apiserver::Identity;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::client::Client;
use crate::rights::server;

const NAMES: [&str; 3] = ["a", "b", "zz"];
const VERBS: [&str; 9] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"];
const RESOURCES: [&str; 6] = ["widgets", "widgets/status", "configmaps", "secrets", "*", "*/status"];
const GROUPS: [&str; 3] = ["", "example.com", "*"];

/// A rule of a role.
#[derive(Clone, Debug)]
struct RoleRule {
    groups: Vec<&'static str>,
    resources: Vec<&'static str>,
    verbs: Vec<&'static str>,
    names: Vec<&'static str>,
}

/// A request, in the terms of RBAC.
#[derive(Clone, Debug)]
struct AccessRequest {
    method: Method,
    kind: usize,
    status: bool,
    /// The name of an object, or none for the collection.
    name: Option<&'static str>,
    /// `watch=true`
    watches: bool,
    /// `fieldSelector=metadata.name=…`
    selects: Option<&'static str>,
    dry_run: bool,
    /// The form of the answer: table, metadata, or the object.
    form: usize,
}

const KINDS: [(&str, &str, &str); 3] = [
    ("example.com", "/apis/example.com/v1/namespaces/default/widgets", "widgets"),
    ("", "/api/v1/namespaces/default/configmaps", "configmaps"),
    ("", "/api/v1/namespaces/default/secrets", "secrets"),
];
const FORMS: [&str; 3] = [
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
];

impl RoleRule {
    fn to_json(&self) -> Value {
        json!({"apiGroups": self.groups, "resources": self.resources, "verbs": self.verbs, "resourceNames": self.names})
    }

    fn allows(&self, verb: &str, group: &str, resource: &str, status: bool, name: &str) -> bool {
        let whole = if status { format!("{resource}/status") } else { resource.to_owned() };
        let is_of = |one: &&str| *one == "*" || *one == whole || (status && *one == "*/status");
        let has = |all: &[&str], one: &str| all.contains(&one) || all.contains(&"*");
        let named = self.names.is_empty() || self.names.contains(&name);
        has(&self.groups, group) && self.resources.iter().any(is_of) && has(&self.verbs, verb) && named
    }
}

impl AccessRequest {
    /// The verb and the name for authorization: a name in a field selector counts, for reads.
    fn means(&self) -> (&'static str, &'static str) {
        match (self.method.as_str(), self.name) {
            ("GET", Some(name)) => ("get", name),
            ("GET", None) => (if self.watches { "watch" } else { "list" }, self.selects.unwrap_or_default()),
            ("DELETE", None) => ("deletecollection", ""),
            ("DELETE", Some(name)) => ("delete", name),
            ("POST", _) => ("create", ""),
            ("PUT", name) => ("update", name.unwrap_or_default()),
            (_, name) => ("patch", name.unwrap_or_default()),
        }
    }

    fn path(&self) -> String {
        let (_, all, _) = KINDS[self.kind];
        let mut path = all.to_owned();
        if let Some(name) = self.name {
            path += &format!("/{name}");
            if self.status {
                path += "/status";
            }
        }
        let mut query = Vec::new();
        if self.watches {
            query.push("watch=true&timeoutSeconds=-1".to_owned());
        }
        query.extend(self.selects.map(|name| format!("fieldSelector=metadata.name%3D{name}")));
        if self.dry_run && self.method != Method::GET {
            query.push("dryRun=All".to_owned());
        }
        format!("{path}?{}", query.join("&"))
    }
}

fn some(of: &'static [&'static str], least: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(of), least..3)
}

fn rules() -> impl Strategy<Value = Vec<RoleRule>> {
    let names = prop_oneof![Just(Vec::new()), some(&NAMES, 1)];
    let rule = (some(&GROUPS, 1), some(&RESOURCES, 1), some(&VERBS, 1), names);
    let rule =
        rule.prop_map(|(groups, resources, verbs, names)| RoleRule { groups, resources, verbs, names });
    prop::collection::vec(rule, 1..4)
}

fn asked() -> impl Strategy<Value = AccessRequest> {
    let methods = [Method::GET, Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let name = || prop::option::of(prop::sample::select(&NAMES[..]));
    let request = (
        prop::sample::select(methods.to_vec()),
        0..KINDS.len(),
        any::<bool>(),
        name(),
        any::<bool>(),
        name(),
    );
    (request, any::<bool>(), 0..FORMS.len()).prop_map(
        |((method, kind, status, name, watches, selects), dry_run, form)| {
            let name = match method.as_str() {
                "POST" => None,
                "PUT" | "PATCH" => name.or(Some("a")),
                _ => name,
            };
            let reads_all = method == Method::GET && name.is_none();
            let status = status && kind == 0 && name.is_some() && method != Method::DELETE;
            let selects = selects.filter(|_| name.is_none() && method != Method::POST);
            AccessRequest {
                method,
                kind,
                status,
                name,
                watches: watches && reads_all,
                selects,
                dry_run,
                form,
            }
        },
    )
}

#[test]
fn authorization_equals_a_naive_reading_of_the_role() {
    const PEOPLE: usize = 40;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases: 1, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let all = (prop::collection::vec(rules(), PEOPLE), prop::collection::vec((0..PEOPLE, asked()), 8000));
    let (allowed, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let found = runner.run(&all, |(roles, requests)| {
        runtime.block_on(async {
            let (server, admin) = server().await;
            for (at, rules) in roles.iter().enumerate() {
                granted(&admin, at, rules).await;
            }
            let people: Vec<Client> =
                (0..PEOPLE).map(|at| Client::to(server.service(Identity::new(format!("u{at}"))))).collect();
            holds(&people).await;
            for (who, asked) in requests {
                let (verb, name) = asked.means();
                let (group, _, resource) = KINDS[asked.kind];
                let may =
                    roles[who].iter().any(|rule| rule.allows(verb, group, resource, asked.status, name));
                let body = if asked.method == Method::PATCH { "{}" } else { "{\"metadata\": {}}" };
                let media = if asked.method == Method::PATCH {
                    "application/merge-patch+json"
                } else {
                    "application/json"
                };
                let headers = [("content-type", media), ("accept", FORMS[asked.form])];
                let body = if matches!(asked.method, Method::GET | Method::DELETE) { "" } else { body };
                let answer = people[who].ask(asked.method.clone(), &asked.path(), &headers, body).await;
                assert_eq!(
                    answer.code != 403,
                    may,
                    "{:?}\n{asked:?}\n{} {answer:?}",
                    roles[who],
                    asked.path()
                );
                let counted = if may { &allowed } else { &refused };
                counted.set(counted.get() + 1);
            }
            server.stop().await;
        });
        Ok(())
    });
    found.unwrap_or_else(|error| panic!("{error}"));
    assert!(allowed.get() > 1000 && refused.get() > 1000, "{allowed:?} were allowed, {refused:?} refused");
}

async fn granted(admin: &Client, at: usize, rules: &[RoleRule]) {
    const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let name = format!("u{at}");
    let mut rules: Vec<_> = rules.iter().map(RoleRule::to_json).collect();
    rules.push(json!({"apiGroups": ["mark"], "resources": ["mark"], "verbs": ["mark"]}));
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.post(&format!("{GROUP}/roles"), &role).await.fine();
    let binding = json!({
        "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    });
    admin.post(&format!("{GROUP}/rolebindings"), &binding).await.fine();
}

/// Waits until the grants apply: the rules follow the store.
async fn holds(people: &[Client]) {
    let mark = json!({"namespace": "default", "group": "mark", "resource": "mark", "verb": "mark"});
    let review = json!({"spec": {"resourceAttributes": mark}});
    for one in people {
        for tried in 0.. {
            let answer = one.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await;
            if answer.body["status"]["allowed"] == true {
                break;
            }
            assert!(tried < 1000, "what was granted does not hold");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}
