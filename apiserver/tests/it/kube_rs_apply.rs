//! A controller by kube-rs that uses only server-side apply: for its definition, its dependents,
//! and its status.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use kube_client::api::{DeleteParams, Patch, PatchParams};
use kube_client::{Api, Client, ResourceExt};
use kube_core::Resource;
use kube_runtime::controller::{Action, Controller};
use kube_runtime::wait::{await_condition, conditions};
use kube_runtime::watcher;
use serde_json::{Value, json};

use crate::kube_rs::{in_process, over_tls, within};
use crate::typed::{Widget, widget};

#[tokio::test]
async fn a_controller_that_applies_what_it_owns_works_unmodified() {
    let (_server, client) = in_process().await;
    works(client).await;
    let (plane, client) = over_tls().await;
    works(client).await;
    plane.stop().await;
}

/// The controller's field manager.
const KEEPER: &str = "keeper.example.com";

async fn works(client: Client) {
    define(&client).await;
    let mut running = tokio::task::JoinSet::new();
    running.spawn(keeper(client.clone()));
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let widgets: Api<Widget> = Api::default_namespaced(client);
    let user = PatchParams::apply("user").force();

    let made = widgets.patch("a", &user, &Patch::Apply(widget("a", "red"))).await.unwrap();
    let child = follows(&configs, "red").await;
    assert_eq!(child.owner_references(), &[made.controller_owner_ref(&()).unwrap()]);
    assert_eq!(managers(&child), [(KEEPER.to_owned(), json!({"f:color": {}}))]);

    // Another manager's field stays, whatever the controller applies; a write of the controller's
    // field is a conflict.
    let other = PatchParams::apply("other");
    configs.patch("a", &other, &Patch::Apply(told(&json!({"note": "mine"})))).await.unwrap();
    let refused = configs.patch("a", &other, &Patch::Apply(told(&json!({"color": "mine"})))).await;
    let Err(kube_client::Error::Api(status)) = refused else { panic!("{refused:?}") };
    assert!(status.is_conflict() && status.message.contains(KEEPER), "{status:?}");
    widgets.patch("a", &user, &Patch::Apply(widget("a", "green"))).await.unwrap();
    let child = follows(&configs, "green").await;
    assert_eq!(child.data.as_ref().unwrap()["note"], "mine");
    let both = [(KEEPER.to_owned(), json!({"f:color": {}})), ("other".to_owned(), json!({"f:note": {}}))];
    assert_eq!(managers(&child), both);

    // A change or deletion by another client is reverted.
    let changed = Patch::Apply(told(&json!({"color": "pink", "note": "mine"})));
    configs.patch("a", &other.clone().force(), &changed).await.unwrap();
    follows(&configs, "green").await;
    configs.delete("a", &DeleteParams::default()).await.unwrap();
    let again = follows(&configs, "green").await;
    assert_ne!(again.uid(), child.uid());

    // A run that finds all as it should be writes nothing.
    let touched = Patch::Merge(json!({"metadata": {"annotations": {"touched": "yes"}}}));
    widgets.patch("a", &PatchParams::default(), &touched).await.unwrap();
    eventually("it looked again", async || {
        widgets.get("a").await.unwrap().status.is_some_and(|status| status.phase == "green, touched")
    })
    .await;
    assert_eq!(configs.get("a").await.unwrap().resource_version(), again.resource_version());

    widgets.delete("a", &DeleteParams::default()).await.unwrap();
    eventually("it is gone with its owner", async || configs.get_opt("a").await.unwrap().is_none()).await;
    running.shutdown().await;
}

/// Applies the definition twice, as a controller does whenever it starts.
async fn define(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply(KEEPER).force();
    let mut revisions = Vec::new();
    for _ in 0..2 {
        let patch = Patch::Apply(Widget::crd());
        definitions.patch("widgets.example.com", &params, &patch).await.unwrap();
        let established =
            await_condition(definitions.clone(), "widgets.example.com", conditions::is_crd_established());
        revisions.push(within(established).await.unwrap().unwrap().resource_version());
    }
    assert_eq!(revisions[0], revisions[1]);
}

/// Keeps a ConfigMap for each widget, and reports it in the widget's status.
async fn keeper(client: Client) {
    let reconcile = |widget: Arc<Widget>, client: Arc<Client>| async move {
        let params = PatchParams::apply(KEEPER).force();
        let color = widget.spec.color.as_deref().unwrap_or("none");
        let mut child = told(&json!({"color": color}));
        child["metadata"] =
            json!({"name": widget.name_any(), "ownerReferences": [widget.controller_owner_ref(&())]});
        let configs: Api<ConfigMap> = Api::default_namespaced((*client).clone());
        configs.patch(&widget.name_any(), &params, &Patch::Apply(child)).await?;
        let touched = if widget.annotations().contains_key("touched") { ", touched" } else { "" };
        let phase = format!("{color}{touched}");
        let status = json!({"apiVersion": "example.com/v1", "kind": "Widget", "status": {"phase": phase}});
        let widgets: Api<Widget> = Api::default_namespaced((*client).clone());
        widgets.patch_status(&widget.name_any(), &params, &Patch::Apply(status)).await?;
        Ok::<_, kube_client::Error>(Action::await_change())
    };
    let (widgets, configs) =
        (Api::default_namespaced(client.clone()), Api::<ConfigMap>::default_namespaced(client.clone()));
    Controller::new(widgets, watcher::Config::default())
        .owns(configs, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(50)), Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
}

fn told(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data})
}

/// The config map, as soon as it has this color.
async fn follows(configs: &Api<ConfigMap>, color: &str) -> ConfigMap {
    let what = format!("the config map is {color}");
    eventually(&what, async || {
        let now = configs.get_opt("a").await.unwrap().and_then(|config| config.data);
        now.is_some_and(|data| data["color"] == color)
    })
    .await;
    configs.get("a").await.unwrap()
}

async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..3000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("after half a minute still not: {what}");
}

/// Returns the data applied by each manager, by name.
fn managers(config: &ConfigMap) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for entry in config.managed_fields() {
        assert_eq!(entry.operation.as_deref(), Some("Apply"));
        let fields = entry.fields_v1.as_ref().map(|fields| fields.0["f:data"].clone());
        all.push((entry.manager.clone().unwrap(), fields.unwrap()));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}
