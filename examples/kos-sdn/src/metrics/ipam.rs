//! Metrics of the IPAM controller.

use jiff::Timestamp;
use machinery::metrics::{CALLS, END_TO_END};
use machinery::objects::WriteError;
use machinery::tokio::time::Instant;

use super::{last_write, ok, outcome, truth};
use crate::model::{NetworkAttachment, Section, Subnet};
use crate::plan::LastWrite;

machinery::metrics! {
    /// The metrics of address assignment. Cheap to clone.
    pub struct IpamMetrics("kos", "Addresses") {
        /// Whether an assigned attachment had to wait for a free address: 1 or 0
        contention: sizes("ipam_address_contention", [], &[0.0]);
        /// Time from the last client write until an address is locked, first time only; by the
        /// clock of this process
        lock: seconds("ipam_last_client_write_to_lock_latency_seconds", ["last_client_wr", "contention"], END_TO_END);
        /// Time from the last client write until the status has an address, first time only; by the
        /// server's clock
        address: seconds(
            "ipam_last_client_write_to_address_latency_seconds", ["last_client_wr", "contention"], END_TO_END
        );
        /// Duration of lock writes
        lock_call: seconds("ipam_ip_lock_latency_seconds", ["op", "err"], CALLS);
        /// Duration of status writes of attachments
        update: seconds("ipam_attachment_update_latency_seconds", ["statusErr", "err"], CALLS);
    }
}

impl IpamMetrics {
    /// Records a claim of a lock.
    pub(crate) fn claimed<T, E>(&self, since: Instant, claimed: &Result<T, E>) {
        self.lock_call.observe(["create", ok(claimed)], since.elapsed().as_secs_f64());
    }

    /// Records a release of a lock.
    pub(crate) fn released<T, E>(&self, since: Instant, released: &Result<T, E>) {
        self.lock_call.observe(["delete", ok(released)], since.elapsed().as_secs_f64());
    }

    /// Records the latency of a lock.
    pub(crate) fn locked(&self, attachment: &NetworkAttachment, subnet: &Subnet) {
        let written =
            [&attachment.extended_metadata, &subnet.extended_metadata].map(|of| of.written(Section::Spec));
        let last = LastWrite::of(written[0], written[1]);
        if let (true, Some(last)) = (attachment.status.ipv4.is_empty(), last) {
            let contention = truth(attachment.status.address_contention);
            self.lock.observe([last.by.name(), contention], last.until(Timestamp::now()));
        }
    }

    /// Records a status write, and its latency if it is the first with an address.
    pub(crate) fn wrote(
        &self,
        since: Instant,
        before: &NetworkAttachment,
        written: Result<&NetworkAttachment, &WriteError>,
        has_errors: bool,
    ) {
        self.update.observe([truth(has_errors), outcome(written)], since.elapsed().as_secs_f64());
        let Ok(after) = written else { return };
        if !before.status.ipv4.is_empty() || after.status.ipv4.is_empty() {
            return;
        }
        let is_contended = after.status.address_contention;
        self.contention.observe([], f64::from(u8::from(is_contended)));
        if let (Some(last), Some(then)) =
            (last_write(after), after.extended_metadata.written(Section::Address))
        {
            self.address.observe([last.by.name(), truth(is_contended)], last.until(then));
        }
    }
}
