//! The objects that clients of a cluster expect: suites and operators look for them first.

use std::future::Future;
use std::time::Duration;

use machinery_apiserver::{ApiServer, ClusterFacts};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, definition};

const CA: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

async fn cluster() -> (ApiServer, Client) {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    server.maintain(ClusterFacts { root_ca: Some(CA.into()), port: Some(6443) }).await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// Waits until a condition holds.
async fn eventually<F: Future<Output = bool>>(described: &str, mut is_so: impl FnMut() -> F) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect(described);
}

async fn is_there(client: &Client, path: &str) -> bool {
    client.get(path).await.code == 200
}

#[tokio::test]
async fn every_namespace_has_a_default_account_and_the_root_certificate() {
    let (_server, client) = cluster().await;
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "made"}})).await.fine();
    for namespace in ["default", "kube-system", "made"] {
        let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        let config = format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt");
        eventually("both exist", || async {
            is_there(&client, &account).await && is_there(&client, &config).await
        })
        .await;
        let there = client.get(&config).await.fine();
        assert_eq!(there["data"], json!({"ca.crt": CA}));
        let described = there["metadata"]["annotations"]["kubernetes.io/description"].as_str().unwrap();
        assert!(described.starts_with("Contains a CA bundle that can be used to verify the kube-apiserver"));
        for path in [&account, &config] {
            let uid = client.get(path).await.fine()["metadata"]["uid"].clone();
            client.delete(path).await.fine();
            eventually("it is created again", || async {
                let found = client.get(path).await;
                found.code == 200 && found.body["metadata"]["uid"] != uid
            })
            .await;
        }
        client.merge(&config, &json!({"data": {"ca.crt": "other", "more": "x"}})).await.fine();
        eventually("it is corrected", || async {
            client.get(&config).await.fine()["data"] == json!({"ca.crt": CA})
        })
        .await;
    }
}

/// The ConfigMap of one namespace was changed and made immutable, so that its correction is refused
/// each time. Namespaces created later get their objects nonetheless.
#[tokio::test]
async fn an_immutable_config_map_keeps_no_other_namespace_from_its_objects() {
    let (_server, client) = cluster().await;
    let config = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    eventually("it exists", || is_there(&client, config)).await;
    client.merge(config, &json!({"immutable": true, "data": {"ca.crt": "other"}})).await.fine();
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "later"}})).await.fine();
    let account = "/api/v1/namespaces/later/serviceaccounts/default";
    eventually("the account exists", || is_there(&client, account)).await;
    assert_eq!(client.get(config).await.fine()["data"], json!({"ca.crt": "other"}));
}

/// The objects of a namespace in deletion are deleted, not created again.
#[tokio::test]
async fn a_namespace_with_default_objects_can_be_deleted() {
    let (_server, client) = cluster().await;
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "gone"}})).await.fine();
    let account = "/api/v1/namespaces/gone/serviceaccounts/default";
    eventually("the account exists", || is_there(&client, account)).await;
    client.delete("/api/v1/namespaces/gone").await.fine();
    eventually("the namespace is gone", || async { !is_there(&client, "/api/v1/namespaces/gone").await })
        .await;
    assert_eq!(client.get(account).await.code, 404);
}

#[tokio::test]
async fn the_service_of_the_server_is_created_again() {
    let (_server, client) = cluster().await;
    let path = "/api/v1/namespaces/default/services/kubernetes";
    let service = client.get(path).await.fine();
    assert_eq!(service["metadata"]["labels"], json!({"component": "apiserver", "provider": "kubernetes"}));
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    let port = json!({"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443});
    assert_eq!(service["spec"]["ports"], json!([port]));
    client.delete(path).await.fine();
    eventually("it is created again", || is_there(&client, path)).await;
}

fn is_available(service: &Value) -> bool {
    let condition = &service["status"]["conditions"][0];
    condition["type"] == "Available" && condition["status"] == "True" && condition["reason"] == "Local"
}

#[tokio::test]
async fn each_group_version_has_an_available_api_service() {
    let (_server, client) = cluster().await;
    let list = client.get(API_SERVICES).await.fine();
    let services = list["items"].as_array().unwrap();
    let names: Vec<&str> = services.iter().map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
    let groups = client.get("/apis").await.fine();
    let served = groups["groups"].as_array().unwrap().iter().flat_map(|group| {
        let name = group["name"].as_str().unwrap();
        let versions = group["versions"].as_array().unwrap().iter();
        versions.map(move |version| format!("{}.{name}", version["version"].as_str().unwrap()))
    });
    // The aggregator lists its own group without an APIService.
    let mut served: Vec<String> = served.filter(|name| !name.ends_with("apiregistration.k8s.io")).collect();
    served.push("v1.".into());
    served.sort();
    assert_eq!(names, served);
    assert!(services.iter().all(is_available), "{services:#?}");
    assert_eq!(
        services.iter().find(|one| one["metadata"]["name"] == "v1.apps").unwrap()["spec"],
        json!({
            "group": "apps", "version": "v1", "groupPriorityMinimum": 17_800, "versionPriority": 15,
        })
    );
}

#[tokio::test]
async fn api_services_of_definitions_come_and_go() {
    let (_server, client) = cluster().await;
    let of_widgets = format!("{API_SERVICES}/v1.example.com");
    assert_eq!(client.get(&of_widgets).await.code, 404);
    client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition()).await.fine();
    eventually("it exists", || is_there(&client, &of_widgets)).await;
    let service = client.get(&of_widgets).await.fine();
    assert!(is_available(&service));
    assert_eq!(service["spec"]["groupPriorityMinimum"], 1000);
    client.delete(&of_widgets).await.fine();
    eventually("it is created again", || is_there(&client, &of_widgets)).await;
    client.merge(&of_widgets, &json!({"spec": {"versionPriority": 7}})).await.fine();
    eventually("it is corrected", || async {
        client.get(&of_widgets).await.fine()["spec"]["versionPriority"] == 100
    })
    .await;
    // That of another writer stays.
    let other = json!({
        "metadata": {"name": "v1.other.example.com"},
        "spec": {
            "group": "other.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"namespace": "default", "name": "other"},
        },
    });
    let other = client.post(API_SERVICES, &other).await.fine();
    assert_eq!(other["spec"]["service"]["port"], 443);
    client.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com").await.fine();
    eventually("it is gone", || async { !is_there(&client, &of_widgets).await }).await;
    assert!(is_there(&client, &format!("{API_SERVICES}/v1.other.example.com")).await);
}
