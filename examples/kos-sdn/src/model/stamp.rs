//! Stamping: records the sections that a write changed, and the time.
//!
//! Pure, shared by our server and the webhook. In `new`, the fields that the request cannot change
//! have their old values.

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

use super::extended::{ExtendedMetadata, Section};
use super::{AttachmentStatus, IPLock, NetworkAttachment, Subnet, SubnetStatus};

/// Stamps a write of a subnet; clears the status of a new one.
pub fn stamp_subnet(new: &mut Subnet, old: Option<&Subnet>, now: Timestamp) {
    let Some(old) = old else {
        new.status = SubnetStatus::default();
        new.extended_metadata = created(now);
        return;
    };
    let changed = [(Section::Spec, new.spec != old.spec), (Section::Status, new.status != old.status)];
    new.extended_metadata = written(&old.extended_metadata, &changed, now);
}

/// Stamps a write of an attachment; clears the status of a new one.
pub fn stamp_attachment(new: &mut NetworkAttachment, old: Option<&NetworkAttachment>, now: Timestamp) {
    let Some(old) = old else {
        new.status = AttachmentStatus::default();
        new.extended_metadata = created(now);
        return;
    };
    let changed = [
        (Section::Spec, new.spec != old.spec),
        (Section::Address, address(&new.status) != address(&old.status)),
        (Section::Implementation, implementation(&new.status) != implementation(&old.status)),
        (Section::ExecReport, !same_report(&new.status, &old.status)),
    ];
    new.extended_metadata = written(&old.extended_metadata, &changed, now);
}

/// Stamps a write of a lock.
pub fn stamp_lock(new: &mut IPLock, old: Option<&IPLock>, now: Timestamp) {
    new.extended_metadata = match old {
        None => created(now),
        Some(old) => written(&old.extended_metadata, &[(Section::Spec, new.spec != old.spec)], now),
    };
}

/// Returns true if two statuses of an attachment have the same address section. A malformed one
/// equals none.
pub(super) fn same_address(one: &Value, other: &Value) -> bool {
    let read = |status: &Value| match status {
        Value::Null => Some(AttachmentStatus::default()),
        status => AttachmentStatus::deserialize(status).ok(),
    };
    matches!((read(one), read(other)), (Some(one), Some(other)) if address(&one) == address(&other))
}

fn created(now: Timestamp) -> ExtendedMetadata {
    written(&ExtendedMetadata::default(), &[(Section::Spec, true)], now)
}

fn written(old: &ExtendedMetadata, changed: &[(Section, bool)], now: Timestamp) -> ExtendedMetadata {
    let mut extended = old.clone();
    changed.iter().filter(|(_, changed)| *changed).for_each(|(section, _)| extended.write(*section, now));
    extended
}

fn address(status: &AttachmentStatus) -> impl PartialEq {
    let AttachmentStatus { lock_uid, address_vni, ipv4, prefix_length, address_contention, .. } = status;
    let place = (lock_uid, address_vni, ipv4, prefix_length);
    (place, address_contention, &status.subnet_creation_time, &status.errors.ipam)
}

fn implementation(status: &AttachmentStatus) -> impl PartialEq {
    (&status.mac_address, &status.ifc_name, &status.host_ip, &status.errors.host)
}

fn same_report(new: &AttachmentStatus, old: &AttachmentStatus) -> bool {
    match (&new.post_create_exec_report, &old.post_create_exec_report) {
        (Some(new), Some(old)) => new.same_result(old),
        (new, old) => new.is_none() && old.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ExecReport;
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn sections(extended: &ExtendedMetadata) -> Vec<(&str, i64)> {
        extended.writes.iter().map(|write| (&*write.section, write.server_time.0.as_second())).collect()
    }

    #[test]
    fn client_status_and_stamps_of_new_objects_are_ignored() {
        let mut new = Subnet::new("n", "a", 1, "10.0.0.0/24");
        new.status.validated = true;
        new.extended_metadata.write(Section::Status, at(99));
        stamp_subnet(&mut new, None, at(1));
        assert_eq!((sections(&new.extended_metadata), new.status.validated), (vec![("spec", 1)], false));
    }

    #[test]
    fn each_section_is_stamped_when_it_is_written() {
        let mut object = NetworkAttachment::new("n", "a", "node-1", "s");
        stamp_attachment(&mut object, None, at(1));
        type Change = fn(&mut NetworkAttachment);
        let report = |second: i64| ExecReport {
            command: vec![],
            exit_status: 0,
            start_time: Time(at(second)),
            stop_time: Time(at(second)),
            std_out: String::new(),
            std_err: String::new(),
        };
        let changes: [(Change, &str); 12] = [
            (|object| object.spec.post_delete_exec = vec!["x".into()], "spec"),
            (|object| object.status.lock_uid = "u".into(), "status.address"),
            (|object| object.status.address_vni = 1, "status.address"),
            (|object| object.status.ipv4 = "10.0.0.2".into(), "status.address"),
            (|object| object.status.prefix_length = Some(24), "status.address"),
            (|object| object.status.address_contention = true, "status.address"),
            (|object| object.status.subnet_creation_time = Some(MicroTime(at(1))), "status.address"),
            (|object| object.status.errors.ipam = vec!["x".into()], "status.address"),
            (|object| object.status.mac_address = "02:0".into(), "status.impl"),
            (|object| object.status.ifc_name = "kos0".into(), "status.impl"),
            (|object| object.status.host_ip = "192.0.2.1".into(), "status.impl"),
            (|object| object.status.errors.host = vec!["x".into()], "status.impl"),
        ];
        for (second, (change, section)) in (2..).zip(changes) {
            let old = object.clone();
            change(&mut object);
            object.extended_metadata = ExtendedMetadata::default(); // sent by a client
            stamp_attachment(&mut object, Some(&old), at(second));
            assert_eq!(sections(&object.extended_metadata)[0], (section, second));
        }
        let old = object.clone();
        object.status.post_create_exec_report = Some(report(5));
        stamp_attachment(&mut object, Some(&old), at(20));
        let expected = [("status.execReport", 20), ("status.impl", 13), ("status.address", 9), ("spec", 2)];
        assert_eq!(sections(&object.extended_metadata), expected);

        let old = object.clone();
        object.status.post_create_exec_report.as_mut().unwrap().command = vec!["other".into()];
        stamp_attachment(&mut object, Some(&old), at(21));
        assert_eq!(sections(&object.extended_metadata), expected, "the command is not compared");
        object.status.post_create_exec_report = Some(report(6));
        object.status.mac_address = "02:1".into();
        stamp_attachment(&mut object, Some(&old), at(22));
        let expected = [("status.execReport", 22), ("status.impl", 22), ("status.address", 9), ("spec", 2)];
        assert_eq!(sections(&object.extended_metadata), expected);
    }
}
