//! Metadata for types that keep little of an object.

use machinery_objects::{Labels, ObjectKey, ResourceVersion, Uid};
use serde::{Deserialize, Deserializer};

use crate::text::{Text, Texts};

/// Which object, in which version: the `metadata` of the smallest projection: five words, and the text of the key.
///
/// An object without a name is read, too, with [`ObjectKey::unnamed`]; no source hands such a one out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name among those of its kind.
    pub key: ObjectKey,
    /// The version in which the server has it.
    pub version: Option<ResourceVersion>,
}

/// What caches, selectors and controllers want to know of an object: the `metadata` of a projection, in ten
/// words beside the texts. Of the rest of the metadata nothing is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Its name among those of its kind.
    pub key: ObjectKey,
    /// The version in which the server has it.
    pub version: Option<ResourceVersion>,
    /// What it is selected by.
    pub labels: Labels,
    /// What tells it from others of its name.
    pub uid: Option<Uid>,
    /// Whether it is to go.
    pub is_deleting: bool,
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Read<'a> {
            #[serde(borrow, default)]
            name: Text<'a>,
            #[serde(borrow, default)]
            namespace: Text<'a>,
            #[serde(borrow, default)]
            resource_version: Text<'a>,
        }
        let read = Read::deserialize(deserializer)?;
        Ok(Self { key: key(&read.namespace, &read.name), version: version(&read.resource_version) })
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Read<'a> {
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
            labels: Texts<'a>,
        }
        let read = Read::deserialize(deserializer)?;
        Ok(Self {
            key: key(&read.namespace, &read.name),
            version: version(&read.resource_version),
            labels: read.labels.0.iter().map(|(key, value)| (key, value)).collect(),
            uid: Uid::new(read.uid.as_ref()),
            is_deleting: !read.deletion_timestamp.as_ref().is_empty(),
        })
    }
}

/// Unnamed also where the name can be none: no path leads to such an object.
fn key(namespace: &Text<'_>, name: &Text<'_>) -> ObjectKey {
    let namespace = Some(namespace.as_ref()).filter(|namespace| !namespace.is_empty());
    ObjectKey::new(namespace, name.as_ref()).unwrap_or_default()
}

fn version(text: &Text<'_>) -> Option<ResourceVersion> {
    ResourceVersion::new(text.as_ref())
}

/// An object of which nothing but its metadata can be read.
#[derive(Deserialize)]
pub(crate) struct Bare {
    pub(crate) metadata: Identity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_and_the_rest_of_it_is_not() {
        let text = r#"{"annotations": {"a": "b"}, "labels": {"b": "\u0032", "a": "1"}, "name": "x", "namespace": "n",
            "managedFields": [{"fieldsV1": {"f:spec": {}}}], "resourceVersion": "7", "uid": "u",
            "deletionTimestamp": "2026-11-22T10:00:00Z"}"#;
        let meta: Meta = serde_json::from_str(text).unwrap();
        let expected = Meta {
            key: "n/x".parse().unwrap(),
            version: ResourceVersion::new("7"),
            labels: [("a", "1"), ("b", "2")].into(),
            uid: Uid::new("u"),
            is_deleting: true,
        };
        assert_eq!(meta, expected);
        let identity: Identity = serde_json::from_str(text).unwrap();
        assert_eq!(identity, Identity { key: expected.key, version: expected.version });
        let from_elsewhere: Meta = serde_json::from_reader(text.as_bytes()).unwrap();
        assert_eq!(from_elsewhere, meta);
    }

    #[test]
    fn what_is_null_or_absent_is_not_there() {
        for text in ["{}", r#"{"name": null, "labels": null, "uid": "", "deletionTimestamp": null}"#] {
            let meta: Meta = serde_json::from_str(text).unwrap();
            assert!(
                meta.key.is_unnamed() && meta.labels.is_empty() && meta.uid.is_none() && !meta.is_deleting
            );
        }
        let text = r#"{"name": "a/b"}"#;
        assert!(serde_json::from_str::<Identity>(text).unwrap().key.is_unnamed(), "no path leads there");
        assert!(serde_json::from_str::<Meta>(r#"{"name": 1}"#).is_err());
    }

    #[test]
    fn metadata_is_small() {
        assert!(size_of::<Identity>() <= 40, "{}", size_of::<Identity>());
        assert!(size_of::<Meta>() <= 80, "{}", size_of::<Meta>());
    }
}
