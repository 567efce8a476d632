//! Preconditions of connectivity for an attachment, in the order in which the system establishes
//! them.

use crate::model::{IPLock, NetworkAttachment, Subnet};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// Whether the check passed.
    pub passed: bool,
    /// Description of the check.
    pub text: String,
}

/// Checks an attachment, its subnet and its lock. Stops after the first failure.
#[must_use]
pub fn checks(
    attachment: Option<&NetworkAttachment>,
    subnet: Option<&Subnet>,
    lock: Option<&IPLock>,
) -> Vec<CheckResult> {
    let mut checked = Vec::new();
    let mut check = |passed: bool, text: String| {
        checked.push(CheckResult { passed, text });
        passed
    };
    let Some(attachment) = attachment else {
        check(false, "the attachment exists".into());
        return checked;
    };
    let (status, name) = (&attachment.status, &attachment.spec.subnet);
    let mut errors = status.errors.ipam.iter().chain(&status.errors.host).map(String::as_str);
    let error = errors.next().map(|error| format!(": {error}")).unwrap_or_default();
    let is_deleting = attachment.metadata.deletion_timestamp.is_some();
    let _ = check(true, format!("the attachment exists, on {}", attachment.spec.node))
        && check(
            !is_deleting,
            if is_deleting { "it is being deleted".into() } else { "it is not being deleted".into() },
        )
        && check(subnet.is_some(), format!("its subnet {name} exists"))
        && check(
            subnet.is_some_and(|subnet| subnet.status.validated),
            match subnet {
                Some(subnet) if !subnet.status.errors.is_empty() => {
                    format!("its subnet is validated: {}", subnet.status.errors.join("; "))
                }
                Some(subnet) => {
                    format!("its subnet is validated: network {}, {}", subnet.spec.vni, subnet.spec.ipv4)
                }
                None => String::new(),
            },
        )
        && check(!status.ipv4.is_empty(), format!("it has an address: {}{error}", status.ipv4))
        && check(
            lock.is_some(),
            format!(
                "the address is locked: {}",
                lock.and_then(|lock| lock.metadata.name.as_deref()).unwrap_or("missing")
            ),
        )
        && check(
            !status.ifc_name.is_empty(),
            format!("its node has created the interface: {} {}{error}", status.ifc_name, status.mac_address),
        );
    checked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stop_at_the_first_failure() {
        let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        let mut subnet = Subnet::new("n", "s", 17, "10.1.0.0/24");
        let lock = IPLock::default();
        let last =
            |attachment: Option<&NetworkAttachment>, subnet: Option<&Subnet>, lock: Option<&IPLock>| {
                let checked = checks(attachment, subnet, lock);
                let (last, before) = checked.split_last().unwrap();
                assert!(before.iter().all(|checked| checked.passed));
                (last.passed, last.text.clone())
            };
        assert_eq!(last(None, None, None), (false, "the attachment exists".into()));
        assert_eq!(last(Some(&attachment), None, None), (false, "its subnet s exists".into()));
        subnet.status.errors = vec!["10.1.0.0/24 overlaps with n/t's (10.1.0.0/16)".into()];
        let overlaps = "its subnet is validated: 10.1.0.0/24 overlaps with n/t's (10.1.0.0/16)".into();
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
