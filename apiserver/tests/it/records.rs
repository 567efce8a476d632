//! Kinds that are stored without a controller: subresources and versions as Kubernetes has them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery_apiserver::{ApiServer, Identity};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, widgets};

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

/// Each kind of the list, with the least object of it.
fn least() -> Vec<(&'static str, &'static str, Value)> {
    let selector = json!({"matchLabels": {"app": "a"}});
    let workload = json!({"selector": selector, "template": template()});
    let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}});
    let quantity = |of: &str| json!({"requests": {"storage": of}});
    vec![
        ("/apis/apps/v1", "statefulsets", json!({"spec": workload})),
        ("/apis/apps/v1", "daemonsets", json!({"spec": workload})),
        ("/apis/batch/v1", "jobs", json!({"spec": job})),
        (
            "/apis/batch/v1",
            "cronjobs",
            json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}),
        ),
        (
            "/api/v1",
            "persistentvolumes",
            json!({"spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}}}),
        ),
        (
            "/api/v1",
            "persistentvolumeclaims",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": quantity("1Gi")}}),
        ),
        (
            "/api/v1",
            "endpoints",
            json!({"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}),
        ),
        (
            "/apis/discovery.k8s.io/v1",
            "endpointslices",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}]}),
        ),
        ("/api/v1", "podtemplates", json!({"template": template()})),
        (
            "/api/v1",
            "replicationcontrollers",
            json!({"spec": {"selector": {"app": "a"}, "template": template()}}),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "ingresses",
            json!({"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}),
        ),
        ("/apis/networking.k8s.io/v1", "networkpolicies", json!({"spec": {"podSelector": {}}})),
        (
            "/apis/autoscaling/v2",
            "horizontalpodautoscalers",
            json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}),
        ),
        (
            "/apis/policy/v1",
            "poddisruptionbudgets",
            json!({"spec": {"minAvailable": 1, "selector": selector}}),
        ),
        ("/apis/scheduling.k8s.io/v1", "priorityclasses", json!({"value": 5})),
        ("/apis/storage.k8s.io/v1", "storageclasses", json!({"provisioner": "example.com/p"})),
        ("/apis/storage.k8s.io/v1", "csinodes", json!({"spec": {"drivers": []}})),
        ("/apis/node.k8s.io/v1", "runtimeclasses", json!({"handler": "h"})),
        ("/apis/certificates.k8s.io/v1", "certificatesigningrequests", signing_request()),
        ("/api/v1", "limitranges", json!({"spec": {"limits": [{"type": "Pod"}]}})),
    ]
}

fn signing_request() -> Value {
    let pem = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
    json!({"spec": {"request": STANDARD.encode(pem), "signerName": "example.com/s", "usages": ["client auth"]}})
}

/// Returns the path of a resource by its discovery document, with the names of its subresources.
async fn discovered(client: &Client, root: &str, plural: &str) -> (String, Vec<String>) {
    let resources = client.get(root).await.fine();
    let resources = resources["resources"].as_array().unwrap().clone();
    let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
    let found = resources.iter().find(|one| name(one) == plural).unwrap_or_else(|| panic!("no {plural}"));
    let path = match found["namespaced"] == true {
        true => format!("{root}/namespaces/default/{plural}"),
        false => format!("{root}/{plural}"),
    };
    let parts = resources
        .iter()
        .map(name)
        .filter_map(|name| Some(name.strip_prefix(&format!("{plural}/"))?.to_owned()));
    (path, parts.collect())
}

#[tokio::test]
async fn each_record_is_created_read_changed_and_deleted() {
    let (_server, client) = widgets().await;
    for (root, plural, mut object) in least() {
        let (path, parts) = discovered(&client, root, plural).await;
        object["metadata"] = json!({"name": "a", "labels": {"x": "y"}});
        let made = client.post(&path, &object).await.fine();
        let one = format!("{path}/a");
        let changed = client.merge(&one, &json!({"metadata": {"labels": {"x": "z"}}})).await.fine();
        assert_eq!(changed["metadata"]["labels"]["x"], "z", "{plural}");
        assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"]);
        for part in &parts {
            client.get(&format!("{one}/{part}")).await.fine();
        }
        let table = client
            .ask(http::Method::GET, &path, &[("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")], "")
            .await
            .fine();
        assert_eq!(
            table["rows"][0]["cells"].as_array().unwrap().len(),
            table["columnDefinitions"].as_array().unwrap().len()
        );
        let unknown = client
            .ask(
                http::Method::POST,
                &format!("{path}?fieldValidation=Strict"),
                &[("content-type", "application/json")],
                &json!({"metadata": {"name": "b"}, "odd": 1}).to_string(),
            )
            .await;
        assert_eq!(unknown.code, 400, "{plural}: {unknown:?}");
        client.delete(&one).await.fine();
        assert_eq!(client.get(&one).await.code, 404);
    }
}

#[tokio::test]
async fn records_have_the_subresources_of_kubernetes() {
    let (_server, client) = widgets().await;
    for (root, plural, expected) in [
        ("/apis/apps/v1", "statefulsets", &["scale", "status"][..]),
        ("/apis/apps/v1", "daemonsets", &["status"]),
        ("/api/v1", "replicationcontrollers", &["scale", "status"]),
        ("/apis/batch/v1", "jobs", &["status"]),
        ("/apis/batch/v1", "cronjobs", &["status"]),
        ("/api/v1", "persistentvolumes", &["status"]),
        ("/api/v1", "persistentvolumeclaims", &["status"]),
        ("/api/v1", "endpoints", &[]),
        ("/api/v1", "podtemplates", &[]),
        ("/api/v1", "limitranges", &[]),
        ("/apis/discovery.k8s.io/v1", "endpointslices", &[]),
        ("/apis/networking.k8s.io/v1", "ingresses", &["status"]),
        ("/apis/networking.k8s.io/v1", "networkpolicies", &[]),
        ("/apis/autoscaling/v1", "horizontalpodautoscalers", &["status"]),
        ("/apis/autoscaling/v2", "horizontalpodautoscalers", &["status"]),
        ("/apis/policy/v1", "poddisruptionbudgets", &["status"]),
        ("/apis/scheduling.k8s.io/v1", "priorityclasses", &[]),
        ("/apis/storage.k8s.io/v1", "storageclasses", &[]),
        ("/apis/certificates.k8s.io/v1", "certificatesigningrequests", &["approval", "status"]),
        ("/apis/apiregistration.k8s.io/v1", "apiservices", &["status"]),
    ] {
        let (_, mut parts) = discovered(&client, root, plural).await;
        parts.sort();
        assert_eq!(parts, expected, "{plural}");
    }
}

#[tokio::test]
async fn workloads_are_scaled() {
    let (_server, client) = widgets().await;
    for (path, selector) in [
        ("/apis/apps/v1/namespaces/default/statefulsets", "app=a"),
        ("/api/v1/namespaces/default/replicationcontrollers", "app=a"),
    ] {
        let (root, plural) = path.split_once("/namespaces/default/").unwrap();
        let (_, _, mut object) = least().into_iter().find(|one| one.0 == root && one.1 == plural).unwrap();
        object["metadata"] = json!({"name": "a"});
        object["spec"]["replicas"] = 2.into();
        client.post(path, &object).await.fine();
        let scale = client.get(&format!("{path}/a/scale")).await.fine();
        assert_eq!((&scale["spec"]["replicas"], &scale["status"]["selector"]), (&json!(2), &json!(selector)));
        client.merge(&format!("{path}/a/scale"), &json!({"spec": {"replicas": 5}})).await.fine();
        let scaled = client.get(&format!("{path}/a")).await.fine();
        assert_eq!((&scaled["spec"]["replicas"], &scaled["metadata"]["generation"]), (&json!(5), &json!(2)));
    }
}

#[tokio::test]
async fn an_approval_decides_a_signing_request() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::to(server.service(Identity::new("alice")));
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let one = format!("{path}/a");
    let mut request = signing_request();
    request["metadata"] = json!({"name": "a"});
    request["spec"]["username"] = "mallory".into();
    request["status"] = json!({"conditions": [{"type": "Approved", "status": "True"}]});
    let made = client.post(path, &request).await.fine();
    assert_eq!((&made["spec"]["username"], &made["status"]["conditions"]), (&json!("alice"), &Value::Null));
    let approval = json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "R"}], "certificate": "AAAA"}});
    // Neither the object itself nor its status decides.
    let main = client
        .merge(&one, &json!({"spec": {"signerName": "other.example.com/x"}, "status": approval["status"]}))
        .await
        .fine();
    assert_eq!((&main["spec"]["signerName"], main.get("status")), (&json!("example.com/s"), None));
    client.merge(&format!("{one}/status"), &approval).await.fine();
    let there = client.get(&one).await.fine();
    assert_eq!(there["status"]["conditions"].as_array().map_or(0, Vec::len), 0, "{there}");
    let approved = client.merge(&format!("{one}/approval"), &approval).await.fine();
    let condition = &approved["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["reason"]), (&json!("Approved"), &json!("R")));
    assert!(condition["lastUpdateTime"].is_string() && condition["lastTransitionTime"].is_string());
    assert_eq!(approved["status"]["certificate"], there["status"]["certificate"]);
    let denied = json!({"status": {"conditions": [{"type": "Denied", "status": "True"}]}});
    assert_eq!(client.merge(&format!("{one}/approval"), &denied).await.code, 422);
}

#[tokio::test]
async fn an_autoscaler_is_served_in_both_versions() {
    let (_server, client) = widgets().await;
    let of =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let first = json!({
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "targetCPUUtilizationPercentage": 60},
    });
    client.post(&of("v1"), &first).await.fine();
    let second = client.get(&format!("{}/a", of("v2"))).await.fine();
    let target = json!({"type": "Utilization", "averageUtilization": 60});
    assert_eq!(
        second["spec"]["metrics"],
        json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}])
    );
    let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
    client.merge(&format!("{}/a", of("v2")), &json!({"spec": {"metrics": [memory]}})).await.fine();
    let first = client.get(&format!("{}/a", of("v1"))).await.fine();
    assert!(first["spec"].get("targetCPUUtilizationPercentage").is_none(), "{first}");
    let kept = first["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].as_str().unwrap();
    let expected = json!([{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}]);
    assert_eq!(serde_json::from_str::<Value>(kept).unwrap(), expected);
    // A write in v1 keeps the metrics of v2.
    client.merge(&format!("{}/a", of("v1")), &json!({"spec": {"maxReplicas": 4}})).await.fine();
    let second = client.get(&format!("{}/a", of("v2"))).await.fine();
    assert_eq!((&second["spec"]["metrics"], &second["spec"]["maxReplicas"]), (&json!([memory]), &json!(4)));
}
