//! A controller of a kind that is defined, deleted and defined again while the controller runs.
//!
//! `cargo run -p machinery --example kind_at_run_time`

use std::sync::Arc;

use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube_core::{DynamicObject, ResourceExt};
use machinery::objects::Kind;
use machinery::serde_json::{from_value, json};
use machinery::tokio::sync::mpsc;
use machinery::{Next, Run};

type Reports = mpsc::UnboundedSender<String>;

async fn reconcile(reports: Reports, widget: Arc<DynamicObject>, _: Run) -> machinery::Result<Next> {
    reports.send(format!("reconciled {}", widget.name_any()))?;
    Ok(Next::Done)
}

async fn report(reports: Reports, state: String, _: Run) -> machinery::Result<Next> {
    reports.send(state)?;
    Ok(Next::Done)
}

fn definition(scope: &str) -> machinery::Result<CustomResourceDefinition> {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    Ok(from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": scope,
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    }))?)
}

#[machinery::tokio::main(crate = "machinery::tokio")]
async fn main() -> machinery::Result {
    let plane = machinery::embedded().start().await?;
    let (reports, mut reported) = mpsc::unbounded_channel();
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com")?; // it does not exist yet
    let controller = plane.controller_of_kind("widgets", &widgets);
    let by_name = machinery::with(reports.clone(), reconcile);
    plane.spawn(async { controller.run(by_name).await.map(drop) });
    let states = plane.controller_of_requests::<String>("states").when_kind_changes(&widgets, |kind| {
        [kind.map_or("no kind".to_owned(), |kind: &Kind| format!("{kind} is {:?}", kind.scope()))]
    });
    let by_state = machinery::with(reports, report);
    plane.spawn(async { states.run(by_state).await.map(drop) });

    let definitions = plane.writer::<CustomResourceDefinition>()?;
    let writes = plane.writer_of_kind(&widgets);
    let mut expect = async |expected: &str| -> machinery::Result {
        while reported.recv().await.ok_or("the controller has ended")? != expected {}
        println!("{expected}");
        Ok(())
    };
    expect("no kind").await?;
    for (scope, namespace) in [("Namespaced", Some("default")), ("Cluster", None)] {
        definitions.create(&definition(scope)?, None).await?;
        expect(&format!("widgets.example.com is {scope}")).await?;
        let name = format!("a-{}", scope.to_lowercase());
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": { "name": name, "namespace": namespace },
        });
        writes.create(&from_value(widget)?, None).await?;
        expect(&format!("reconciled {name}")).await?;
        definitions.delete(&"widgets.example.com".parse()?, &Default::default()).await?;
        expect("no kind").await?;
    }
    plane.stop().await;
    Ok(())
}
