//! The Lease object.

use machinery_objects::{Kind, Labels, Object, ObjectKey, ResourceVersion, Scope, Uid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::record::LeaseRecord;

/// A Kubernetes Lease with all of its fields: a write changes only the fields of the election.
///
/// Any JSON object can be read as a Lease; malformed fields count as absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lease(Map<String, Value>);

impl Lease {
    /// Returns the kind of Leases.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn kind() -> Kind {
        Kind::new("coordination.k8s.io/v1", "Lease", "leases", Scope::Namespaced)
            .expect("these names are what Kubernetes allows")
    }

    /// Returns the holder's identity; `None` for a free Lease.
    #[must_use]
    pub fn holder(&self) -> Option<String> {
        self.record().holder().map(Into::into)
    }

    /// Returns the number of transitions; `None` if it is malformed.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.record().epoch()
    }

    /// Returns the renew time, by the clock of the holder.
    #[must_use]
    pub fn renew_time(&self) -> Option<String> {
        self.record().renewed_at().map(Into::into)
    }

    /// Creates a Lease that is not stored yet.
    pub(crate) fn new(key: &ObjectKey) -> Self {
        let mut metadata = Map::new();
        if let Some(namespace) = key.namespace() {
            metadata.insert("namespace".into(), namespace.into());
        }
        metadata.insert("name".into(), key.name().into());
        let mut lease = Map::new();
        lease.insert("apiVersion".into(), "coordination.k8s.io/v1".into());
        lease.insert("kind".into(), "Lease".into());
        lease.insert("metadata".into(), metadata.into());
        Self(lease)
    }

    pub(crate) fn record(&self) -> LeaseRecord {
        LeaseRecord::of(self.0.get("spec").and_then(Value::as_object))
    }

    /// Returns this Lease with another election record.
    pub(crate) fn with(&self, record: &LeaseRecord) -> Self {
        let mut lease = self.clone();
        let spec = lease.0.entry("spec").or_insert(Value::Null);
        if !spec.is_object() {
            *spec = Map::new().into();
        }
        if let Some(spec) = spec.as_object_mut() {
            record.put(spec);
        }
        lease
    }

    pub(crate) fn typed_uid(&self) -> Option<Uid> {
        self.uid().and_then(Uid::new)
    }

    fn metadata(&self, field: &str) -> Option<&Value> {
        self.0.get("metadata")?.get(field)
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.metadata(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

impl Object for Lease {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.text("namespace"), self.text("name").unwrap_or_default()).unwrap_or_default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.text("resourceVersion")?)
    }

    fn labels(&self) -> Labels {
        let labels = self.metadata("labels").and_then(Value::as_object);
        labels.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?))).collect()
    }

    fn uid(&self) -> Option<&str> {
        self.text("uid")
    }

    fn is_deleting(&self) -> bool {
        self.text("deletionTimestamp").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use serde_json::json;
    use std::time::Duration;

    fn lease(value: Value) -> Lease {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn p19_unknown_fields_survive_a_round_trip() {
        let mut whole = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "new": [1],
            "metadata": {
                "name": "x", "namespace": "n", "uid": "u", "resourceVersion": "07", "labels": {"a": "b"}, "annotations": {"c": "d"},
                "managedFields": [{"manager": "m"}],
            },
            "spec": {"holderIdentity": "a", "preferredHolder": "z", "strategy": "OldestEmulationVersion", "later": {"x": null}},
        });
        let read = lease(whole.clone());
        assert_eq!(serde_json::to_value(&read).unwrap(), whole);
        assert_eq!(
            (read.key().as_str(), read.uid(), read.version().unwrap().to_string()),
            ("n/x", Some("u"), "07".into())
        );
        assert_eq!(read.labels(), [("a", "b")].into());
        let now = Timestamp::UNIX_EPOCH + Duration::from_millis(1_500);
        let taken = read.with(&LeaseRecord::held("b", Duration::from_secs(15), 3, now));
        whole["spec"]["holderIdentity"] = "b".into();
        whole["spec"]["leaseDurationSeconds"] = 15.into();
        whole["spec"]["acquireTime"] = "1970-01-01T00:00:01.500000Z".into();
        whole["spec"]["renewTime"] = "1970-01-01T00:00:01.500000Z".into();
        whole["spec"]["leaseTransitions"] = 3.into();
        assert_eq!(serde_json::to_value(&taken).unwrap(), whole);
    }

    #[test]
    fn malformed_fields_are_ignored_and_overwritten() {
        let record = LeaseRecord::held("b", Duration::from_secs(15), 3, Timestamp::UNIX_EPOCH);
        for spec in [json!(null), json!("x"), json!([1]), json!({"holderIdentity": [], "renewTime": 5})] {
            let read = lease(json!({"metadata": {"name": "x", "labels": 7, "uid": 8}, "spec": spec}));
            assert_eq!(
                (read.holder(), read.renew_time(), read.uid(), read.epoch()),
                (None, None, None, Some(0))
            );
            assert!(read.labels().is_empty());
            assert_eq!(read.with(&record).record(), record);
        }
        assert!(lease(json!({"metadata": 7})).key().is_unnamed());
    }
}
