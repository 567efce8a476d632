//! Usage of persistent volume claims: requested storage, in all and by storage class.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Amounts, ScopeFacts};
use crate::quota::QuotaAmount;

const STORAGE: &str = "requests.storage";
const CLAIMS: &str = "persistentvolumeclaims";
/// Precedes the key in `CLASS.storageclass.storage.k8s.io/KEY`.
const BY_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Older than the field `storageClassName`, and stronger.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn is_key(key: &str) -> bool {
    let of_class = || key.split_once(BY_CLASS).is_some_and(|(_, of)| matches!(of, STORAGE | CLAIMS));
    key == STORAGE || of_class()
}

pub(super) fn measure(claim: &Value) -> (Amounts, ScopeFacts) {
    let spec = &claim["spec"];
    let requested = QuotaAmount::read(&spec["resources"]["requests"]["storage"]).rounded_up();
    // While a volume is resized, the larger of both sizes is in use.
    let allocated = QuotaAmount::read(&claim["status"]["allocatedResources"]["storage"]).rounded_up();
    let has_request = !spec["resources"]["requests"]["storage"].is_null();
    let storage = if has_request { requested.at_least(allocated) } else { QuotaAmount::ZERO };
    let mut amounts: Amounts = vec![(CLAIMS.into(), QuotaAmount::ONE), (STORAGE.into(), storage)];
    let annotation = claim["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    let class = annotation.or_else(|| spec["storageClassName"].as_str()).unwrap_or_default();
    if !class.is_empty() {
        amounts.push((format!("{class}{BY_CLASS}{CLAIMS}").into(), QuotaAmount::ONE));
        amounts.push((format!("{class}{BY_CLASS}{STORAGE}").into(), storage));
    }
    (amounts, ScopeFacts::Claim(volume_classes(claim)))
}

/// Returns the volume attributes classes that a claim wants, has, and is being changed to.
fn volume_classes(claim: &Value) -> Box<[Box<str>]> {
    let (spec, status) = (&claim["spec"], &claim["status"]);
    let names = [
        &spec["volumeAttributesClassName"],
        &status["currentVolumeAttributesClassName"],
        &status["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
    ];
    let names = names.into_iter().filter_map(Value::as_str).filter(|name| !name.is_empty());
    names.collect::<BTreeSet<_>>().into_iter().map(Box::from).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{MeasuredKind, ObjectUsage};
    use super::*;

    fn usage(claim: Value) -> ObjectUsage {
        ObjectUsage::of(MeasuredKind::Claim, &claim)
    }

    #[test]
    fn storage_is_measured_in_all_and_by_class() {
        let spec = json!({"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gold"});
        let claim = usage(json!({"spec": spec}));
        for (key, expected) in [
            ("requests.storage", "1Gi"),
            ("persistentvolumeclaims", "1"),
            ("gold.storageclass.storage.k8s.io/requests.storage", "1Gi"),
            ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", "1"),
            ("silver.storageclass.storage.k8s.io/requests.storage", "0"),
        ] {
            assert_eq!(claim.amount(key).text(), expected, "{key}");
            assert!(is_key(key) || key == CLAIMS, "{key}");
        }
        let annotated = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "silver"}});
        let claim = usage(json!({"metadata": annotated, "spec": spec}));
        assert_eq!(claim.amount("gold.storageclass.storage.k8s.io/requests.storage").text(), "0");
        assert_eq!(claim.amount("silver.storageclass.storage.k8s.io/requests.storage").text(), "1Gi");
    }

    #[test]
    fn the_larger_of_requested_and_allocated_storage_counts() {
        let claim = |requested: &str, allocated: &str| {
            let status = json!({"allocatedResources": {"storage": allocated}});
            usage(json!({"spec": {"resources": {"requests": {"storage": requested}}}, "status": status}))
        };
        assert_eq!(claim("1Gi", "2Gi").amount(STORAGE).text(), "2Gi");
        assert_eq!(claim("3Gi", "2Gi").amount(STORAGE).text(), "3Gi");
        assert_eq!(claim("1500m", "0").amount(STORAGE).text(), "2");
    }

    #[test]
    fn every_volume_attributes_class_that_a_claim_refers_to_is_a_fact() {
        let status = json!({"currentVolumeAttributesClassName": "b", "modifyVolumeStatus": {"targetVolumeAttributesClassName": "a"}});
        let claim = usage(json!({"spec": {"volumeAttributesClassName": "a"}, "status": status}));
        let ScopeFacts::Claim(classes) = claim.facts else { panic!("{:?}", claim.facts) };
        assert_eq!(classes.iter().map(|class| &**class).collect::<Vec<_>>(), ["a", "b"]);
    }
}
