//! Volumes of pods.

use serde_json::{Value, json};

use super::{each, fill, inside, pod};

/// The mode of files, 0644.
const FILES: i64 = 0o644;

pub(super) fn volume(volume: &mut Value) {
    let has_source = volume
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(name, value)| name != "name" && !value.is_null()));
    if !has_source {
        volume["emptyDir"] = json!({});
    }
    inside(volume, "hostPath", |path| fill(path, "type", ""));
    inside(volume, "secret", |secret| fill(secret, "defaultMode", FILES));
    inside(volume, "configMap", |config| fill(config, "defaultMode", FILES));
    inside(volume, "downwardAPI", |source| {
        fill(source, "defaultMode", FILES);
        downward(source);
    });
    inside(volume, "projected", |projected| {
        fill(projected, "defaultMode", FILES);
        each(projected, "sources", |source| {
            inside(source, "downwardAPI", downward);
            inside(source, "serviceAccountToken", |token| fill(token, "expirationSeconds", 3600));
        });
    });
    inside(volume, "image", |image| {
        let reference = image["reference"].as_str().unwrap_or_default();
        let policy = if pod::is_latest(reference) { "Always" } else { "IfNotPresent" };
        fill(image, "pullPolicy", policy);
    });
    inside(volume, "ephemeral", |ephemeral| {
        inside(ephemeral, "volumeClaimTemplate", |template| {
            inside(template, "spec", |spec| fill(spec, "volumeMode", "Filesystem"));
        });
    });
    devices(volume);
}

/// The drivers that pods and PersistentVolumes have in common.
pub(super) fn devices(volume: &mut Value) {
    inside(volume, "iscsi", |iscsi| fill(iscsi, "iscsiInterface", "default"));
    inside(volume, "rbd", |rbd| {
        fill(rbd, "pool", "rbd");
        fill(rbd, "user", "admin");
        fill(rbd, "keyring", "/etc/ceph/keyring");
    });
    inside(volume, "azureDisk", |disk| {
        fill(disk, "cachingMode", "ReadWrite");
        fill(disk, "fsType", "ext4");
        fill(disk, "readOnly", false);
        fill(disk, "kind", "Shared");
    });
    inside(volume, "scaleIO", |disk| {
        fill(disk, "storageMode", "ThinProvisioned");
        fill(disk, "fsType", "xfs");
    });
}

fn downward(source: &mut Value) {
    each(source, "items", |item| inside(item, "fieldRef", |field| fill(field, "apiVersion", "v1")));
}
