//! Detection of silent nodes: attachments with an address and no report of the node agent.

use crate::model::{AttachmentStatus, NetworkAttachment};

/// Returns true if the attachment has an address and its node agent has reported neither success
/// nor error.
#[must_use]
pub fn is_unanswered(attachment: &NetworkAttachment) -> bool {
    let status = &attachment.status;
    attachment.metadata.deletion_timestamp.is_none()
        && !status.ipv4.is_empty()
        && status.host_ip.is_empty()
        && status.errors.host.is_empty()
}

/// Returns the status that reports the silent node. The agent's first report replaces the error.
#[must_use]
pub fn unanswered(attachment: &NetworkAttachment) -> AttachmentStatus {
    let mut status = attachment.status.clone();
    let node = &attachment.spec.node;
    status.errors.host = vec![format!("Node {node} does not answer: is an agent of it running?")];
    status
}

#[cfg(test)]
mod tests {
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn silent_node_is_reported_once() {
        let mut attachment = NetworkAttachment::new("n", "a", "node-9", "s");
        assert!(!is_unanswered(&attachment), "it waits for an address");
        attachment.status.ipv4 = "10.0.0.1".into();
        assert!(is_unanswered(&attachment));
        let mut deleting = attachment.clone();
        deleting.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert!(!is_unanswered(&deleting));
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
