//! Objects for the tests of this crate.

use machinery_objects::{Labels, Object, ObjectKey, ResourceVersion};
use serde::Deserialize;

use crate::PartialMetadata;

/// A host, of which only the rack is kept.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Host {
    pub(crate) metadata: PartialMetadata,
    pub(crate) spec: Rack,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Rack {
    pub(crate) rack: u32,
}

impl Object for Host {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        self.metadata.labels.clone()
    }
}
