//! Sections of objects, by which the server records the times of writes.

/// A section of an object, declared by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The spec.
    Spec,
    /// The status of a subnet.
    Status,
    /// The address part of an attachment's status.
    Address,
    /// The interface part of an attachment's status.
    Implementation,
    /// The report of the post-create program.
    ExecReport,
}

impl AsRef<str> for Section {
    fn as_ref(&self) -> &str {
        match self {
            Self::Spec => "spec",
            Self::Status => "status",
            Self::Address => "status.address",
            Self::Implementation => "status.impl",
            Self::ExecReport => "status.execReport",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ExecReport, NetworkAttachment, network_attachments};
    use jiff::Timestamp;
    use machinery::SectionWrites;
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn stamped(new: &NetworkAttachment, old: Option<&NetworkAttachment>, second: i64) -> NetworkAttachment {
        let json = |object| serde_json::to_value(object).unwrap();
        let (mut new, old) = (json(new), old.map(json));
        network_attachments().stamp(&mut new, old.as_ref(), at(second));
        serde_json::from_value(new).unwrap()
    }

    fn sections(extended: &SectionWrites) -> Vec<(&str, i64)> {
        extended.writes.iter().map(|write| (&*write.section, write.server_time.0.as_second())).collect()
    }

    #[test]
    fn each_section_is_stamped_when_it_is_written() {
        let mut object = stamped(&NetworkAttachment::new("n", "a", "node-1", "s"), None, 1);
        type Change = fn(&mut NetworkAttachment);
        let report = |second: i64| ExecReport {
            command: vec![],
            exit_status: 0,
            start_time: Time(at(second)),
            stop_time: Time(at(second)),
            std_out: String::new(),
            std_err: String::new(),
        };
        let changes: [(Change, Section); 12] = [
            (|object| object.spec.post_delete_exec = vec!["x".into()], Section::Spec),
            (|object| object.status.lock_uid = "u".into(), Section::Address),
            (|object| object.status.address_vni = 1, Section::Address),
            (|object| object.status.ipv4 = "10.0.0.2".into(), Section::Address),
            (|object| object.status.prefix_length = Some(24), Section::Address),
            (|object| object.status.address_contention = true, Section::Address),
            (|object| object.status.subnet_creation_time = Some(MicroTime(at(1))), Section::Address),
            (|object| object.status.errors.ipam = vec!["x".into()], Section::Address),
            (|object| object.status.mac_address = "02:0".into(), Section::Implementation),
            (|object| object.status.ifc_name = "kos0".into(), Section::Implementation),
            (|object| object.status.host_ip = "192.0.2.1".into(), Section::Implementation),
            (|object| object.status.errors.host = vec!["x".into()], Section::Implementation),
        ];
        for (second, (change, section)) in (2..).zip(changes) {
            let old = object.clone();
            change(&mut object);
            object.extended_metadata = SectionWrites::default(); // sent by a client
            object = stamped(&object, Some(&old), second);
            assert_eq!(sections(&object.extended_metadata)[0], (section.as_ref(), second));
        }
        let old = object.clone();
        object.status.post_create_exec_report = Some(report(5));
        object = stamped(&object, Some(&old), 20);
        let expected = [("status.execReport", 20), ("status.impl", 13), ("status.address", 9), ("spec", 2)];
        assert_eq!(sections(&object.extended_metadata), expected);

        let old = object.clone();
        object.status.post_create_exec_report.as_mut().unwrap().command = vec!["other".into()];
        object = stamped(&object, Some(&old), 21);
        assert_eq!(sections(&object.extended_metadata), expected, "the command is not compared");
        object.status.post_create_exec_report = Some(report(6));
        object.status.mac_address = "02:1".into();
        object = stamped(&object, Some(&old), 22);
        let expected = [("status.execReport", 22), ("status.impl", 22), ("status.address", 9), ("spec", 2)];
        assert_eq!(sections(&object.extended_metadata), expected);
    }
}
