//! Definitions of kinds on a cluster, by name only.

use machinery_kube::KeyMetadata;
use machinery_objects::{Kind, KindError, Labels, Object, ObjectKey, ResourceVersion, Scope};
use serde::Deserialize;

/// A CustomResourceDefinition without its content: its events are triggers.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::plane) struct DefinitionMark {
    metadata: KeyMetadata,
}

impl Object for DefinitionMark {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }
}

/// The kind of definitions.
pub(in crate::plane) fn definitions_kind() -> Result<Kind, KindError> {
    let group = "apiextensions.k8s.io/v1";
    Kind::new(group, "CustomResourceDefinition", "customresourcedefinitions", Scope::Cluster)
}
