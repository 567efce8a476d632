//! A controller of a kind that is defined and deleted while the controller runs.
//! `cargo run -p machinery --example kind_at_run_time`
//!
//! The program knows the kind by its name only, and decodes its objects without a type.

use std::sync::Arc;
use std::time::Duration;

use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube_core::DynamicObject;
use machinery::objects::{Object, ObjectKey};
use machinery::serde_json::{from_value, json};
use machinery::tokio::sync::mpsc::unbounded_channel;
use machinery::tokio::time::sleep;
use machinery::{Next, Run};

fn definition() -> machinery::Result<CustomResourceDefinition> {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    Ok(from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    }))?)
}

fn widget(size: u32) -> machinery::Result<DynamicObject> {
    Ok(from_value(json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"}, "spec": {"size": size},
    }))?)
}

/// Runs the example.
#[machinery::tokio::main(crate = "machinery::tokio", flavor = "current_thread")]
pub async fn main() -> machinery::Result {
    let plane = machinery::embedded().start().await?;
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com")?; // it need not exist yet
    let (sender, mut sizes) = unbounded_channel();
    let reconcile = move |widget: Arc<DynamicObject>, _: Run| {
        let sender = sender.clone();
        async move {
            let _ = sender.send(widget.data["spec"]["size"].as_u64());
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = plane.controller_of_kind("widgets", &widgets);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    assert!(widgets.kind().is_none());

    let (definitions, writer) =
        (plane.objects::<CustomResourceDefinition>()?, plane.writer_of_kind(&widgets));
    for size in [1, 2] {
        // The second time the kind was deleted, with its objects, and is defined again.
        definitions.create(&definition()?).await?;
        while writer.create(&widget(size)?, None).await.is_err() {
            sleep(Duration::from_millis(5)).await; // not served yet
        }
        while sizes.recv().await.ok_or("a run")? != Some(u64::from(size)) {}
        println!("reconciled a widget of size {size}");

        definitions.delete(&"widgets.example.com".parse()?).await?;
        let key: ObjectKey = "widgets.example.com".parse()?;
        while definitions.list(&Default::default()).await?.iter().any(|defined| defined.key() == key) {
            sleep(Duration::from_millis(5)).await; // its objects are deleted first
        }
    }
    plane.stop().await;
    Ok(())
}
