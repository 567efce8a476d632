//! What must hold of an attachment before frames can come to it, in the order in which it comes to be.

use crate::model::{IPLock, NetworkAttachment, Subnet};

/// One of these things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// It holds.
    pub is_so: bool,
    /// What.
    pub what: String,
}

/// Looks at an attachment beside its subnet and its lock. After the first thing that does not hold nothing more is said.
#[must_use]
pub fn checks(
    attachment: Option<&NetworkAttachment>,
    subnet: Option<&Subnet>,
    lock: Option<&IPLock>,
) -> Vec<Checked> {
    let mut checked = Vec::new();
    let mut check = |is_so: bool, what: String| {
        checked.push(Checked { is_so, what });
        is_so
    };
    let Some(attachment) = attachment else {
        check(false, "the attachment is there".into());
        return checked;
    };
    let (status, name) = (&attachment.status, &attachment.spec.subnet);
    let mut errors = status.errors.ipam.iter().chain(&status.errors.host).map(String::as_str);
    let said = errors.next().map(|error| format!(": {error}")).unwrap_or_default();
    let is_going = attachment.metadata.deletion_timestamp.is_some();
    let _ = check(true, format!("the attachment is there, on {}", attachment.spec.node))
        && check(!is_going, if is_going { "it is being deleted".into() } else { "it is to stay".into() })
        && check(subnet.is_some(), format!("its subnet {name} is there"))
        && check(
            subnet.is_some_and(|subnet| subnet.status.validated),
            match subnet {
                Some(subnet) if !subnet.status.errors.is_empty() => {
                    format!("its subnet counts: {}", subnet.status.errors.join("; "))
                }
                Some(subnet) => {
                    format!("its subnet counts: network {}, {}", subnet.spec.vni, subnet.spec.ipv4)
                }
                None => String::new(),
            },
        )
        && check(!status.ipv4.is_empty(), format!("it has an address: {}{said}", status.ipv4))
        && check(
            lock.is_some(),
            format!(
                "the address is its own: lock {}",
                lock.and_then(|lock| lock.metadata.name.as_deref()).unwrap_or("missing")
            ),
        )
        && check(
            !status.ifc_name.is_empty(),
            format!("its node has an interface for it: {} {}{said}", status.ifc_name, status.mac_address),
        );
    checked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_that_does_not_hold_is_the_last_that_is_said() {
        let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        let mut subnet = Subnet::new("n", "s", 17, "10.1.0.0/24");
        let lock = IPLock::default();
        let last =
            |attachment: Option<&NetworkAttachment>, subnet: Option<&Subnet>, lock: Option<&IPLock>| {
                let checked = checks(attachment, subnet, lock);
                let (last, before) = checked.split_last().unwrap();
                assert!(before.iter().all(|checked| checked.is_so));
                (last.is_so, last.what.clone())
            };
        assert_eq!(last(None, None, None), (false, "the attachment is there".into()));
        assert_eq!(last(Some(&attachment), None, None), (false, "its subnet s is there".into()));
        subnet.status.errors = vec!["10.1.0.0/24 overlaps with n/t's (10.1.0.0/16)".into()];
        let overlaps = "its subnet counts: 10.1.0.0/24 overlaps with n/t's (10.1.0.0/16)".into();
        assert_eq!(last(Some(&attachment), Some(&subnet), None), (false, overlaps));
        (subnet.status.errors, subnet.status.validated) = (Vec::new(), true);
        attachment.status.errors.ipam = vec!["Referenced subnet has run out of IPs".into()];
        let full = "it has an address: : Referenced subnet has run out of IPs".into();
        assert_eq!(last(Some(&attachment), Some(&subnet), None), (false, full));
        attachment.status.errors.ipam.clear();
        attachment.status.ipv4 = "10.1.0.2".into();
        assert!(!last(Some(&attachment), Some(&subnet), None).0);
        assert!(!last(Some(&attachment), Some(&subnet), Some(&lock)).0);
        attachment.status.ifc_name = "kos060000020011".into();
        assert!(last(Some(&attachment), Some(&subnet), Some(&lock)).0);
        attachment.metadata.deletion_timestamp = Some(
            machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH),
        );
        assert_eq!(
            last(Some(&attachment), Some(&subnet), Some(&lock)),
            (false, "it is being deleted".into())
        );
    }
}
