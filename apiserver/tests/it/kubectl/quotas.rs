//! kubectl commands for quotas.

use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};

use super::Kubectl;

#[tokio::test(flavor = "multi_thread")]
async fn quota_commands_work() {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let Some(kubectl) = Kubectl::start(&server).await else { return };
    tokio::task::spawn_blocking(move || script(&kubectl)).await.unwrap();
    server.stop().await;
}

fn script(kubectl: &Kubectl) {
    kubectl.says("create quota q --hard=count/secrets=2,configmaps=3", "", &["resourcequota/q created"]);
    let not_held = [
        "resourcequota/gpus created",
        "Warning: spec.hard[example.com/gpu]: is not enforced: this server counts objects",
    ];
    kubectl.says("create quota gpus --hard=example.com/gpu=4", "", &not_held);
    kubectl.says("create secret generic a", "", &["created"]);
    kubectl.says("create secret generic b", "", &["created"]);
    let why = [
        "secrets \"c\" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: \
         count/secrets=2",
    ];
    kubectl.fails("create secret generic c", "", &why);
    kubectl.fails("create secret generic c --dry-run=server", "", &why);
    let all = ["NAME", "REQUEST", "LIMIT", "AGE", "configmaps: 0/3, count/secrets: 2/2"];
    kubectl.says("get quota", "", &all);
    let table = ["Name:", "Resource", "Used", "Hard", "configmaps     0     3", "count/secrets  2     2"];
    kubectl.says("describe quota q", "", &table);
    kubectl.says("get resourcequotas q -o jsonpath={.status.used}", "", &[r#""count/secrets":"2""#]);
    kubectl.says("describe namespace default", "", &["Resource Quotas", "count/secrets    2     2"]);
    kubectl.says("delete secret a", "", &["deleted"]);
    kubectl.says("create secret generic c", "", &["created"]);
    let map = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"m\"}}";
    kubectl.says("apply -f -", map, &["created"]);
    kubectl.says("apply --server-side -f -", map, &["serverside-applied"]);
    kubectl.says("delete secret b c", "", &["deleted"]);
    // Deleted objects are soon no longer counted.
    let says = |_| kubectl.run("get quota q", "").1.contains("configmaps: 1/3, count/secrets: 0/2");
    assert!((0..300).any(says));
    kubectl.says("delete quota q", "", &["deleted"]);
}
