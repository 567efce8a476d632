//! ReplicaSets: one for each template.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use sha2::{Digest as _, Sha256};

use super::{DeploymentView, PodsBySet};

/// The label of sets and pods with the hash of their template.
const HASH_LABEL: &str = "pod-template-hash";
/// The annotation of a set with its number among those of the Deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Sets without replicas that are kept, if the Deployment names no number.
const HISTORY: i32 = 10;

/// Returns the hash of a Deployment's template.
pub(super) fn template_hash(deployment: &Deployment) -> String {
    let template = &deployment.spec.template;
    let bytes = serde_json::to_vec(template).unwrap_or_default();
    Sha256::digest(bytes).iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the set of the present template.
pub(super) fn newest(view: &DeploymentView<'_>, hash: &str) -> Option<Arc<ReplicaSet>> {
    view.sets.iter().find(|set| label(set, HASH_LABEL) == Some(hash)).cloned()
}

/// Returns the set of the present template, to be created without replicas.
pub(super) fn create(view: &DeploymentView<'_>, hash: &str) -> Option<ReplicaSet> {
    let (metadata, spec) = (&view.deployment.metadata, &view.deployment.spec);
    let mut template = spec.template.clone();
    let hashed = |labels: Option<BTreeMap<String, String>>| {
        let mut labels = labels.unwrap_or_default();
        labels.insert(HASH_LABEL.into(), hash.into());
        Some(labels)
    };
    let pods = template.metadata.get_or_insert_default();
    pods.labels = hashed(pods.labels.take());
    let selector = LabelSelector {
        match_labels: hashed(spec.selector.match_labels.clone()),
        match_expressions: spec.selector.match_expressions.clone(),
    };
    let revision = view.sets.iter().map(|set| revision(set)).max().unwrap_or_default() + 1;
    Some(ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", metadata.name.as_deref()?)),
            namespace: metadata.namespace.clone(),
            labels: pods.labels.clone(),
            annotations: Some([(REVISION.to_owned(), revision.to_string())].into()),
            owner_references: Some(vec![owner("apps/v1", "Deployment", metadata)?]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(0),
            selector,
            min_ready_seconds: spec.min_ready_seconds,
            template: Some(template),
        },
        status: None,
    })
}

/// Returns the sets without replicas and pods that the history has no room for.
pub(super) fn beyond_history<'a>(
    view: &DeploymentView<'a>,
    newest: &Arc<ReplicaSet>,
    by_set: &PodsBySet<'_>,
) -> impl Iterator<Item = Arc<ReplicaSet>> + use<'a> {
    let limit = view.deployment.spec.revision_history_limit;
    let limit = usize::try_from(limit.unwrap_or(HISTORY)).unwrap_or_default();
    let is_unused = |set: &&Arc<ReplicaSet>| {
        !Arc::ptr_eq(set, newest) && replicas(set) == 0 && !by_set.contains_key(uid(set))
    };
    let mut unused: Vec<_> = view.sets.iter().filter(is_unused).cloned().collect();
    unused.sort_by_key(|set| revision(set));
    let beyond = unused.len().saturating_sub(limit);
    unused.into_iter().take(beyond)
}

/// Returns the owner reference of a controller.
pub(super) fn owner(version: &str, kind: &str, metadata: &ObjectMeta) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: version.into(),
        kind: kind.into(),
        name: metadata.name.clone()?,
        uid: metadata.uid.clone()?,
        controller: Some(true),
        block_owner_deletion: Some(true),
    })
}

/// Returns the UID of a set.
pub(super) fn uid(set: &ReplicaSet) -> &str {
    set.metadata.uid.as_deref().unwrap_or_default()
}

/// Returns the number of replicas that a set shall have.
pub(super) fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

/// Returns the number of a set among those of its Deployment.
pub(super) fn revision(set: &ReplicaSet) -> i64 {
    let annotations = set.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(REVISION)?.parse().ok()).unwrap_or_default()
}

fn label<'a>(set: &'a ReplicaSet, name: &str) -> Option<&'a str> {
    set.metadata.labels.as_ref()?.get(name).map(String::as_str)
}
