//! The informers of the agent, and the CNFs that their events concern.

use std::sync::Arc;

use machinery::informers::{Index, Interest, KeyedInformers, Lookup};
use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use machinery::k8s_openapi::api::core::v1::{Pod, Secret};
use machinery::kube_core::ObjectMeta;
use machinery::objects::{Event, InterestBy, NAMESPACE, ObjectKey, Writer};
use machinery::{Objects, Plane, PlaneController, RuntimeKind};

use super::memory::Memory;
use crate::model::names::PURPOSE_LABEL;
use crate::model::{CnfKey, SdewanKind, SdewanObject, ServedResource};

/// The informers and writers of the agent.
#[derive(Clone)]
pub(super) struct Sources {
    /// The kinds that have a REST collection, in each of their groups.
    pub(super) kinds: Arc<[KindSource]>,
    pub(super) deployments: Objects<Deployment>,
    deployments_of: Index<CnfKey>,
    pub(super) sets: Objects<ReplicaSet>,
    sets_of: Index<String>,
    pub(super) pods: Objects<Pod>,
    pods_of: Index<String>,
    pub(super) secrets: KeyedInformers<String, Secret>,
}

/// An interest in the Secrets of a namespace.
pub(super) type SecretInterest = Interest<String, Secret>;

/// The objects of one kind in one group.
pub(super) struct KindSource {
    pub(super) resource: ServedResource,
    pub(super) objects: RuntimeKind<SdewanObject>,
    pub(super) by_cnf: Index<CnfKey>,
    pub(super) writer: Arc<dyn Writer<SdewanObject>>,
}

impl Sources {
    /// Starts the informers.
    pub(super) fn start(plane: &Plane) -> machinery::Result<Self> {
        let mut kinds = Vec::new();
        for resource in SdewanKind::all_served().filter(|resource| resource.kind.collection.is_some()) {
            let (objects, by_cnf) = plane.kind_named_with(&resource.name(), |informer| {
                informer.index(|object: &SdewanObject| object.cnfs())
            })?;
            let writer = plane.writer_of_kind(&objects);
            kinds.push(KindSource { resource, objects, by_cnf, writer });
        }
        let (deployments, deployments_of) = plane.objects_with::<Deployment, _>(|informer| {
            informer.index(|one: &Deployment| cnf_of(&one.metadata))
        })?;
        let (sets, sets_of) = plane.objects_with::<ReplicaSet, _>(|informer| {
            informer.index(|one: &ReplicaSet| owner_of(&one.metadata))
        })?;
        let (pods, pods_of) =
            plane.objects_with::<Pod, _>(|informer| informer.index(|one: &Pod| owner_of(&one.metadata)))?;
        // By namespace: one watch for those of all CNFs in it, and none for other namespaces.
        let by_namespace = InterestBy::Field(NAMESPACE.into());
        let secrets = plane
            .keyed_informers::<Secret, String>(by_namespace, |secret| secret.metadata.namespace.clone())?
            .build();
        plane.run_keyed("secrets of sdewan", &secrets)?;
        let kinds = kinds.into();
        Ok(Self { kinds, deployments, deployments_of, sets, sets_of, pods, pods_of, secrets })
    }

    /// Adds the informers as sources of a controller of CNFs.
    pub(super) fn watched_by(
        &self,
        mut controller: PlaneController<CnfKey, CnfKey>,
        memory: &Arc<Memory>,
    ) -> machinery::Result<PlaneController<CnfKey, CnfKey>> {
        for kind in &*self.kinds {
            let finalizer = kind.resource.kind.finalizer;
            controller = controller.watching_kind(&kind.objects, move |event: &Event<Arc<SdewanObject>>| {
                cnfs_of_event(event, finalizer)
            });
        }
        let applications = self.applications();
        controller = controller
            .watching::<Deployment, _>(|event: &Event<Arc<Deployment>>| {
                states(event, |one| cnf_of(&one.metadata))
            })?
            .watching::<ReplicaSet, _>(|event: &Event<Arc<ReplicaSet>>| {
                states(event, |one| cnf_of(&one.metadata))
            })?
            .watching::<Pod, _>(move |event: &Event<Arc<Pod>>| {
                let mut keys =
                    if is_news(event) { states(event, |one| cnf_of(&one.metadata)) } else { Vec::new() };
                keys.extend(applications(&event.object().metadata));
                keys
            })?;
        let memory = memory.clone();
        let secrets = &self.secrets;
        Ok(controller.watching_keyed("secrets", secrets, move |_, event: &Event<Arc<Secret>>| {
            let metadata = &event.object().metadata;
            let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
            memory.users_of_secret(namespace.unwrap_or_default(), name.unwrap_or_default())
        }))
    }

    /// Returns a function to the CNFs whose applications select a pod's namespace.
    fn applications(&self) -> impl Fn(&ObjectMeta) -> Vec<CnfKey> + Send + Sync + 'static + use<> {
        let kinds = self.kinds.clone();
        move |pod| {
            let kind = kinds.iter().find(|kind| kind.resource.kind.kind == "SdewanApplication");
            let Some(kind) = kind else { return Vec::new() };
            let snapshot = kind.objects.read();
            let concerned = snapshot.iter().filter(|(_, application)| {
                super::facts::application_namespace(application)
                    == pod.namespace.as_deref().unwrap_or_default()
            });
            concerned.flat_map(|(_, application)| application.cnfs()).collect()
        }
    }

    /// Returns the name of a kind that the server does not serve.
    pub(super) fn missing_kind(&self) -> Option<String> {
        let missing = self.kinds.iter().find(|kind| kind.objects.kind().is_none())?;
        Some(missing.resource.name())
    }

    /// Returns the Deployments of a CNF, and all ReplicaSets and pods below them.
    pub(super) fn workload(
        &self,
        cnf: &CnfKey,
    ) -> (Vec<Arc<Deployment>>, Vec<Arc<ReplicaSet>>, Vec<Arc<Pod>>) {
        let (deployments, sets, pods) = (self.deployments.read(), self.sets.read(), self.pods.read());
        let deployments: Vec<_> =
            deployments.by(&self.deployments_of, cnf).map(|(_, one)| one.clone()).collect();
        let uids = deployments.iter().filter_map(|one| one.metadata.uid.as_deref());
        let sets: Vec<_> =
            uids.flat_map(|uid| sets.by(&self.sets_of, uid)).map(|(_, one)| one.clone()).collect();
        let uids = sets.iter().filter_map(|one| one.metadata.uid.as_deref());
        let pods = uids.flat_map(|uid| pods.by(&self.pods_of, uid)).map(|(_, one)| one.clone()).collect();
        (deployments, sets, pods)
    }

    /// Returns a value of a Secret from the cache, or the reason why there is none.
    pub(super) fn secret(&self, namespace: &str, name: &str, key: &str) -> Result<Vec<u8>, String> {
        let at =
            ObjectKey::new(Some(namespace), name).map_err(|error| format!("Secret {name:?}: {error}"))?;
        let secret = match self.secrets.newest(&at) {
            Lookup::Unique(_, secret) => secret,
            _ => return Err(format!("Secret {at} does not exist")),
        };
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        value.map(|bytes| bytes.0.clone()).ok_or_else(|| format!("Secret {at} has no key {key:?}"))
    }
}

/// Returns the CNF of labelled metadata.
pub(super) fn cnf_of(metadata: &ObjectMeta) -> Option<CnfKey> {
    let purpose = metadata.labels.as_ref()?.get(PURPOSE_LABEL).filter(|purpose| !purpose.is_empty())?;
    Some(CnfKey { namespace: metadata.namespace.clone().unwrap_or_default(), purpose: purpose.clone() })
}

fn owner_of(metadata: &ObjectMeta) -> Option<String> {
    let owners = metadata.owner_references.as_ref()?;
    Some(owners.iter().find(|owner| owner.controller == Some(true))?.uid.clone())
}

/// Returns the keys of the old and the new state.
fn states<T>(event: &Event<Arc<T>>, key_of: impl Fn(&T) -> Option<CnfKey>) -> Vec<CnfKey> {
    let old = match event {
        Event::Updated { old, .. } => key_of(old),
        _ => None,
    };
    let mut keys: Vec<_> = key_of(event.object()).into_iter().chain(old).collect();
    keys.dedup();
    keys
}

/// Returns the CNFs that a change of a CR concerns; none for the agent's own writes of statuses and
/// finalizers.
fn cnfs_of_event(event: &Event<Arc<SdewanObject>>, finalizer: &str) -> Vec<CnfKey> {
    let mut keys = event.object().cnfs();
    if let Event::Updated { old, object: new } = event {
        let is_change = old.metadata.generation != new.metadata.generation
            || old.metadata.labels != new.metadata.labels
            || old.metadata.uid != new.metadata.uid
            || old.is_being_deleted() != new.is_being_deleted()
            || old.applied_to() != new.applied_to()
            || (old.has_finalizer(finalizer) && !new.has_finalizer(finalizer));
        if !is_change {
            return Vec::new();
        }
        keys.extend(old.cnfs());
        keys.sort_unstable();
        keys.dedup();
    }
    keys
}

/// Returns whether an event of a pod changes what the agent reads of it.
fn is_news(event: &Event<Arc<Pod>>) -> bool {
    let Event::Updated { old, object: new } = event else { return true };
    let seen = |pod: &Pod| {
        let status = pod.status.clone().unwrap_or_default();
        let ready = status.conditions.unwrap_or_default().into_iter().find(|one| one.type_ == "Ready");
        let restarts: i32 =
            status.container_statuses.unwrap_or_default().iter().map(|one| one.restart_count).sum();
        let metadata = &pod.metadata;
        let terminating = metadata.deletion_timestamp.is_some();
        let identity = (metadata.uid.clone(), metadata.labels.clone(), terminating);
        (ready.map(|one| one.status), restarts, status.pod_ip, status.phase, identity)
    };
    seen(old) != seen(new)
}
