//! Manifests for clusters of others.

use async_trait::async_trait;
use machinery_apiserver::{
    Admission, AdmissionHooks, AdmissionRule, KindOf, Operation, WebhookEndpoint, WebhookServer, WebhookTls,
};

use super::fixture::WebhookAuthority;
use crate::typed::Widget;

struct Nothing;

#[async_trait]
impl Admission for Nothing {}

#[test]
fn manifests_have_the_rules_of_all_hooks() {
    let rule = AdmissionRule::new("apps", "*", "deployments").resource("deployments/status");
    let deletions = AdmissionRule::new("", "v1", "namespaces").operations([Operation::Delete]);
    let labelled = AdmissionRule::new("apps", "v1", "statefulsets").labelled("example.com/reviewed", "yes");
    let hooks = || {
        let hooks = AdmissionHooks::new("widgets.example.com").kind(KindOf::<Widget>::new());
        hooks.admission(Nothing, [rule.clone(), deletions.clone(), labelled.clone()])
    };
    let service = WebhookEndpoint::service("net", "hooks").port(8443);
    let manifests = hooks().manifests(&service).unwrap();
    let documents: Vec<serde_json::Value> =
        manifests.split("---\n").skip(1).map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let [mutating, validating] = &documents[..] else { panic!("{manifests}") };
    assert_eq!(
        (&mutating["kind"], &validating["kind"]),
        (&"MutatingWebhookConfiguration".into(), &"ValidatingWebhookConfiguration".into())
    );
    let hook = &validating["webhooks"][0];
    assert_eq!(
        (&hook["name"], &hook["failurePolicy"]),
        (&"validate.widgets.example.com".into(), &"Fail".into())
    );
    let place = serde_json::json!({"namespace": "net", "name": "hooks", "port": 8443, "path": "/validate"});
    assert_eq!(hook["clientConfig"]["service"], place);
    let resources = |document: &serde_json::Value| {
        let rules = document["webhooks"][0]["rules"].as_array().unwrap();
        rules
            .iter()
            .map(|rule| (rule["resources"].to_string(), rule["operations"].to_string()))
            .collect::<Vec<_>>()
    };
    let (both, delete) = (r#"["CREATE","UPDATE"]"#.to_owned(), r#"["DELETE"]"#.to_owned());
    let mut expected = vec![
        (r#"["widgets"]"#.to_owned(), both.clone()),
        (r#"["deployments","deployments/status"]"#.to_owned(), both),
    ];
    assert_eq!(resources(mutating), expected, "a deletion cannot be mutated");
    expected.push((r#"["namespaces"]"#.to_owned(), delete));
    assert_eq!(resources(validating), expected);

    let second = &validating["webhooks"][1];
    assert_eq!(second["name"], "validate-2.widgets.example.com");
    assert_eq!(second["objectSelector"], serde_json::json!({"matchLabels": {"example.com/reviewed": "yes"}}));
    assert_eq!(second["rules"][0]["resources"], serde_json::json!(["statefulsets"]));

    let ca = WebhookAuthority::new("a").pem;
    let url = hooks().manifests(&WebhookEndpoint::url("https://h:1/").ca_bundle(&ca)).unwrap();
    assert!(url.contains("https://h:1/mutate") && url.contains("caBundle: "), "{url}");
    for (endpoint, expected) in [
        (WebhookEndpoint::url("http://h:1"), "not of the form https://HOST:PORT"),
        (WebhookEndpoint::url("https://h:1/path"), "not of the form https://HOST:PORT"),
        (WebhookEndpoint::url("https://h:1").ca_bundle("Y2E="), "give it in PEM"),
    ] {
        let error = hooks().manifests(&endpoint).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn invalid_hooks_are_refused_with_the_remedy() {
    let kind = || KindOf::<Widget>::new();
    for (hooks, expected) in [
        (AdmissionHooks::new("widgets").kind(kind()), "a DNS subdomain with two parts or more"),
        (AdmissionHooks::new("a b.c").kind(kind()), "a DNS subdomain with two parts or more"),
        (AdmissionHooks::new("a.b"), "add a kind or a plugin"),
        (AdmissionHooks::new("a.b").admission(Nothing, []), "has no rule and would never be called"),
        (
            AdmissionHooks::new("a.b")
                .kind(KindOf::<Widget>::defined(serde_json::json!({"metadata": {"name": "x"}}))),
            "needs a plural, a kind and a version",
        ),
    ] {
        let tls = WebhookTls::files("/nowhere", "/nowhere");
        let error = WebhookServer::bind(hooks, "127.0.0.1:0".parse().unwrap(), tls).await.err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
