//! The webhook over TLS, as an API server calls it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use http::Request;
use kos::model::{API_VERSION, GROUP, VERSION};
use machinery::kube::kube_client::{Client, Config};
use serde_json::{Value, json};

struct WebhookClient(Client);

impl WebhookClient {
    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(serde_json::to_vec(body).unwrap()).unwrap();
        self.0.request(request).await.map_err(|error| error.to_string())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviews_are_answered_over_tls() {
    let home = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [certificate, key] = ["tls.crt", "tls.key"].map(|name| home.path().join(name));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut hook = Command::new(env!("CARGO_BIN_EXE_kos"))
        .args(["webhook", "--listen", "127.0.0.1:0", "--tls-cert"])
        .arg(&certificate)
        .arg("--tls-key")
        .arg(&key)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = BufReader::new(hook.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    let mut config = Config::new(format!("https://localhost:{port}").parse().unwrap());
    config.root_cert = Some(vec![made.cert.der().to_vec()]);
    let client = WebhookClient(Client::try_from(config).unwrap());

    let subnet = |vni: u32| {
        json!({
            "apiVersion": API_VERSION, "kind": "Subnet", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"vni": vni, "ipv4": "10.0.0.0/24"},
        })
    };
    let review = |vni: u32| {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": GROUP, "version": VERSION, "kind": "Subnet"}, "operation": "CREATE",
            "resource": {"group": GROUP, "version": VERSION, "resource": "subnets"},
            "userInfo": {"username": "ann"}, "object": subnet(vni), "oldObject": null,
        }})
    };
    let answer = client.post("/mutate", &review(1)).await.unwrap();
    assert_eq!(
        (&answer["response"]["allowed"], &answer["response"]["patchType"]),
        (&true.into(), &"JSONPatch".into())
    );
    let answer = client.post("/validate", &review(1)).await.unwrap();
    assert_eq!(answer["response"], json!({"uid": "u", "allowed": true}));
    let answer = client.post("/validate", &review(0)).await.unwrap();
    assert_eq!(answer["response"]["allowed"], false);
    assert!(answer["response"]["status"]["message"].as_str().unwrap().contains("must be in [1,2097151]"));
    for (path, body) in [("/validate", json!({})), ("/nowhere", json!({}))] {
        client.post(path, &body).await.unwrap_err();
    }
    client.post("/mutate", &json!({"request": {"uid": "x".repeat(9 << 20)}})).await.unwrap_err();
    client.post("/validate", &review(1)).await.unwrap();
    hook.kill().unwrap();
    hook.wait().unwrap();
}
