use serde_json::json;

use super::filled::{filled, samples};
use super::*;
use crate::drive::ApplyScope;
use crate::model::Service;

#[machinery::tokio::test]
async fn each_collection_creates_reads_replaces_and_deletes_objects() {
    let cnf = filled().await;
    let mut samples = samples();
    for (path, body) in &samples {
        let name = body["name"].as_str().unwrap();
        let one = cnf.send(Method::GET, &format!("{path}/{name}"), "").await;
        assert_eq!(one.status, StatusCode::OK);
        // Computed fields are beside those that were sent.
        let shown = one.json();
        for (field, value) in body.as_object().unwrap().iter().filter(|(field, _)| *field != "members") {
            assert_eq!(&shown[field], value, "{path} {field}");
        }
        let list = cnf.send(Method::GET, path, "").await.json();
        let key = path.rsplit('/').next().unwrap();
        assert!(list[key].as_array().unwrap().contains(&shown), "{path}");
        let replaced = cnf.send(Method::PUT, &format!("{path}/{name}"), body).await;
        assert_eq!((replaced.status, replaced.json()), (StatusCode::OK, shown), "{path}");
        let again = cnf.message(Method::POST, path, body).await;
        assert_eq!(again, (409, "Conflict".into()), "{path}");
    }
    samples.reverse();
    for (path, body) in &samples {
        let path = format!("{path}/{}", body["name"].as_str().unwrap());
        assert_eq!(cnf.message(Method::DELETE, &path, "").await, (200, "success".into()), "{path}");
        let (code, message) = cnf.message(Method::DELETE, &path, "").await;
        assert!(code == 404 && message.ends_with("is not defined"), "{message}");
        let (code, message) = cnf.message(Method::GET, &path, "").await;
        assert!(code == 404 && message.starts_with("Cannot find "), "{message}");
    }
    assert!(cnf.server.state().config.is_empty());
}

#[machinery::tokio::test]
async fn objects_show_the_fields_that_the_original_computes() {
    let cnf = filled().await;
    let get = async |path: &str| cnf.send(Method::GET, path, "").await.json();
    assert_eq!(get("mwan3/v1/policies/p").await["members"][0]["name"], "p_net0");
    assert_eq!(get("networkfirewall/v1/rules/n").await["src_val"], "net0");
    assert_eq!(get("route/v1/routes/r").await["dev_val"], "net0");
    assert_eq!(get("ipsec/v1/remotes/hub").await["enabled"], "1");
    cnf.created("rule/v1/rules", json!({"name": "s", "src": "10.0.0.0/8"})).await;
    assert_eq!(get("rule/v1/rules/s").await["flag"], false);
}

#[machinery::tokio::test]
async fn a_put_keeps_the_place_and_a_post_appends() {
    let cnf = filled().await;
    for name in ["s", "t"] {
        cnf.created("mwan3/v1/rules", json!({"name": name, "policy": "p"})).await;
    }
    let body = json!({"policy": "p", "dest_port": "443", "name": "other"});
    let replaced = cnf.send(Method::PUT, "mwan3/v1/rules/s", &body).await;
    assert_eq!(replaced.json(), json!({"name": "s", "policy": "p", "dest_port": "443"}));
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["r", "s", "t"]);
    // A PUT of an absent object creates it; a refused one leaves the old object.
    assert_eq!(cnf.send(Method::PUT, "mwan3/v1/rules/u", &body).await.status, StatusCode::OK);
    assert_eq!(cnf.names(CollectionId::Mwan3Rules), ["r", "s", "t", "u"]);
    let before = cnf.server.state();
    assert_eq!(cnf.message(Method::PUT, "mwan3/v1/rules/s", json!({"policy": "zz"})).await.0, 428);
    assert_eq!(cnf.server.state(), before);
}

#[machinery::tokio::test]
async fn other_methods_and_paths_have_the_codes_of_the_original() {
    let cnf = filled().await;
    for (method, path, code) in [
        (Method::PATCH, "mwan3/v1/rules/r", 405),
        (Method::PATCH, "mwan3/v1/rules", 405),
        (Method::PUT, "mwan3/v1/rules", 400),
        (Method::DELETE, "mwan3/v1/rules", 400),
        (Method::POST, "mwan3/v1/rules/r", 400),
        (Method::GET, "mwan3/v1/rules/a/b", 400),
        (Method::GET, "mwan3/v1/zones", 404),
        (Method::GET, "x/v1/rules", 404),
        (Method::POST, "v1/services", 405),
        (Method::GET, "v1/service/mwan3", 405),
        (Method::PUT, "v1/service/ssh", 400),
        (Method::POST, "v1/status", 405),
        (Method::GET, "v1/status/x", 400),
        (Method::POST, "v2/config", 405),
    ] {
        assert_eq!(cnf.send(method.clone(), path, "{}").await.status.as_u16(), code, "{method} {path}");
    }
    for page in ["v1", "mwan3/v1", "firewall/v1", "ipsec/v1"] {
        let text = "sdewan restful API service v1".to_owned();
        assert_eq!(cnf.message(Method::GET, page, "").await, (200, text));
    }
}

#[machinery::tokio::test]
async fn changes_with_a_service_apply_at_its_restart_and_others_at_once() {
    let cnf = filled().await;
    let at_once = cnf.path.scopes();
    assert!(at_once.iter().all(|scope| matches!(scope, ApplyScope::Collection(_))), "{at_once:?}");
    assert_eq!(at_once.len(), 5);
    assert!(cnf.path.applied().list(CollectionId::Policies).is_empty());
    let services = cnf.send(Method::GET, "v1/services", "").await.json();
    assert_eq!(services, json!({"services": ["mwan3", "firewall", "ipsec"]}));
    for (body, message) in [
        (json!({"action": "zz"}), "Field[action] checked failed: wrong action"),
        (json!({}), "Field[action] checked failed: required"),
    ] {
        assert_eq!(cnf.message(Method::PUT, "v1/service/mwan3", &body).await, (400, message.into()));
    }
    let restart = json!({"action": "restart"});
    assert_eq!(cnf.message(Method::PUT, "v1/service/mwan3", &restart).await, (200, "success".into()));
    assert_eq!(cnf.path.scopes().last(), Some(&ApplyScope::Service(Service::Mwan3)));
    let (applied, state) = (cnf.path.applied(), cnf.server.state());
    assert_eq!(applied.list(CollectionId::Mwan3Rules), state.config.list(CollectionId::Mwan3Rules));
    assert!(applied.list(CollectionId::Zones).is_empty());
    assert_eq!(cnf.server.counts().reloads, 1);
    cnf.path.fail(Some("no memory"));
    let (code, message) = cnf.message(Method::DELETE, "nat/v1/nats/n", "").await;
    assert!(code == 500 && message.contains("no memory"), "{message}");
    assert_eq!(cnf.server.state(), state);
}
