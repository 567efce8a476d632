//! The facts about one CNF, from the caches.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery::k8s_openapi::api::core::v1::Pod;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as SelectorSpec;
use machinery::objects::LabelSelector;
use serde_json::Value;

use super::sources::Sources;
use crate::model::{CnfKey, CollectionId, Networks, SECRET_REFERENCE, SdewanObject};
use crate::plan::{CnfSituation, CrInput, assess};

/// The facts about one CNF.
pub(super) struct CnfFacts {
    /// The CRs of the CNF, and those that were applied to it, with the place of their kind in
    /// [`Sources::kinds`].
    pub(super) crs: Vec<(usize, CrInput)>,
    pub(super) situation: CnfSituation,
    pub(super) networks: Networks,
    /// The names of the Secrets that CRs and pods name.
    pub(super) secrets: BTreeSet<String>,
}

impl CnfFacts {
    /// Reads the caches.
    pub(super) fn read(sources: &Sources, cnf: &CnfKey) -> Self {
        let mut crs = Vec::new();
        for (number, kind) in sources.kinds.iter().enumerate() {
            let snapshot = kind.objects.read();
            let objects = snapshot.by(&kind.by_cnf, cnf);
            let input =
                |object: &Arc<SdewanObject>| CrInput { resource: kind.resource, object: object.clone() };
            crs.extend(objects.map(|(_, object)| (number, input(object))));
        }
        let (deployments, sets, pods) = sources.workload(cnf);
        let (situation, networks) = assess(&deployments, &sets, &pods);
        let mut secrets = BTreeSet::new();
        for pod in situation.pods() {
            secrets.extend(pod.account_secret.iter().chain(&pod.cert_secret).cloned());
        }
        for (_, cr) in &crs {
            let references = cr.object.spec.iter().filter(|(field, _)| field.ends_with(SECRET_REFERENCE));
            let names = references.filter_map(|(_, reference)| reference.get("name")?.as_str());
            secrets.extend(names.map(str::to_owned));
        }
        Self { crs, situation, networks, secrets }
    }
}

/// Returns the namespace of an application's pods.
pub(super) fn application_namespace(application: &SdewanObject) -> &str {
    let named = application.spec.get("appNamespace").and_then(Value::as_str);
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| application.namespace())
}

/// Returns the addresses of the pods of an application, sorted, with commas between them; `None`
/// for objects of other kinds.
pub(super) fn addresses(sources: &Sources, cr: &CrInput) -> Option<String> {
    if cr.resource.kind.collection != Some(CollectionId::Applications) {
        return None;
    }
    let object = &cr.object;
    let selector = selector_of(object.spec.get("podSelector"));
    let namespace = application_namespace(object);
    let pods = sources.pods.read();
    let selected = pods.iter().filter(|(key, _)| key.namespace() == Some(namespace)).filter(|(_, pod)| {
        selector.as_ref().is_some_and(|selector| is_selected(selector, pod)) && is_running(pod)
    });
    let addresses: BTreeSet<_> = selected
        .filter_map(|(_, pod)| pod.status.as_ref()?.pod_ip.clone())
        .filter(|ip| !ip.is_empty())
        .collect();
    Some(addresses.into_iter().collect::<Vec<_>>().join(","))
}

/// Reads a label selector; an absent or empty one selects nothing here, as a rule for every pod of
/// a namespace is a mistake.
fn selector_of(selector: Option<&Value>) -> Option<LabelSelector> {
    let selector: SelectorSpec = serde_json::from_value(selector?.clone()).ok()?;
    let is_empty = selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty())
        && selector.match_expressions.as_ref().is_none_or(|all| all.is_empty());
    if is_empty { None } else { LabelSelector::try_from(&selector).ok() }
}

fn is_selected(selector: &LabelSelector, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    selector.matches_by(|name| labels?.get(name).map(String::as_str))
}

fn is_running(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}
