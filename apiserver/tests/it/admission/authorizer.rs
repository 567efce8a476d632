//! Match conditions that use the authorizer.

use serde_json::{Value, json};

use super::hook::{Hook, configure, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, widgets};
use crate::rights::{server, who_may};

/// A webhook for each condition, called by its place.
async fn conditions(client: &Client, hook: &Hook, expressions: &[&str]) {
    let of = |(at, expression): (usize, &&str)| {
        let more = json!({"matchConditions": [{"name": "asks", "expression": expression}]});
        webhook(&format!("w{at}"), &hook.at(&format!("/{at}")), &more)
    };
    let hooks: Vec<Value> = expressions.iter().enumerate().map(of).collect();
    configure(client, &validating("all", &hooks)).await;
}

/// Returns the indexes of the called webhooks.
fn asked(hook: &Hook) -> Vec<usize> {
    let path = |path: &String| path.trim_start_matches('/').split('?').next()?.parse().ok();
    let mut asked: Vec<usize> = hook.paths().iter().filter_map(path).collect();
    asked.sort_unstable();
    asked
}

const ASKS: [&str; 7] = [
    "authorizer.group('example.com').resource('widgets').namespace('default').check('update').allowed()",
    "authorizer.group('example.com').resource('widgets').namespace('default').name('a').check('delete').allowed()",
    "authorizer.requestResource.check('create').allowed()",
    "authorizer.requestResource.namespace('other').check('create').allowed()",
    "authorizer.path('/metrics').check('get').allowed()",
    "authorizer.serviceAccount('default', 'robot').group('example.com').resource('widgets').namespace('default').check('get').allowed()",
    "authorizer.requestResource.check('create').reason() == 'RBAC: allowed by RoleBinding \"some/default\" of Role \"some\" to User \"ann\"'",
];

#[tokio::test]
async fn conditions_authorize_the_user_of_the_request() {
    let hook = Hook::allowing().await;
    let (server, admin) = server().await;
    let mine = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["create", "update"]});
    let ann = who_may(&server, &admin, json!([mine])).await;
    conditions(&admin, &hook, &ASKS).await;
    ann.post(WIDGETS, &widget("b", &json!({}))).await.fine();
    assert_eq!(asked(&hook), [0, 2, 6]);
    // For an administrator all webhooks are called but the one with another reason, and the one of
    // the robot.
    admin.post(WIDGETS, &widget("c", &json!({}))).await.fine();
    assert_eq!(asked(&hook), [0, 0, 1, 2, 2, 3, 4, 6]);
}

#[tokio::test]
async fn without_rbac_conditions_allow_everything() {
    let hook = Hook::allowing().await;
    let (_server, client) = widgets().await;
    conditions(&client, &hook, &ASKS).await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    assert_eq!(asked(&hook), [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn conditions_over_the_cost_budget_refuse_the_request() {
    let hook = Hook::allowing().await;
    let (_server, client) = widgets().await;
    let two = "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed()";
    let condition = |at: usize| json!({"name": format!("c{at}"), "expression": two});
    let more = |times: usize| json!({"matchConditions": (0..times).map(condition).collect::<Vec<_>>()});
    let hooks = |times: usize| [webhook("all", &hook.at("/here"), &more(times))];
    configure(&client, &validating("all", &hooks(3))).await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    assert_eq!(hook.paths().len(), 1);
    configure(&client, &validating("more", &hooks(4))).await;
    let refused = client.post(WIDGETS, &widget("b", &json!({}))).await;
    assert_eq!(refused.code, 403, "{:?}", refused.body);
    let said = refused.body["message"].as_str().unwrap();
    assert!(said.contains("running out of cost budget"), "{said}");
}
