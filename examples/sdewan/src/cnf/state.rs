//! The committed state of a CNF.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::{CnfConfig, ConfigObject};
use crate::model::CollectionId;

/// The state of a CNF at one revision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CnfState {
    /// The number of the change that made it.
    pub revision: u64,
    /// Distinguishes the revisions of one start from those of another.
    pub boot: String,
    /// The configuration.
    pub config: CnfConfig,
    /// The original's legacy services, by name.
    pub services: BTreeMap<String, LegacyService>,
}

/// A legacy service of the original: a port that is forwarded to a service of the cluster.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LegacyService {
    /// The name.
    pub name: String,
    /// The DNS name of the service.
    pub fullname: String,
    /// The port of the CNF.
    pub port: String,
    /// The port of the service.
    pub dport: String,
}

impl CnfState {
    /// Returns the entity tag. It changes with each change and with each start.
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{}-{}\"", self.boot, self.revision)
    }

    /// Encodes the state for a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let objects = self.config.iter().map(|(collection, object)| StoredObject {
            collection: collection.path().to_owned(),
            name: (*object.name).to_owned(),
            owner: object.owner.as_deref().map(str::to_owned),
            fields: (*object.fields).clone(),
        });
        let services = self.services.values().cloned().collect();
        let file =
            StateFile { format: FORMAT, revision: self.revision, objects: objects.collect(), services };
        serde_json::to_vec(&file).unwrap_or_default()
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// It is not of this format, or has an unknown collection.
    pub fn decode(bytes: &[u8], boot: String) -> Result<Self, String> {
        let file: StateFile = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if file.format != FORMAT {
            return Err(format!("its format is {}, and this program knows {FORMAT}", file.format));
        }
        let mut config = CnfConfig::default();
        for stored in file.objects {
            let collection = CollectionId::of_path(&stored.collection);
            let collection = collection.ok_or_else(|| format!("unknown collection {}", stored.collection))?;
            let object = ConfigObject {
                name: stored.name.into(),
                owner: stored.owner.map(Arc::from),
                fields: Arc::new(stored.fields),
            };
            config.put(collection, object);
        }
        let services = file.services.into_iter().map(|one| (one.name.clone(), one)).collect();
        Ok(Self { revision: file.revision, boot, config, services })
    }
}

/// The version of the file's format.
const FORMAT: u32 = 1;

#[derive(Deserialize, Serialize)]
struct StateFile {
    format: u32,
    revision: u64,
    objects: Vec<StoredObject>,
    #[serde(default)]
    services: Vec<LegacyService>,
}

#[derive(Deserialize, Serialize)]
struct StoredObject {
    collection: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    fields: Map<String, Value>,
}
