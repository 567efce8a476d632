use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use serde_json::json;

use super::*;
use crate::drive::ApplyScope;
use crate::model::secret_mac;

const CONFIG: &str = "v2/config";

fn policy(name: &str) -> Value {
    json!({"object": {"name": name, "members": [{"interface": "net0", "metric": "1", "weight": "1"}]}})
}

fn rule(name: &str, policy: &str) -> Value {
    json!({"object": {"name": name, "policy": policy}})
}

fn document(policies: &[Value], rules: &[Value]) -> Value {
    json!({"owner": "agent", "collections": {"mwan3/v1/policies": policies, "mwan3/v1/rules": rules}})
}

fn tag(answer: &CnfAnswer) -> String {
    answer.headers.get(ETAG).map(|tag| tag.to_str().unwrap().to_owned()).unwrap_or_default()
}

async fn put(cnf: &TestCnf, body: &Value) -> CnfAnswer {
    let read = cnf.send(Method::GET, CONFIG, "").await;
    cnf.send_with(Method::PUT, CONFIG, body, &[(IF_MATCH, &tag(&read))]).await
}

#[machinery::tokio::test]
async fn a_put_replaces_the_whole_configuration_with_one_reload() {
    let cnf = TestCnf::new().await;
    let body = document(&[policy("p")], &[rule("b", "p"), rule("a", "p")]);
    assert_eq!(put(&cnf, &body).await.status, StatusCode::OK);
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["b", "a"]);
    assert_eq!(cnf.path.scopes(), [ApplyScope::Whole]);
    assert_eq!(cnf.path.applied(), cnf.server.state().config);
    // The order is a part of it.
    let turned = document(&[policy("p")], &[rule("a", "p"), rule("b", "p")]);
    assert_eq!(put(&cnf, &turned).await.status, StatusCode::OK);
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["a", "b"]);
    // Without a difference nothing is reloaded, and the tag stays.
    let before = cnf.server.state();
    let same = put(&cnf, &turned).await;
    assert_eq!((same.status, tag(&same)), (StatusCode::OK, before.etag()));
    assert_eq!(cnf.server.counts().reloads, 2);
    let none = json!({"owner": "agent", "collections": {}});
    assert_eq!(put(&cnf, &none).await.status, StatusCode::OK);
    assert!(cnf.server.state().config.is_empty());
}

#[machinery::tokio::test]
async fn a_put_needs_the_present_tag() {
    let cnf = TestCnf::new().await;
    let body = document(&[policy("p")], &[]);
    let first = cnf.send(Method::GET, CONFIG, "").await;
    assert_eq!(cnf.send(Method::PUT, CONFIG, &body).await.status, StatusCode::PRECONDITION_REQUIRED);
    cnf.created("mwan3/v1/policies", policy("q")["object"].clone()).await;
    let stale = cnf.send_with(Method::PUT, CONFIG, &body, &[(IF_MATCH, &tag(&first))]).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(tag(&stale), cnf.server.state().etag());
    assert_eq!(cnf.names(CollectionId::Policies), ["q"]);
}

#[machinery::tokio::test]
async fn a_read_with_the_present_tag_is_304_until_a_change_of_either_version() {
    let cnf = TestCnf::new().await;
    put(&cnf, &document(&[policy("p")], &[])).await;
    let read = cnf.send(Method::GET, CONFIG, "").await;
    let known = tag(&read);
    let again = async || cnf.send_with(Method::GET, CONFIG, "", &[(IF_NONE_MATCH, &known)]).await;
    let same = again().await;
    assert_eq!((same.status, tag(&same), same.body.len()), (StatusCode::NOT_MODIFIED, known.clone(), 0));
    cnf.created("mwan3/v1/rules", json!({"name": "r", "policy": "p"})).await;
    let changed = again().await;
    assert_eq!(changed.status, StatusCode::OK);
    let rules = &changed.json()["collections"]["mwan3/v1/rules"];
    assert_eq!(*rules, json!([{"object": {"name": "r", "policy": "p"}}]));
}

#[machinery::tokio::test]
async fn a_refused_put_changes_nothing_and_names_every_refused_object() {
    let cnf = TestCnf::new().await;
    put(&cnf, &document(&[policy("p")], &[rule("r", "p")])).await;
    let before = cnf.server.state();
    let mut invalid = rule("invalid", "q");
    invalid["object"]["proto"] = "zz".into();
    let mut body =
        document(&[policy("q"), policy("net0")], &[rule("a", "zz"), invalid, rule("b", "q"), rule("b", "q")]);
    body["collections"]["x/v1/y"] = json!([{"object": {"name": "n"}}]);
    let refused = put(&cnf, &body).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let refusals: ConfigRefusals = serde_json::from_slice(&refused.body).unwrap();
    let all: Vec<_> = refusals.refused.iter().map(|one| (&*one.collection, &*one.name, one.code)).collect();
    assert_eq!(
        all,
        [
            ("x/v1/y", "n", 404),
            ("mwan3/v1/policies", "net0", 409),
            ("mwan3/v1/rules", "a", 428),
            ("mwan3/v1/rules", "invalid", 400),
            ("mwan3/v1/rules", "b", 409),
        ]
    );
    assert_eq!(refusals.refused[3].message, "Field[proto] checked failed: wrong proto");
    assert_eq!(cnf.server.state(), before);
    assert_eq!(cnf.server.counts().reloads, 1);
    // The rest is accepted at once.
    let rest = document(&[policy("q")], &[rule("b", "q")]);
    assert_eq!(put(&cnf, &rest).await.status, StatusCode::OK);
}

#[machinery::tokio::test]
async fn objects_of_others_stay_and_those_of_nobody_are_adopted() {
    let cnf = TestCnf::new().await;
    let object = |value: Value| value["object"].clone();
    cnf.created("mwan3/v1/policies", object(policy("p"))).await;
    for name in ["first", "mine"] {
        cnf.created("mwan3/v1/rules", object(rule(name, "p"))).await;
    }
    put(&cnf, &document(&[], &[rule("mine", "p"), rule("new", "p")])).await;
    cnf.created("mwan3/v1/rules", object(rule("last", "p"))).await;
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["first", "mine", "new", "last"]);
    put(&cnf, &document(&[], &[rule("new", "p"), rule("newer", "p"), rule("mine", "p")])).await;
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["first", "new", "newer", "mine", "last"]);
    let other = json!({"owner": "other", "collections": {"mwan3/v1/rules": [rule("mine", "p")]}});
    let refused = put(&cnf, &other).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.json()["refused"][0]["message"].as_str().unwrap().contains("agent"), "{refused:?}");
    put(&cnf, &document(&[], &[])).await;
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["first", "last"]);
    assert_eq!(cnf.names(CollectionId::Policies), ["p"]);
}

#[machinery::tokio::test]
async fn the_removal_of_an_object_that_others_use_is_refused() {
    let cnf = TestCnf::new().await;
    put(&cnf, &document(&[policy("p"), policy("q")], &[rule("mine", "p")])).await;
    cnf.created("mwan3/v1/rules", json!({"name": "foreign", "policy": "p"})).await;
    let refused = put(&cnf, &document(&[], &[])).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let refusals: ConfigRefusals = serde_json::from_slice(&refused.body).unwrap();
    let [only] = &*refusals.refused else { panic!("{refusals:?}") };
    assert_eq!(
        (&*only.name, only.code, &*only.message, only.is_removal),
        ("p", 409, "policy p is used", true)
    );
    assert_eq!(put(&cnf, &document(&[policy("p")], &[])).await.status, StatusCode::OK);
    assert_eq!(cnf.names(CollectionId::Policies), ["p"]);
}

#[machinery::tokio::test]
async fn secrets_are_answered_as_macs_and_never_without_a_key() {
    let cnf = TestCnf::new().await;
    let remote = json!({"name": "hub", "gateway": "%any", "authentication_method": "psk", "pre_shared_key": "marker",
        "connections": [{"name": "c", "conn_type": "tunnel", "mode": "add"}]});
    let body = json!({"owner": "agent", "collections": {"ipsec/v1/remotes": [{"object": remote}]}});
    assert_eq!(put(&cnf, &body).await.status, StatusCode::OK);
    let read = cnf.send_with(Method::GET, CONFIG, "", &[(SECRET_KEY_HEADER, "6b6579")]).await;
    let shown = &read.json()["collections"]["ipsec/v1/remotes"][0]["object"];
    assert_eq!(shown["pre_shared_key"], secret_mac(b"key", "marker"));
    let without = cnf.send(Method::GET, CONFIG, "").await;
    assert!(!String::from_utf8_lossy(&without.body).contains("pre_shared_key"));
    let wrong = cnf.send_with(Method::GET, CONFIG, "", &[(SECRET_KEY_HEADER, "zz")]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    // The original's client compares them.
    assert_eq!(cnf.send(Method::GET, "ipsec/v1/remotes/hub", "").await.json()["pre_shared_key"], "marker");
}

#[machinery::tokio::test]
async fn a_put_after_changes_that_wait_for_a_restart_applies_them() {
    let cnf = TestCnf::new().await;
    cnf.created("mwan3/v1/policies", policy("foreign")["object"].clone()).await;
    assert!(cnf.path.applied().is_empty());
    assert_eq!(put(&cnf, &document(&[], &[])).await.status, StatusCode::OK);
    assert_eq!(cnf.path.applied(), cnf.server.state().config);
    put(&cnf, &document(&[], &[])).await;
    assert_eq!(cnf.server.counts().reloads, 1);
}

#[machinery::tokio::test]
async fn a_failed_data_path_leaves_the_configuration() {
    let cnf = TestCnf::new().await;
    let before = cnf.server.state();
    cnf.path.fail(Some("no memory"));
    let failed = put(&cnf, &document(&[policy("p")], &[])).await;
    assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(cnf.server.state(), before);
    cnf.path.fail(None);
    assert_eq!(put(&cnf, &document(&[policy("p")], &[])).await.status, StatusCode::OK);
}

#[machinery::tokio::test]
async fn a_cnf_of_v1_alone_has_no_v2() {
    let cnf = TestCnf::new().await;
    cnf.server.offer_v2(false);
    assert_eq!(cnf.send(Method::GET, CONFIG, "").await.status, StatusCode::NOT_FOUND);
}

#[machinery::tokio::test]
async fn more_objects_than_the_limit_are_refused() {
    let cnf = TestCnf::with(None, CnfLimits { objects: 2, ..CnfLimits::default() }).await;
    let refused = put(&cnf, &document(&[policy("p")], &[rule("a", "p"), rule("b", "p")])).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused.json()["refused"][0]["code"], 507);
    assert_eq!(put(&cnf, &document(&[policy("p")], &[rule("a", "p")])).await.status, StatusCode::OK);
    let (code, message) =
        cnf.message(Method::POST, "mwan3/v1/rules", json!({"name": "b", "policy": "p"})).await;
    assert!(code == 507 && message.contains('2'), "{message}");
}
