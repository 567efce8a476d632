//! Admission in the process: a plugin that completes and refuses objects of any kind.
//! `cargo run -p machinery-apiserver --example admission`

use std::error::Error;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use machinery_apiserver::{Admission, ApiServer, Attributes, Denied, Identity};
use machinery_objects::Writer;
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

/// Each ConfigMap has a team, that of its writer unless it names one, and keeps it.
struct Teams;

#[async_trait]
impl Admission for Teams {
    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Denied> {
        if attributes.resource == "configmaps" && object["metadata"]["labels"]["team"].is_null() {
            object["metadata"]["labels"]["team"] = json!(attributes.user.user);
        }
        Ok(())
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        let team = |object: Option<&Value>| object.map(|object| object["metadata"]["labels"]["team"].clone());
        if attributes.resource == "configmaps" && attributes.old.is_none() {
            // Other objects, all at one revision.
            let others = attributes.list::<ConfigMap>(attributes.namespace).await?.len();
            attributes.annotate("others", others.to_string()); // in the audit log
            if others >= 1 {
                attributes.warn("the namespace has a ConfigMap already");
            }
        }
        match (team(attributes.old), team(attributes.object)) {
            (Some(before), Some(now)) if before != now && attributes.resource == "configmaps" => {
                Err(Denied::new(format!("the team is {before}, and cannot become {now}")))
            }
            _ => Ok(()),
        }
    }
}

fn map(team: Option<&str>) -> ConfigMap {
    let labels = team.map(|team| [("team".to_owned(), team.to_owned())].into());
    let (namespace, name) = (Some("default".into()), Some("a".into()));
    ConfigMap { metadata: ObjectMeta { namespace, name, labels, ..Default::default() }, ..Default::default() }
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::builder(Memory::new(Options::default())).admission(Teams).start().await?;
    let maps = server.handle::<ConfigMap>(Identity::new("storage"));

    let written = maps.create(&map(None), None).await?.object;
    let team = written.metadata.labels.as_ref().and_then(|labels| labels.get("team")).cloned();
    assert_eq!(team.as_deref(), Some("storage"), "completed by the plugin");

    let refused = maps.update(&map(Some("network")), &Default::default()).await.unwrap_err();
    println!("{refused}");
    assert!(refused.to_string().contains("cannot become"), "{refused}");

    server.stop().await;
    Ok(())
}
