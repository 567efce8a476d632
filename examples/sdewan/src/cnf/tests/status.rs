use serde_json::json;

use super::filled::filled;
use super::*;

#[machinery::tokio::test]
async fn legacy_services_have_the_codes_of_the_original() {
    let limits = CnfLimits { lookup: std::time::Duration::from_secs(2), ..CnfLimits::default() };
    let cnf = TestCnf::with(None, limits).await;
    let path = "service/v1/services";
    let service = json!({"name": "s", "fullname": "localhost", "port": "80", "dport": "81"});
    assert_eq!(cnf.send(Method::POST, path, &service).await.json(), service);
    assert_eq!(cnf.send(Method::GET, path, "").await.json(), json!({"services": [service]}));
    assert_eq!(cnf.send(Method::GET, "service/v1/services/s", "").await.json(), service);
    let refused = (409, "Duplicated Service Configuration".to_owned());
    assert_eq!(cnf.message(Method::POST, path, &service).await, refused);
    let unknown = json!({"name": "u", "fullname": "name.invalid", "port": "90", "dport": "91"});
    let timeout = (408, "Timeout: waiting for service ready...".to_owned());
    assert_eq!(cnf.message(Method::POST, path, &unknown).await, timeout);
    let range = json!({"name": "t", "fullname": "localhost", "port": "65535", "dport": "81"});
    assert_eq!(cnf.message(Method::POST, path, &range).await, (416, "Invalid Port Range".into()));
    assert_eq!(
        cnf.message(Method::GET, "service/v1/services/t", "").await,
        (404, "Cannot find service[t]".into())
    );
    assert_eq!(cnf.message(Method::PUT, "service/v1/services/s", "{}").await.0, 405);
    assert_eq!(cnf.message(Method::DELETE, "service/v1/services/s", "").await, (200, "success".into()));
}

#[machinery::tokio::test]
async fn the_status_reports_facts_and_configured_connections() {
    let cnf = filled().await;
    let status = cnf.send(Method::GET, "v1/status", "").await.json();
    let names: Vec<_> = status.as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, STATUS_MODULES);
    let ipsec = cnf.send(Method::GET, "v1/status/ipsec", "").await.json();
    assert_eq!(ipsec["status"]["InitConnection"], "fail");
    assert_eq!(ipsec["status"]["details"][0]["connection"], "hub-c");
    let mut facts = DeviceFacts::of_nics(["net0"]);
    facts.up.insert("hub-c".into());
    facts.modules.insert("arp".into(), json!([{"ip": "10.0.0.9", "mac": "aa:bb:cc:dd:ee:ff"}]));
    cnf.server.set_facts(facts);
    let ipsec = cnf.send(Method::GET, "v1/status/ipsec", "").await.json();
    assert_eq!(ipsec["status"]["InitConnection"], "success");
    assert_eq!(cnf.send(Method::GET, "v1/status/arp", "").await.json()["status"][0]["ip"], "10.0.0.9");
    assert_eq!(cnf.send(Method::GET, "v1/status/interface", "").await.json()["status"][0]["name"], "net0");
}
