//! The kinds by group and version, in the order of discovery.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::version::{by_priority, groups_by_priority};
use super::{KindInfo, Page, aggregated, plain};
use crate::accept::DiscoveryVersion;

/// The discovery documents. They are built when the kinds change; frequent ones are rendered once,
/// on first use.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// All groups but the core group.
    named: Vec<Group>,
    core: Option<Group>,
    groups: OnceLock<Page>,
    aggregated: [OnceLock<Page>; 4],
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    /// The preferred version first. Never empty.
    pub(super) versions: Vec<Version>,
}

#[derive(Debug)]
pub(super) struct Version {
    pub(super) name: String,
    /// Sorted by plural.
    pub(super) kinds: Vec<Arc<KindInfo>>,
}

impl Discovery {
    pub(crate) fn new(kinds: impl IntoIterator<Item = Arc<KindInfo>>) -> Self {
        let mut sorted: BTreeMap<String, BTreeMap<String, Vec<Arc<KindInfo>>>> = BTreeMap::new();
        for kind in kinds {
            let versions = sorted.entry(kind.group.clone()).or_default();
            versions.entry(kind.version.clone()).or_default().push(kind);
        }
        let mut named: Vec<Group> =
            sorted.into_iter().map(|(name, versions)| Group::new(name, versions)).collect();
        named.sort_by(|a, b| groups_by_priority(&a.name, &b.name));
        let core = named.iter().position(|group| group.name.is_empty()).map(|at| named.remove(at));
        Self { named, core, ..Self::default() }
    }

    /// `/api`; `address` is the server's address for clients.
    pub(crate) fn api_versions(&self, address: &str) -> Value {
        plain::api_versions(self.core.as_ref(), address)
    }

    /// `/apis`
    pub(crate) fn groups(&self) -> &Page {
        self.groups.get_or_init(|| Page::render(&plain::groups(&self.named)))
    }

    /// `/apis/GROUP`
    pub(crate) fn group(&self, name: &str) -> Option<Value> {
        self.named.iter().find(|group| group.name == name).map(plain::group)
    }

    /// `/apis/GROUP/VERSION`, or `/api/v1` for the core group.
    pub(crate) fn resources(&self, group: &str, version: &str) -> Option<Value> {
        let group = if group.is_empty() {
            self.core.as_ref()
        } else {
            self.named.iter().find(|one| one.name == group)
        }?;
        let version = group.versions.iter().find(|one| one.name == version)?;
        Some(plain::resources(&group.name, version))
    }

    /// Returns the paths of all groups and versions below `/apis`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.named.iter().flat_map(|group| {
            let versions =
                group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name));
            std::iter::once(format!("/apis/{}", group.name)).chain(versions)
        })
    }

    /// `/api` aggregated.
    pub(crate) fn aggregated_api(&self, version: DiscoveryVersion) -> &Page {
        let core = self.core.as_slice();
        self.aggregated[index(version)].get_or_init(|| Page::render(&aggregated::groups(core, version)))
    }

    /// `/apis` aggregated.
    pub(crate) fn aggregated_apis(&self, version: DiscoveryVersion) -> &Page {
        self.aggregated[2 + index(version)]
            .get_or_init(|| Page::render(&aggregated::groups(&self.named, version)))
    }
}

const fn index(version: DiscoveryVersion) -> usize {
    match version {
        DiscoveryVersion::V2 => 0,
        DiscoveryVersion::V2beta1 => 1,
    }
}

impl Group {
    fn new(name: String, versions: BTreeMap<String, Vec<Arc<KindInfo>>>) -> Self {
        let mut versions: Vec<Version> =
            versions.into_iter().map(|(name, kinds)| Version::new(name, kinds)).collect();
        versions.sort_by(|a, b| by_priority(&a.name, &b.name));
        Self { name, versions }
    }
}

impl Version {
    fn new(name: String, mut kinds: Vec<Arc<KindInfo>>) -> Self {
        kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
        Self { name, kinds }
    }
}
