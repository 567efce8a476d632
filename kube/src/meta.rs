//! Partial metadata, for types that keep little of an object.

use machinery_objects::{Labels, ObjectKey, ResourceVersion, Uid};
use serde::{Deserialize, Deserializer};

use crate::text::{Text, TextMap};

/// The key and version of an object: the `metadata` of the smallest projection, in five words and
/// the text of the key.
///
/// An object without a name is decoded too, with [`ObjectKey::unnamed`]; no source returns one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMetadata {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The resourceVersion.
    pub version: Option<ResourceVersion>,
}

/// The metadata that caches, selectors and controllers need: the `metadata` of a projection, in ten
/// words besides the texts. Other metadata is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialMetadata {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The resourceVersion.
    pub version: Option<ResourceVersion>,
    /// The labels.
    pub labels: Labels,
    /// The UID.
    pub uid: Option<Uid>,
    /// Whether deletion was requested.
    pub is_deleting: bool,
}

impl<'de> Deserialize<'de> for KeyMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct KeyFields<'a> {
            #[serde(borrow, default)]
            name: Text<'a>,
            #[serde(borrow, default)]
            namespace: Text<'a>,
            #[serde(borrow, default)]
            resource_version: Text<'a>,
        }
        let read = KeyFields::deserialize(deserializer)?;
        Ok(Self { key: key(&read.namespace, &read.name), version: version(&read.resource_version) })
    }
}

impl<'de> Deserialize<'de> for PartialMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PartialFields<'a> {
            #[serde(borrow, default)]
            name: Text<'a>,
            #[serde(borrow, default)]
            namespace: Text<'a>,
            #[serde(borrow, default)]
            resource_version: Text<'a>,
            #[serde(borrow, default)]
            uid: Text<'a>,
            #[serde(borrow, default)]
            deletion_timestamp: Text<'a>,
            #[serde(borrow, default)]
            labels: TextMap<'a>,
        }
        let read = PartialFields::deserialize(deserializer)?;
        Ok(Self {
            key: key(&read.namespace, &read.name),
            version: version(&read.resource_version),
            labels: read.labels.0.iter().map(|(key, value)| (key, value)).collect(),
            uid: Uid::new(read.uid.as_ref()),
            is_deleting: !read.deletion_timestamp.as_ref().is_empty(),
        })
    }
}

/// Returns the key; unnamed also if the name is invalid, as no path leads to such an object.
fn key(namespace: &Text<'_>, name: &Text<'_>) -> ObjectKey {
    let namespace = Some(namespace.as_ref()).filter(|namespace| !namespace.is_empty());
    ObjectKey::new(namespace, name.as_ref()).unwrap_or_default()
}

fn version(text: &Text<'_>) -> Option<ResourceVersion> {
    ResourceVersion::new(text.as_ref())
}

/// An object of which only the metadata is decoded.
#[derive(Deserialize)]
pub(crate) struct MetadataOnly {
    pub(crate) metadata: KeyMetadata,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_metadata_is_read() {
        let text = r#"{"annotations": {"a": "b"}, "labels": {"b": "\u0032", "a": "1"}, "name": "x", "namespace": "n",
            "managedFields": [{"fieldsV1": {"f:spec": {}}}], "resourceVersion": "7", "uid": "u",
            "deletionTimestamp": "2026-11-22T10:00:00Z"}"#;
        let meta: PartialMetadata = serde_json::from_str(text).unwrap();
        let expected = PartialMetadata {
            key: "n/x".parse().unwrap(),
            version: ResourceVersion::new("7"),
            labels: [("a", "1"), ("b", "2")].into(),
            uid: Uid::new("u"),
            is_deleting: true,
        };
        assert_eq!(meta, expected);
        let identity: KeyMetadata = serde_json::from_str(text).unwrap();
        assert_eq!(identity, KeyMetadata { key: expected.key, version: expected.version });
        let from_elsewhere: PartialMetadata = serde_json::from_reader(text.as_bytes()).unwrap();
        assert_eq!(from_elsewhere, meta);
    }

    #[test]
    fn null_and_absent_metadata_are_equal() {
        for text in ["{}", r#"{"name": null, "labels": null, "uid": "", "deletionTimestamp": null}"#] {
            let meta: PartialMetadata = serde_json::from_str(text).unwrap();
            assert!(
                meta.key.is_unnamed() && meta.labels.is_empty() && meta.uid.is_none() && !meta.is_deleting
            );
        }
        let text = r#"{"name": "a/b"}"#;
        assert!(serde_json::from_str::<KeyMetadata>(text).unwrap().key.is_unnamed(), "no path leads there");
        assert!(serde_json::from_str::<PartialMetadata>(r#"{"name": 1}"#).is_err());
    }

    #[test]
    fn metadata_is_small() {
        assert!(size_of::<KeyMetadata>() <= 40, "{}", size_of::<KeyMetadata>());
        assert!(size_of::<PartialMetadata>() <= 80, "{}", size_of::<PartialMetadata>());
    }
}
