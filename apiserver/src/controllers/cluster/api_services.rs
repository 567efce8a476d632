//! One APIService for each served group and version. Those of CustomResourceDefinitions come and go
//! with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_store::{Entry, Range};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::created;
use crate::controllers::start::ensure;
use crate::controllers::trigger::{ChangeTrigger, RETRY_DELAY};
use crate::controllers::writes::{self, DeleteMode};
use crate::crd::{condition, set_condition};
use crate::discovery::group_priority;
use crate::kind::{Kind, Subresource};
use crate::native::{self, api_service};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::meta_text;
use crate::verbs::output::read;

/// The label of APIServices that the server maintains: `onstart` for built-in groups, `true` for
/// those of definitions.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The priorities of the versions of definitions.
const OF_DEFINITIONS: ApiPriority = ApiPriority { group: 1000, version: 100 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ApiPriority {
    group: u32,
    version: u32,
}

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let changes = |kind: &Kind| ChangeTrigger::new(shared.clone(), kind.place.span(None));
    let (mut definitions, mut services) = (changes(&native::definition()), changes(&native::api_service()));
    loop {
        tokio::select! {
            biased;
            () = definitions.next() => {}
            () = services.next() => {}
        }
        while reconcile(&shared).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

/// Creates missing APIServices, corrects changed ones, and deletes those of groups and versions
/// that are no longer served.
pub(super) async fn reconcile(shared: &Shared) -> Result<(), Refusal> {
    let kind = native::api_service();
    let mut wanted = desired(shared).await?;
    let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
    for entry in &listed.entries {
        let Ok(object) = read(&kind, entry, entry.modified) else { continue };
        let is_managed = object["metadata"]["labels"][MANAGED].is_string();
        match wanted.remove(meta_text(&object, "name")) {
            Some(service) if is_managed && object["spec"] != service["spec"] => {
                let spec = service["spec"].clone();
                let corrected = |object: &mut Value| object["spec"] = spec.clone();
                writes::update(shared, &kind, entry, Subresource::Main, corrected).await?;
            }
            None if is_managed => writes::delete(shared, &kind, entry, DeleteMode::default()).await?,
            _ => mark_available(shared, &kind, entry, &object).await?,
        }
    }
    for service in wanted.into_values() {
        created(ensure(shared, &kind, service).await)?;
    }
    Ok(())
}

/// A local APIService is always available.
async fn mark_available(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    object: &Value,
) -> Result<(), Refusal> {
    if !api_service::is_local(object) || condition(object, "Available") == Some("True") {
        return Ok(());
    }
    let (now, available) = (shared.environment.time(), api_service::available());
    let text = |field: &str| available[field].as_str().unwrap_or_default();
    let marked = |object: &mut Value| {
        set_condition(object, "Available", text("status"), text("reason"), text("message"), &now);
    };
    writes::update(shared, kind, entry, Subresource::Status, marked).await
}

/// Returns the APIServices of all served groups and versions, by name. As in Kubernetes, their own
/// group has none.
async fn desired(shared: &Shared) -> Result<BTreeMap<String, Value>, Refusal> {
    let mut wanted = BTreeMap::new();
    let mut want = |group: &str, version: &str, managed: &str, priority: ApiPriority| {
        let name = format!("{version}.{group}");
        wanted.entry(name.clone()).or_insert_with(|| service(&name, (group, version), managed, priority));
    };
    for kind in native::kinds().filter(|kind| &*kind.group != api_service::GROUP) {
        want(&kind.group, &kind.version, "onstart", built_in(&kind.group, &kind.version));
    }
    for kind in &shared.own {
        want(&kind.group, &kind.version, "true", OF_DEFINITIONS);
    }
    let definition = native::definition();
    let listed = shared.objects.list(Range::of(definition.place.span(None)), Moment::Newest).await?;
    for entry in &listed.entries {
        let Ok(crd) = read(&definition, entry, entry.modified) else { continue };
        let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        for version in versions.filter(|version| version["served"] == true) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            want(&text(&crd["spec"]["group"]), &text(&version["name"]), "true", OF_DEFINITIONS);
        }
    }
    Ok(wanted)
}

/// The priorities of kube-apiserver.
fn built_in(group: &str, version: &str) -> ApiPriority {
    let version = match (group, version) {
        ("", _) => 1,
        (_, "v2") => 30,
        _ => 15,
    };
    ApiPriority { group: group_priority(group), version }
}

fn service(name: &str, (group, version): (&str, &str), managed: &str, priority: ApiPriority) -> Value {
    let mut service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": name, "labels": {MANAGED: managed}},
        "spec": {
            "version": version, "groupPriorityMinimum": priority.group, "versionPriority": priority.version,
        },
    });
    if !group.is_empty() {
        service["spec"]["group"] = group.into();
    }
    service
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_those_of_kubernetes() {
        for (group, version, expected) in [
            ("", "v1", (18_000, 1)),
            ("apps", "v1", (17_800, 15)),
            ("autoscaling", "v2", (17_500, 30)),
            ("autoscaling", "v1", (17_500, 15)),
            ("discovery.k8s.io", "v1", (16_200, 15)),
            ("node.k8s.io", "v1", (16_300, 15)),
        ] {
            let ApiPriority { group: of_group, version: of_version } = built_in(group, version);
            assert_eq!((of_group, of_version), expected, "{group}/{version}");
        }
    }
}
