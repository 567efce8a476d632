//! The whole state of a CNF: the objects of each collection, in order.

use std::collections::BTreeMap;

use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::collection::CollectionId;
use super::rest_object::RestObject;

/// The desired state of one CNF, as the agent computes it and v2 carries it: all objects of the
/// agent, collection by collection, in the order in which the first match wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// The owner of the objects. A v2 `PUT` replaces the objects of this owner only.
    pub owner: String,
    /// The objects in order. Collections without objects may be absent.
    pub objects: BTreeMap<CollectionId, Vec<RestObject>>,
}

/// The state of one pod of a CNF, as it was read: objects of all owners, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The objects in order.
    pub objects: BTreeMap<CollectionId, Vec<ObservedObject>>,
}

/// An object of a CNF with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedObject {
    /// The owner; `None` for an object of another client, and for v1.
    pub owner: Option<String>,
    /// The object. Over v2 its secrets are HMACs, see [`secret_mac`].
    pub object: RestObject,
}

/// A document of v2: the wire form of [`Desired`] and [`Observed`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigDocument {
    /// The owner of all objects without an `owner` of their own; absent in answers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The objects of each collection in order, by its path: `mwan3/v1/policies`.
    #[serde(default)]
    pub collections: BTreeMap<String, Vec<ConfigEntry>>,
}

/// An object in a document of v2. Its place in the list is its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigEntry {
    /// The owner, in answers; absent for an object that was made over v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The object as v1 has it, with its `name`.
    pub object: Map<String, Value>,
}

impl Desired {
    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.values().map(Vec::len).sum()
    }

    /// Returns whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.values().all(Vec::is_empty)
    }

    /// Returns the objects of a collection in order.
    #[must_use]
    pub fn of(&self, collection: CollectionId) -> &[RestObject] {
        self.objects.get(&collection).map_or(&[], Vec::as_slice)
    }

    /// Returns the document for a v2 `PUT`.
    #[must_use]
    pub fn document(&self) -> ConfigDocument {
        let entries = |objects: &Vec<RestObject>| objects.iter().map(|object| entry(object, None)).collect();
        let collections = self.objects.iter().map(|(id, objects)| (id.path().to_owned(), entries(objects)));
        ConfigDocument { owner: self.owner.clone(), collections: collections.collect() }
    }

    /// Returns the desired state with its secrets as v2 answers them.
    #[must_use]
    pub fn with_macs(&self, key: &[u8]) -> Self {
        let mac = |object: &RestObject| object.clone().map_secrets(|secret| secret_mac(key, secret));
        let objects = self.objects.iter().map(|(id, objects)| (*id, objects.iter().map(mac).collect()));
        Self { owner: self.owner.clone(), objects: objects.collect() }
    }
}

impl Observed {
    /// Returns the objects of a collection in order.
    #[must_use]
    pub fn of(&self, collection: CollectionId) -> &[ObservedObject] {
        self.objects.get(&collection).map_or(&[], Vec::as_slice)
    }

    /// Returns an object.
    #[must_use]
    pub fn get(&self, collection: CollectionId, name: &str) -> Option<&ObservedObject> {
        self.of(collection).iter().find(|one| one.object.name() == name)
    }

    /// Reads the document of a v2 answer. Collections that this program does not know are ignored.
    ///
    /// # Errors
    /// An entry is no object.
    pub fn from_document(document: ConfigDocument) -> Result<Self, super::NotAnObject> {
        let mut objects = BTreeMap::new();
        for (path, entries) in document.collections {
            let Some(collection) = CollectionId::of_path(&path) else { continue };
            let read = |entry: ConfigEntry| {
                let object = RestObject::from_body(collection, Value::Object(entry.object))?;
                Ok(ObservedObject { owner: entry.owner, object })
            };
            let read: Result<Vec<_>, _> = entries.into_iter().map(read).collect();
            objects.insert(collection, read?);
        }
        Ok(Self { objects })
    }

    /// Returns the document of a v2 answer.
    #[must_use]
    pub fn document(&self) -> ConfigDocument {
        let entries = |objects: &Vec<ObservedObject>| {
            objects.iter().map(|one| entry(&one.object, one.owner.as_ref())).collect()
        };
        let collections = self.objects.iter().map(|(id, objects)| (id.path().to_owned(), entries(objects)));
        ConfigDocument { owner: String::new(), collections: collections.collect() }
    }
}

fn entry(object: &RestObject, owner: Option<&String>) -> ConfigEntry {
    let mut fields = object.fields().clone();
    fields.insert("name".into(), object.name().into());
    ConfigEntry { owner: owner.cloned(), object: fields }
}

/// Returns the value of a secret in answers of v2: its HMAC-SHA256 under a key that the client
/// sends, as hexadecimal text after `hmac:`.
#[must_use]
pub fn secret_mac(key: &[u8], secret: &str) -> String {
    let (mac, _) = Hkdf::<Sha256>::extract(Some(key), secret.as_bytes());
    mac.iter().fold("hmac:".to_owned(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(name: &str) -> RestObject {
        RestObject::from_body(CollectionId::Mwan3Rules, json!({"name": name, "policy": "p"})).unwrap()
    }

    #[test]
    fn documents_keep_objects_owners_and_order() {
        let objects = [(CollectionId::Mwan3Rules, vec![rule("b"), rule("a")])];
        let desired = Desired { owner: "agent".into(), objects: objects.into() };
        let text = serde_json::to_string(&desired.document()).unwrap();
        assert_eq!(
            text,
            r#"{"owner":"agent","collections":{"mwan3/v1/rules":[{"object":{"name":"b","policy":"p"}},{"object":{"name":"a","policy":"p"}}]}}"#
        );
        let observed = ObservedObject { owner: Some("agent".into()), object: rule("b") };
        let observed = Observed { objects: [(CollectionId::Mwan3Rules, vec![observed])].into() };
        assert_eq!(Observed::from_document(observed.document()), Ok(observed));
    }

    #[test]
    fn the_mac_of_a_secret_is_hmac_sha256() {
        // RFC 4231, test case 2.
        let expected = "hmac:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(secret_mac(b"Jefe", "what do ya want for nothing?"), expected);
    }
}
