//! Access reviews: permission to create them, and their subjects.

use machinery_apiserver::{ApiServer, Listen};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::rights::server;

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const LOCAL: &str = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

async fn ask(client: &Client, of: &str, spec: &Value) -> Answer {
    client.post(&format!("{AUTHORIZATION}/{of}"), &json!({"spec": spec})).await
}

#[track_caller]
fn causes(answer: &Answer) -> Vec<String> {
    assert_eq!((answer.code, answer.refused().1), (422, "Invalid"), "{answer:?}");
    let causes = answer.body["details"]["causes"].as_array().cloned().unwrap_or_default();
    causes.iter().map(|cause| cause["field"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Reviews about an unauthenticated user included the rights of all authenticated ones.
#[tokio::test]
async fn the_subject_of_a_review_has_exactly_the_given_groups() {
    let (_server, admin) = server().await;
    // The rights of all authenticated users.
    let own =
        json!({"group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews", "verb": "create"});
    for (user, groups, expected) in [
        ("system:anonymous", json!(["system:unauthenticated"]), false),
        ("ann", json!([]), false),
        ("ann", json!(["system:authenticated"]), true),
        ("", json!(["system:authenticated"]), true),
        ("ann", json!(["system:masters"]), true),
    ] {
        let spec = json!({"user": user, "groups": groups, "resourceAttributes": own});
        let answer = ask(&admin, "subjectaccessreviews", &spec).await.fine();
        assert_eq!(answer["status"]["allowed"], expected, "{spec}");
        assert_eq!(answer["spec"], spec);
    }
    let healthy = json!({"user": "ann", "groups": ["system:authenticated"], "nonResourceAttributes": {"path": "/livez", "verb": "get"}});
    assert_eq!(ask(&admin, "subjectaccessreviews", &healthy).await.fine()["status"]["allowed"], true);
}

#[tokio::test]
async fn an_invalid_review_is_refused_with_its_errors() {
    let (_server, admin) = server().await;
    let (pods, path) = (json!({"resource": "pods", "verb": "get"}), json!({"path": "/livez", "verb": "get"}));
    let both = json!({"resourceAttributes": pods, "nonResourceAttributes": path});
    for of in ["selfsubjectaccessreviews", "subjectaccessreviews"] {
        let mut both = both.clone();
        both["user"] = "ann".into();
        assert_eq!(causes(&ask(&admin, of, &both).await), ["spec.nonResourceAttributes"]);
        assert_eq!(
            causes(&ask(&admin, of, &json!({"user": "ann"})).await),
            ["spec.resourceAttributes"],
            "{of}"
        );
        let named = json!({"metadata": {"name": "x"}, "spec": {"user": "ann", "resourceAttributes": pods}});
        assert_eq!(causes(&admin.post(&format!("{AUTHORIZATION}/{of}"), &named).await), ["metadata"]);
        let selecting = json!({"user": "ann", "resourceAttributes": {"resource": "pods", "verb": "list", "labelSelector": {}}});
        let at = ["spec.resourceAttributes.labelSelector.requirements"];
        assert_eq!(causes(&ask(&admin, of, &selecting).await), at);
    }
    let nobody = json!({"resourceAttributes": pods});
    assert_eq!(causes(&ask(&admin, "subjectaccessreviews", &nobody).await), ["spec.user"]);
    let nowhere = ask(&admin, "selfsubjectrulesreviews", &json!({})).await;
    assert_eq!(nowhere.refused(), (400, "BadRequest", "no namespace on request"));
}

/// A local review was answered for other namespaces, and for cluster-scoped resources.
#[tokio::test]
async fn a_local_review_is_evaluated_in_its_namespace() {
    let (_server, admin) = server().await;
    let pods = |namespace: &str| json!({"spec": {"user": "ann", "resourceAttributes": {"namespace": namespace, "resource": "pods", "verb": "get"}}});
    assert_eq!(admin.post(LOCAL, &pods("default")).await.fine()["status"]["allowed"], false);
    for other in ["kube-system", ""] {
        let answer = admin.post(LOCAL, &pods(other)).await;
        assert_eq!(causes(&answer), ["spec.resourceAttributes.namespace"], "{other:?}");
    }
    let path = json!({"spec": {"user": "ann", "nonResourceAttributes": {"path": "/livez", "verb": "get"}}});
    assert_eq!(causes(&admin.post(LOCAL, &path).await), ["spec.nonResourceAttributes"]);
}

#[tokio::test]
async fn a_rules_review_returns_all_rules_granted_in_a_namespace() {
    let (server, admin) = server().await;
    let rules = json!([{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "list"]}]);
    let ann = crate::rights::who_may(&server, &admin, rules.clone()).await;
    let answer = ask(&ann, "selfsubjectrulesreviews", &json!({"namespace": "default"})).await.fine();
    let told = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(told.contains(&rules[0]), "{told:#?}");
    let elsewhere = ask(&ann, "selfsubjectrulesreviews", &json!({"namespace": "kube-system"})).await.fine();
    assert!(!elsewhere["status"]["resourceRules"].as_array().unwrap().contains(&rules[0]));
}

#[tokio::test]
async fn a_token_review_checks_the_audience() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
    let access = server.listen(listen).await.unwrap();
    let (admin, good) = (Client::of(&server), &access.token);
    let review = |spec: Value| json!({"spec": spec});
    const OURS: &str = "https://kubernetes.default.svc.cluster.local";
    for audiences in [json!(null), json!([]), json!([OURS]), json!(["vault", OURS])] {
        let found = admin.post(TOKENS, &review(json!({"token": good, "audiences": audiences}))).await.fine();
        let user = json!({"username": "admin", "groups": ["system:authenticated", "system:masters"]});
        let expected = json!({"authenticated": true, "user": user, "audiences": [OURS]});
        assert_eq!(found["status"], expected, "{audiences}");
    }
    for spec in [json!({"token": "other"}), json!({"token": good, "audiences": ["vault"]})] {
        assert_eq!(admin.post(TOKENS, &review(spec)).await.fine()["status"], json!({"user": {}}));
    }
    let without = admin.post(TOKENS, &review(json!({"token": ""}))).await;
    assert_eq!(without.refused().0, 400, "{without:?}");
}
