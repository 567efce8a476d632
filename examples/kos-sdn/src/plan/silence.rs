//! Nodes that do not answer. There may be no agent of theirs, and nobody else would ever say so.

use std::collections::BTreeSet;

use crate::model::{AttachmentStatus, NetworkAttachment};

/// Whether an attachment has an address, and its node has said nothing of it.
#[must_use]
pub fn is_unanswered(attachment: &NetworkAttachment) -> bool {
    let status = &attachment.status;
    attachment.metadata.deletion_timestamp.is_none()
        && !status.ipv4.is_empty()
        && status.host_ip.is_empty()
        && status.errors.host.is_empty()
}

/// The status of one that was not answered for a while. Its node says something else as soon as it says anything.
#[must_use]
pub fn unanswered(attachment: &NetworkAttachment) -> AttachmentStatus {
    let mut status = attachment.status.clone();
    let node = &attachment.spec.node;
    status.errors.host = vec![format!("Node {node} does not answer: is an agent of it running?")];
    status
}

/// Who was not answered when one looked last.
#[derive(Clone, Debug)]
pub struct Silence<K>(BTreeSet<K>);

impl<K> Default for Silence<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord + Clone> Silence<K> {
    /// Looks again. These were not answered then, and are not now.
    pub fn look(&mut self, now: BTreeSet<K>) -> Vec<K> {
        let silent = self.0.intersection(&now).cloned().collect();
        self.0 = now;
        silent
    }
}

#[cfg(test)]
mod tests {
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn who_is_silent_at_two_looks_is_silent() {
        let mut silence = Silence::default();
        let mut look = |now: &[u32]| silence.look(now.iter().copied().collect());
        for (now, expected) in
            [(&[1, 2][..], &[][..]), (&[2, 3], &[2]), (&[1, 3], &[3]), (&[], &[]), (&[3], &[])]
        {
            assert_eq!(look(now), expected);
        }
    }

    #[test]
    fn it_is_said_once_and_only_of_who_waits_for_its_node() {
        let mut attachment = NetworkAttachment::new("n", "a", "node-9", "s");
        assert!(!is_unanswered(&attachment), "it waits for an address");
        attachment.status.ipv4 = "10.0.0.1".into();
        assert!(is_unanswered(&attachment));
        let mut going = attachment.clone();
        going.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert!(!is_unanswered(&going));
        let mut ready = attachment.clone();
        ready.status.host_ip = "192.0.2.1".into();
        assert!(!is_unanswered(&ready));
        attachment.status = unanswered(&attachment);
        assert_eq!(
            attachment.status.errors.host,
            ["Node node-9 does not answer: is an agent of it running?"]
        );
        assert!(!is_unanswered(&attachment));
    }
}
