//! Columns of volumes and of their classes.

use serde_json::Value;

use super::{BuiltIn, Head, each, nothing_more, or, size};
use crate::builtin::quantity;
use crate::table::column::name_and_age;

pub(super) static PERSISTENT_VOLUME: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Capacity", "How much it can hold."),
        Head::text("Access Modes", "How it can be mounted."),
        Head::text("Reclaim Policy", "The fate of its data after its release."),
        Head::text("Status", "The phase."),
        Head::text("Claim", "The claim that it is bound to."),
        Head::text("StorageClass", "Its class."),
        Head::text("VolumeAttributesClass", "The class of its attributes."),
        Head::text("Reason", "The reason for its phase."),
        Head::AGE,
        Head::wide("VolumeMode", "As a file system or as a block device."),
    ],
    cells: |volume, now| {
        let ((name, age), spec) = (name_and_age(volume, now), &volume["spec"]);
        let claim = match &spec["claimRef"] {
            Value::Object(claim) => {
                let text = |field: &str| claim.get(field).and_then(Value::as_str).unwrap_or_default();
                format!("{}/{}", text("namespace"), text("name"))
            }
            _ => String::new(),
        };
        vec![
            name,
            amount(&spec["capacity"]["storage"]).into(),
            modes(&spec["accessModes"]).into(),
            or(&spec["persistentVolumeReclaimPolicy"], ""),
            phase(volume),
            claim.into(),
            class(volume),
            or(&spec["volumeAttributesClassName"], "<unset>"),
            or(&volume["status"]["reason"], ""),
            age,
            or(&spec["volumeMode"], "<unset>"),
        ]
    },
    conditions: nothing_more,
};

pub(super) static PERSISTENT_VOLUME_CLAIM: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Status", "The phase."),
        Head::text("Volume", "The volume that it is bound to."),
        Head::text("Capacity", "How much that can hold."),
        Head::text("Access Modes", "How it can be mounted."),
        Head::text("StorageClass", "Its class."),
        Head::text("VolumeAttributesClass", "The class of its attributes."),
        Head::AGE,
        Head::wide("VolumeMode", "As a file system or as a block device."),
    ],
    cells: |claim, now| {
        let ((name, age), spec, status) = (name_and_age(claim, now), &claim["spec"], &claim["status"]);
        let bound = !spec["volumeName"].as_str().unwrap_or_default().is_empty();
        let (capacity, modes) = match bound {
            true => (amount(&status["capacity"]["storage"]), modes(&status["accessModes"])),
            false => Default::default(),
        };
        vec![
            name,
            phase(claim),
            or(&spec["volumeName"], ""),
            capacity.into(),
            modes.into(),
            class(claim),
            or(&spec["volumeAttributesClassName"], "<unset>"),
            age,
            or(&spec["volumeMode"], "<unset>"),
        ]
    },
    conditions: nothing_more,
};

pub(super) static STORAGE_CLASS: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Provisioner", "The driver that makes its volumes."),
        Head::text("ReclaimPolicy", "The fate of their data after their release."),
        Head::text("VolumeBindingMode", "When a claim is bound."),
        Head::text("AllowVolumeExpansion", "Whether a volume can grow."),
        Head::AGE,
    ],
    cells: |class, now| {
        let (name, age) = name_and_age(class, now);
        let annotation = &class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"];
        let name = match (annotation.as_str(), name.as_str()) {
            (Some("true"), Some(name)) => format!("{name} (default)").into(),
            _ => name,
        };
        vec![
            name,
            or(&class["provisioner"], ""),
            or(&class["reclaimPolicy"], "Delete"),
            or(&class["volumeBindingMode"], "Immediate"),
            (class["allowVolumeExpansion"] == true).into(),
            age,
        ]
    },
    conditions: nothing_more,
};

pub(super) static CSI_NODE: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::of("Drivers", "integer", "How many drivers the node has."), Head::AGE],
    cells: |node, now| {
        let (name, age) = name_and_age(node, now);
        vec![name, size(&node["spec"]["drivers"]).into(), age]
    },
    conditions: nothing_more,
};

fn amount(value: &Value) -> String {
    match value {
        Value::Null => "0".to_owned(),
        value => quantity::text(value).into_owned(),
    }
}

fn modes(modes: &Value) -> String {
    const NAMES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| each(modes).any(|one| one == mode);
    NAMES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> Value {
    match object["metadata"]["deletionTimestamp"].is_string() {
        true => "Terminating".into(),
        false => or(&object["status"]["phase"], ""),
    }
}

/// The storage class, which once was an annotation.
fn class(object: &Value) -> Value {
    let annotation = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    if annotation.is_string() { annotation.clone() } else { or(&object["spec"]["storageClassName"], "") }
}
