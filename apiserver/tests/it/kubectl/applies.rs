//! kubectl commands for server-side apply: migration to it, conflicts, and scale.

use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};

use super::{DEFINITION, Kubectl, WIDGET};

#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_commands_work() {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let Some(kubectl) = Kubectl::start(&server).await else { return };
    tokio::task::spawn_blocking(move || script(&kubectl)).await.unwrap();
    server.stop().await;
}

fn script(kubectl: &Kubectl) {
    kubectl.says("create -f -", DEFINITION, &["created"]);
    kubectl.says("wait --for=condition=Established crd/widgets.example.com", "", &["condition met"]);
    custom(kubectl);
    gone_over(kubectl);
    how_many(kubectl);
    may(kubectl);
}

fn custom(kubectl: &Kubectl) {
    let spec = |kubectl: &Kubectl| {
        kubectl.run("get wd a -o jsonpath={.spec.color},{.spec.size},{.spec.replicas}", "").1
    };
    let green = WIDGET.replace("red", "green");
    kubectl.says(
        "apply --server-side -f - --dry-run=server",
        WIDGET,
        &["serverside-applied (server dry run)"],
    );
    kubectl.fails("get wd a", "", &["NotFound"]);
    kubectl.says("apply --server-side -f -", WIDGET, &["widget.example.com/a serverside-applied"]);
    kubectl.fails("diff --server-side -f -", &green, &["-  color: red", "+  color: green"]);
    kubectl.says("diff --server-side -f -", WIDGET, &[]);
    let other = "apply --server-side --field-manager=other -f -";
    let refused =
        ["Apply failed with 1 conflict: conflict with \"kubectl\": .spec.color", "--force-conflicts"];
    kubectl.fails(other, &green, &refused);
    kubectl.says(other, &WIDGET.replace("\"color\": \"red\"", "\"replicas\": 4"), &["serverside-applied"]);
    kubectl.says(&format!("{other} --force-conflicts"), &green, &["serverside-applied"]);
    // The forced apply names only the color, and so gives up the replicas.
    assert_eq!(spec(kubectl), "green,3,");
    kubectl.fails("apply --server-side -f -", WIDGET, &["conflict with \"other\": .spec.color"]);
    let (_, owners) =
        kubectl.run("get wd a --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}", "");
    assert_eq!(owners, "other");
}

/// Fields of an earlier client-side apply are no conflict, and can be removed.
fn gone_over(kubectl: &Kubectl) {
    let all = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}}"#;
    let some = all.replace(r#", "b": "2""#, "");
    let data = |kubectl: &Kubectl| kubectl.run("get cm c -o jsonpath={.data}", "").1;
    kubectl.says("apply -f -", all, &["configmap/c created"]);
    kubectl.says("apply --server-side -f -", &some, &["serverside-applied"]);
    assert_eq!(data(kubectl), r#"{"a":"1"}"#);
    kubectl.says("apply --server-side -f -", &some.replace("\"1\"", "\"3\""), &["serverside-applied"]);
    assert_eq!(data(kubectl), r#"{"a":"3"}"#);
    // And back.
    kubectl.says("apply -f -", all, &["configured"]);
    assert_eq!(data(kubectl), r#"{"a":"1","b":"2"}"#);
    kubectl.says("apply view-last-applied cm c", "", &["b: \"2\""]);
}

fn how_many(kubectl: &Kubectl) {
    kubectl.says("create deployment web --image=nginx --replicas=2", "", &["created"]);
    kubectl.says("scale deployment web --replicas=3", "", &["deployment.apps/web scaled"]);
    kubectl.fails(
        "scale deploy web --current-replicas=2 --replicas=4",
        "",
        &["Expected replicas to be 2, was 3"],
    );
    let path = "get deploy web --subresource=scale -o jsonpath={.spec.replicas},{.status.selector}";
    kubectl.says(path, "", &["3,app=web"]);
}

fn may(kubectl: &Kubectl) {
    kubectl.says("create role scaler --verb=patch --resource=deployments/scale", "", &["created"]);
    kubectl.says("create role viewer --verb=get --resource=deployments", "", &["created"]);
    kubectl.says("create rolebinding viewers --role=viewer --user=ann", "", &["created"]);
    kubectl.says("create rolebinding scalers --role=scaler --user=ann", "", &["created"]);
    kubectl.says("auth can-i patch deployments --subresource=scale --as ann", "", &["yes"]);
    kubectl.fails("auth can-i patch deployments --as ann", "", &["no"]);
    kubectl.says("auth can-i --list --as ann", "", &["deployments.apps/scale", "[patch]"]);
    kubectl.says("scale deploy web --replicas=5 --as ann", "", &["scaled"]);
    kubectl.fails("label deploy web a=b --as ann", "", &["Forbidden"]);
}
