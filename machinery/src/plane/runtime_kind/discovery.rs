//! Resolution of a name by the discovery of a cluster.

use std::num::NonZeroU32;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use machinery_informers::Informer;
use machinery_informers::deliver::{Delivery, Events};
use machinery_kube::kube_client::{Client, Error};
use machinery_objects::{
    Freshness, Kind, ListAt, ListRequest, ListWatch, ObjectKey, ResourceVersion, Scope, SourceError,
};

use super::definitions::DefinitionMark;
use super::follow::{KindResolver, ResolvedKind};
use super::name::KindName;

/// Resolves a name by discovery; events of its definition are triggers.
pub(super) struct DiscoveryResolver {
    pub(super) client: Client,
    pub(super) name: KindName,
    pub(super) definitions: Informer<DefinitionMark>,
    pub(super) source: Arc<dyn ListWatch<DefinitionMark>>,
    pub(super) events: Option<Events<ObjectKey, Arc<DefinitionMark>>>,
}

impl KindResolver for DiscoveryResolver {
    fn resolve(&self) -> BoxFuture<'_, Result<ResolvedKind, SourceError>> {
        self.find().boxed()
    }

    fn changed(&mut self) -> BoxFuture<'_, ()> {
        let definition = self.definition();
        async move {
            while let Some(events) = &mut self.events {
                match events.next().await {
                    Some(Delivery::Event(key, _)) if Some(&key) == definition.as_ref() => return,
                    Some(_) => {}
                    None => self.events = None,
                }
            }
            std::future::pending().await
        }
        .boxed()
    }

    fn is_expected(&self) -> bool {
        self.definition().is_some_and(|definition| self.definitions.get(&definition).is_some())
    }
}

impl DiscoveryResolver {
    /// Returns the key of the definition that would have this name.
    fn definition(&self) -> Option<ObjectKey> {
        ObjectKey::new(None, &format!("{}.{}", self.name.plural(), self.name.group())).ok()
    }

    async fn find(&self) -> Result<ResolvedKind, SourceError> {
        for version in self.versions().await? {
            let api_version = match self.name.group() {
                "" => version.clone(),
                group => format!("{group}/{version}"),
            };
            let listed = match self.name.group() {
                "" => self.client.list_core_api_resources(&version).await,
                _ => self.client.list_api_group_resources(&api_version).await,
            };
            let Some(resources) = found(listed)? else { continue };
            if let Some(kind) = self.kind_in(&resources, &api_version)? {
                return Ok(ResolvedKind::Served(kind));
            }
        }
        Ok(ResolvedKind::Absent { at: self.version().await })
    }

    /// Returns the versions of the group, the preferred one first.
    async fn versions(&self) -> Result<Vec<String>, SourceError> {
        if let Some(version) = self.name.version() {
            return Ok(vec![version.to_owned()]);
        }
        if self.name.group().is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        let groups =
            found(self.client.list_api_groups().await)?.map(|groups| groups.groups).unwrap_or_default();
        let group = groups.into_iter().find(|group| group.name == self.name.group());
        let Some(group) = group else { return Ok(Vec::new()) };
        let preferred = group.preferred_version.into_iter().map(|version| version.version);
        let mut versions: Vec<_> = preferred.collect();
        for version in group.versions {
            if !versions.contains(&version.version) {
                versions.push(version.version);
            }
        }
        Ok(versions)
    }

    fn kind_in(&self, resources: &APIResourceList, api_version: &str) -> Result<Option<Kind>, SourceError> {
        let is_it = |resource: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource| {
            resource.name == self.name.plural() && resource.verbs.iter().any(|verb| verb == "list")
        };
        let Some(resource) = resources.resources.iter().find(is_it) else { return Ok(None) };
        let scope = if resource.namespaced { Scope::Namespaced } else { Scope::Cluster };
        let kind = Kind::new(api_version, &resource.kind, &resource.name, scope);
        kind.map(Some).map_err(|error| SourceError::Malformed { reason: error.to_string() })
    }

    /// Returns a version of the server, where definitions may be read.
    async fn version(&self) -> Option<ResourceVersion> {
        let request = ListRequest {
            limit: Some(NonZeroU32::MIN),
            at: ListAt::Fresh(Freshness::Newest),
            ..ListRequest::default()
        };
        self.source.list(request).await.ok().map(|page| page.version)
    }
}

/// Separates a missing document from errors.
fn found<T>(answer: Result<T, Error>) -> Result<Option<T>, SourceError> {
    match answer {
        Ok(document) => Ok(Some(document)),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(Error::Api(status)) if status.code == 403 => {
            Err(SourceError::Forbidden { reason: status.message.clone() })
        }
        Err(error) => Err(SourceError::Unavailable { reason: error.to_string(), retry_after: None }),
    }
}
