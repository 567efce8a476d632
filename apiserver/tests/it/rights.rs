//! Users with one right try to gain another: by subresources, collections, names, encodings,
//! bodies.

use http::Method;
use machinery_apiserver::{ApiServer, Identity};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, definition};
use crate::controllers::{collected, gone};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ONE: &str = "/apis/example.com/v1/namespaces/default/widgets/a";
const STATUS: &str = "/apis/example.com/v1/namespaces/default/widgets/a/status";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

/// A server with roles, and the administrator's client.
pub(crate) async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().crds([definition()]);
    let server = server.start().await.unwrap();
    let admin = Client::of(&server);
    admin.post(ALL, &widget("a")).await.fine();
    (server, admin)
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

/// Returns the client of a user with only these rights in the namespace `default`.
pub(crate) async fn who_may(server: &ApiServer, admin: &Client, rules: Value) -> Client {
    admin.post(ROLES, &json!({"metadata": {"name": "some"}, "rules": rules})).await.fine();
    let binding = json!({
        "metadata": {"name": "some"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    });
    admin.post(BINDINGS, &binding).await.fine();
    let ann = Client::to(server.service(Identity::new("ann")));
    // The grant applies soon after: the rules follow the store.
    let first = &rules[0];
    for _ in 0..1000 {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "namespace": "default", "verb": first["verbs"][0], "group": first["apiGroups"][0],
                "resource": first["resources"][0].as_str().unwrap().split('/').next(),
                "subresource": first["resources"][0].as_str().unwrap().split('/').nth(1),
                "name": first["resourceNames"][0],
            }},
        });
        let answer = ann.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await;
        if answer.body["status"]["allowed"] == true {
            return ann;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("what was granted does not hold");
}

fn of_widgets(verbs: &[&str], resources: &[&str]) -> Value {
    json!([{"apiGroups": ["example.com"], "resources": resources, "verbs": verbs}])
}

#[track_caller]
fn forbidden(answer: &crate::client::Answer) {
    assert_eq!((answer.code, answer.refused().1), (403, "Forbidden"), "{answer:?}");
}

#[tokio::test]
async fn list_rights_do_not_include_get_watch_or_deletecollection() {
    let (server, admin) = server().await;
    let ann = who_may(&server, &admin, of_widgets(&["list"], &["widgets"])).await;
    ann.get(ALL).await.fine();
    ann.get(&format!("{ALL}?fieldSelector=spec.color%3Dred&labelSelector=x")).await.fine();
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    for watch in ["?watch=1", "?watch=true", "?watch", "?watch=1&fieldSelector=metadata.name%3Da", "?watch=x"]
    {
        forbidden(&ann.get(&format!("{ALL}{watch}")).await);
        forbidden(&ann.ask(Method::GET, &format!("{ALL}{watch}"), &table, "").await);
    }
    for path in [ONE, STATUS, "/apis/example.com/v1/widgets", "/api/v1/namespaces/default/secrets"] {
        forbidden(&ann.get(path).await);
        forbidden(&ann.ask(Method::GET, path, &table, "").await);
        assert_eq!(ann.ask(Method::HEAD, path, &[], "").await.code, 403, "{path}");
    }
    for delete in [ALL, ONE, &format!("{ALL}?dryRun=All"), &format!("{ALL}?fieldSelector=metadata.name%3Da")]
    {
        forbidden(&ann.delete(delete).await);
    }
    for form in ["?dryRun=All", "?fieldManager=x", ""] {
        forbidden(&ann.post(&format!("{ALL}{form}"), &widget("b")).await);
        forbidden(&ann.put(&format!("{ONE}{form}"), &widget("a")).await);
        forbidden(&ann.merge(&format!("{ONE}{form}"), &json!({"spec": {"color": "blue"}})).await);
    }
    admin.get(ONE).await.fine();
}

#[tokio::test]
async fn rights_to_one_name_include_no_other_and_no_collection() {
    let (server, admin) = server().await;
    let mut rules = of_widgets(&["get", "list", "watch", "delete", "patch"], &["widgets"]);
    rules[0]["resourceNames"] = json!(["a"]);
    let ann = who_may(&server, &admin, rules).await;
    ann.get(ONE).await.fine();
    ann.get(&format!("{ALL}?fieldSelector=metadata.name%3Da")).await.fine();
    for query in [
        "",
        "?fieldSelector=metadata.name%3Db",
        "?fieldSelector=metadata.name!%3Da",
        "?fieldSelector=spec.color%3Da",
        "?labelSelector=metadata.name%3Da",
        "?fieldSelector=",
    ] {
        forbidden(&ann.get(&format!("{ALL}{query}")).await);
    }
    // Of two names the alphabetically first is used, as in Kubernetes, and no object has both.
    for names in ["metadata.name%3Da%2Cmetadata.name%3Db", "metadata.name%3Db%2Cmetadata.name%3Da"] {
        let both = ann.get(&format!("{ALL}?fieldSelector={names}")).await.fine();
        assert_eq!(both["items"], json!([]), "{names}");
    }
    forbidden(&ann.get(&format!("{ALL}/b")).await);
    forbidden(&ann.delete(ALL).await);
    forbidden(&ann.get(STATUS).await);
    // A patch does not create a missing object, and the right to patch is no right to create.
    assert_eq!(ann.merge(ONE, &json!({"spec": {"size": 2}})).await.code, 200);
    forbidden(&ann.merge(&format!("{ALL}/new"), &widget("new")).await);
}

#[tokio::test]
async fn an_object_and_its_status_are_two_things() {
    let (server, admin) = server().await;
    let ann = who_may(&server, &admin, of_widgets(&["get", "update", "patch"], &["widgets/status"])).await;
    forbidden(&ann.merge(ONE, &json!({"spec": {"color": "blue"}})).await);
    let claim = json!({
        "metadata": {"labels": {"tenant": "b"}, "finalizers": ["example.com/x"], "deletionTimestamp": "2020-01-01T00:00:00Z"},
        "spec": {"color": "blue"}, "status": {"ready": true},
    });
    let made = ann.merge(STATUS, &claim).await.fine();
    assert_eq!((&made["spec"]["color"], &made["status"]["ready"]), (&json!("red"), &json!(true)));
    let meta = &made["metadata"];
    assert!(meta["finalizers"].is_null() && meta["deletionTimestamp"].is_null(), "{meta}");
    // And conversely: a writer of the object cannot forge the status of its controller.
    let forged =
        admin.merge(ONE, &json!({"status": {"ready": "forged"}, "spec": {"color": "green"}})).await.fine();
    assert_eq!((&forged["spec"]["color"], &forged["status"]["ready"]), (&json!("green"), &json!(true)));
    let mut created = widget("c");
    created["status"] = json!({"ready": "forged"});
    assert!(admin.post(ALL, &created).await.fine()["status"].is_null());
}

#[tokio::test]
async fn rights_beyond_ones_own_cannot_be_granted() {
    let (server, admin) = server().await;
    let roles = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"],
        "verbs": ["create", "update", "patch", "get"]}]);
    let ann = who_may(&server, &admin, roles).await;
    let role = |name: &str, rules: Value| json!({"metadata": {"name": name}, "rules": rules});
    forbidden(&ann.post(ROLES, &role("more", of_widgets(&["get"], &["widgets"]))).await);
    for verb in ["escalate", "bind", "impersonate", "*"] {
        let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": [verb]}]);
        forbidden(&ann.post(ROLES, &role("more", rules)).await);
    }
    forbidden(
        &ann.merge(&format!("{ROLES}/some"), &json!({"rules": of_widgets(&["get"], &["widgets"])})).await,
    );
    let operations = [("content-type", "application/json-patch+json")];
    let add = json!([{"op": "add", "path": "/rules/0/verbs/-", "value": "escalate"}]).to_string();
    forbidden(&ann.ask(Method::PATCH, &format!("{ROLES}/some"), &operations, &add).await);
    for (name, expected) in [
        ("cluster-admin", (403, "Forbidden")),
        ("admin", (403, "Forbidden")),
        ("edit", (403, "Forbidden")),
        ("none", (404, "NotFound")),
    ] {
        let binding = json!({
            "metadata": {"name": "mine"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        });
        let refused = ann.post(BINDINGS, &binding).await;
        assert_eq!((refused.code, refused.refused().1), expected, "{name}: {refused:?}");
        assert_eq!(admin.get(&format!("{BINDINGS}/mine")).await.code, 404);
    }
    // His own binding leads to another role no more than it did.
    let other = json!({"roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}});
    let refused = ann.merge(&format!("{BINDINGS}/some"), &other).await;
    assert_eq!((refused.code, refused.refused().1), (422, "Invalid"), "{refused:?}");
    assert!(refused.refused().2.ends_with(": cannot change roleRef"), "{refused:?}");
    forbidden(&ann.get(ONE).await);
    // He may grant the rights that he has.
    let less =
        json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["get"]}]);
    ann.post(ROLES, &role("less", less)).await.fine();
}

/// An aggregated role was shown without rules, so that it seemed to grant nothing.
#[tokio::test]
async fn an_aggregated_role_has_the_rules_of_its_parts() {
    const OURS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let store = Memory::new(Options::default());
    let start = || async { ApiServer::builder(store.clone()).rbac().start().await.unwrap() };
    let servers = [start().await, start().await];
    let [admin, other] = servers.each_ref().map(Client::of);
    let of_view = |role: &Value| role["rules"].as_array().cloned().unwrap_or_default();
    let rules = of_view(&admin.get(&format!("{OURS}/view")).await.fine());
    assert!(!rules.is_empty(), "it has what is there at the start");
    let own = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]});
    let part = json!({"metadata": {"name": "part", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, "rules": [own]});
    admin.post(OURS, &part).await.fine();
    let until = async |client: &Client, role: &str, has: bool| {
        for _ in 0..1000 {
            if of_view(&client.get(&format!("{OURS}/{role}")).await.fine()).contains(&own) == has {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{role} does not say what it has");
    };
    // Aggregation includes the rules of aggregated roles.
    for role in ["view", "edit", "admin"] {
        until(&other, role, true).await;
    }
    other.delete(&format!("{OURS}/part")).await.fine();
    for role in ["view", "edit", "admin"] {
        until(&admin, role, false).await;
    }
    // Wait until two servers have caught up.
    let at = |role: Value| role["metadata"]["resourceVersion"].clone();
    let before = at(admin.get(&format!("{OURS}/view")).await.fine());
    collected(&admin).await;
    assert_eq!(at(other.get(&format!("{OURS}/view")).await.fine()), before);
}

#[tokio::test]
async fn a_body_cannot_change_the_namespace_or_revision_of_a_request() {
    let (server, admin) = server().await;
    let ann = who_may(&server, &admin, of_widgets(&["create", "update", "patch", "get"], &["widgets"])).await;
    let mut elsewhere = widget("x");
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    assert_eq!(ann.post(ALL, &elsewhere).await.refused().1, "BadRequest");
    let mut forged = widget("forged");
    forged["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z".into();
    forged["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555".into();
    forged["metadata"]["generation"] = 50.into();
    forged["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
    let made = ann.post(ALL, &forged).await.fine();
    let meta = &made["metadata"];
    assert!(meta["deletionTimestamp"].is_null() && meta["generation"] == 1, "{meta}");
    assert!(
        meta["uid"] != forged["metadata"]["uid"] && meta["creationTimestamp"] != "2020-01-01T00:00:00Z",
        "{meta}"
    );
    let patch =
        json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}});
    assert_eq!(ann.merge(ONE, &patch).await.refused().1, "Invalid");
    assert!(admin.get(ONE).await.fine()["metadata"]["deletionTimestamp"].is_null());
    forbidden(&ann.delete(ONE).await);
}

/// An owner reference puts the dependent at risk, and not the owner. As in Kubernetes, where only
/// an optional admission plugin requires more.
#[tokio::test]
async fn an_owner_reference_gives_no_rights_to_other_objects() {
    let (server, admin) = server().await;
    let every = ["create", "update", "patch", "get", "delete"];
    let ann = who_may(&server, &admin, of_widgets(&every, &["widgets"])).await;
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).await.fine();
    let far = "/apis/example.com/v1/namespaces/other/widgets";
    let near = "/api/v1/namespaces/default/configmaps";
    let theirs = [
        admin.post(far, &widget("theirs")).await.fine(),
        admin.post(near, &json!({"metadata": {"name": "theirs"}})).await.fine(),
    ];
    let owned = |name: &str, owner: &Value| {
        let mut object = widget(name);
        object["metadata"]["ownerReferences"] = owners(owner, "theirs");
        object
    };
    // A dependent of an owner in another namespace, or of one that never existed, is deleted.
    ann.post(ALL, &owned("of-far", &theirs[0])).await.fine();
    ann.post(
        ALL,
        &owned("of-none", &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"uid": "1"}})),
    )
    .await
    .fine();
    gone(&admin, &format!("{ALL}/of-far")).await;
    gone(&admin, &format!("{ALL}/of-none")).await;
    // A dependent of another user's object stays with it, and is deleted alone.
    ann.post(ALL, &owned("of-near", &theirs[1])).await.fine();
    collected(&admin).await;
    ann.get(&format!("{ALL}/of-near")).await.fine();
    ann.delete(&format!("{ALL}/of-near?propagationPolicy=Foreground")).await.fine();
    gone(&admin, &format!("{ALL}/of-near")).await;
    // An object that she may not write cannot become a dependent of hers.
    let hers = ann.post(ALL, &widget("hers")).await.fine();
    let claim = json!({"metadata": {"ownerReferences": owners(&hers, "hers")}});
    for path in [format!("{far}/theirs"), format!("{near}/theirs")] {
        forbidden(&ann.merge(&path, &claim).await);
        let whole = admin.get(&path).await.fine();
        let [mut put, add] = [
            whole.clone(),
            json!([{"op": "add", "path": "/metadata/ownerReferences", "value": owners(&hers, "hers")}]),
        ];
        put["metadata"]["ownerReferences"] = owners(&hers, "hers");
        forbidden(&ann.put(&path, &put).await);
        let operations = [("content-type", "application/json-patch+json")];
        forbidden(&ann.ask(Method::PATCH, &path, &operations, &add.to_string()).await);
        let applied = [("content-type", "application/apply-patch+yaml")];
        forbidden(
            &ann.ask(Method::PATCH, &format!("{path}?fieldManager=ann"), &applied, &claim.to_string()).await,
        );
    }
    ann.delete(&format!("{ALL}/hers")).await.fine();
    collected(&admin).await;
    for (path, before) in [far, near].into_iter().zip(&theirs) {
        assert_eq!(admin.get(&format!("{path}/theirs")).await.fine(), *before, "as it was");
    }
    admin.get(ONE).await.fine();
}

fn owners(of: &Value, name: &str) -> Value {
    json!([{
        "apiVersion": of["apiVersion"], "kind": of["kind"], "name": name, "uid": of["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }])
}

#[tokio::test]
async fn removing_a_finalizer_requires_write_rights() {
    let (server, admin) = server().await;
    let rules = json!([
        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["delete", "get"]},
        {"apiGroups": ["example.com"], "resources": ["widgets/status"], "verbs": ["update", "patch"]},
    ]);
    let ann = who_may(&server, &admin, rules).await;
    let held = json!({"metadata": {"finalizers": ["example.com/cleanup"]}});
    admin.merge(ONE, &held).await.fine();
    let free = json!({"metadata": {"finalizers": null}});
    let check = async |when: &str| {
        forbidden(&ann.merge(ONE, &free).await);
        let operations = [("content-type", "application/json-patch+json")];
        let remove = json!([{"op": "remove", "path": "/metadata/finalizers"}]).to_string();
        forbidden(&ann.ask(Method::PATCH, ONE, &operations, &remove).await);
        let mut whole = admin.get(ONE).await.fine();
        whole["metadata"]["finalizers"] = json!([]);
        forbidden(&ann.put(ONE, &whole).await);
        // The status is hers to write, and the finalizers are not in it.
        ann.merge(STATUS, &free).await.fine();
        ann.ask(Method::PATCH, STATUS, &operations, &remove).await.fine();
        ann.put(STATUS, &whole).await.fine();
        let left = admin.get(ONE).await.fine();
        assert_eq!(left["metadata"]["finalizers"], held["metadata"]["finalizers"], "{when}");
    };
    check("before it is deleted").await;
    for how in ["?gracePeriodSeconds=0", "?propagationPolicy=Background", "?propagationPolicy=Orphan", ""] {
        ann.delete(&format!("{ONE}{how}")).await.fine();
        collected(&admin).await;
        assert!(admin.get(ONE).await.fine()["metadata"]["deletionTimestamp"].is_string(), "{how}");
    }
    check("while it is deleted").await;
    // A user who may write it can remove the finalizer.
    admin.merge(ONE, &free).await.fine();
    gone(&admin, ONE).await;
}

/// `kubectl --as`: each impersonated attribute has to be allowed.
#[tokio::test]
async fn impersonation_gives_exactly_the_rights_of_the_impersonated_user() {
    let (server, admin) = server().await;
    let ann = who_may(&server, &admin, of_widgets(&["get"], &["widgets"])).await;
    let roles = json!({"metadata": {"name": "stands-for-ann"}, "rules": [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["ann"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["dev"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scopes"], "verbs": ["impersonate"]},
    ]});
    admin.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", &roles).await.fine();
    let binding = json!({
        "metadata": {"name": "stands-for-ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stands-for-ann"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    });
    admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await.fine();
    let bob = Client::to(server.service(Identity::new("bob")));
    let reads = |headers: &'static [(&str, &str)]| bob.ask(Method::GET, ONE, headers, "");
    let mut tries = 0;
    while reads(&[("impersonate-user", "ann")]).await.code != 200 {
        tries += 1;
        assert!(tries < 1000, "what was granted does not hold");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    forbidden(&bob.get(ONE).await);
    let whole =
        &[("impersonate-user", "ann"), ("impersonate-group", "dev"), ("impersonate-extra-scopes", "read")];
    assert_eq!(reads(whole).await.code, 200);
    // Ann may not delete, so bob may not as ann.
    let refused = bob.ask(Method::DELETE, ONE, whole, "").await;
    forbidden(&refused);
    assert!(refused.refused().2.contains("User \"ann\" cannot delete"), "{refused:?}");

    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let told = [&whole[..], &[("content-type", "application/json")]].concat();
    let told =
        bob.ask(Method::POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &told, &review).await;
    let info =
        json!({"username": "ann", "groups": ["dev", "system:authenticated"], "extra": {"scopes": ["read"]}});
    assert_eq!(told.fine()["status"]["userInfo"], info);

    for (headers, cannot) in [
        (&[("impersonate-user", "eve")][..], "cannot impersonate resource \"users\" in API group \"\""),
        (&[("impersonate-user", "ann"), ("impersonate-group", "system:masters")], "resource \"groups\""),
        (&[("impersonate-user", "ann"), ("impersonate-uid", "7")], "resource \"uids\""),
        (&[("impersonate-user", "ann"), ("impersonate-extra-other", "x")], "resource \"userextras/other\""),
        (&[("impersonate-user", "system:serviceaccount:default:x")], "resource \"serviceaccounts\""),
    ] {
        let refused = bob.ask(Method::GET, ONE, headers, "").await;
        forbidden(&refused);
        let message = refused.refused().2;
        assert!(message.contains("User \"bob\" cannot") && message.contains(cannot), "{message}");
    }
    forbidden(&ann.ask(Method::GET, ONE, &[("impersonate-user", "admin")], "").await);
    let unclear = reads(&[("impersonate-group", "dev")]).await;
    assert_eq!(unclear.code, 400, "{unclear:?}");
    // An administrator may do that, too.
    let masters = &[("impersonate-user", "eve"), ("impersonate-group", "system:masters")];
    assert_eq!(admin.ask(Method::DELETE, ONE, masters, "").await.code, 200);
}
