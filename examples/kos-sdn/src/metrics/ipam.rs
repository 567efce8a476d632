//! The numbers of who gives addresses.

use jiff::Timestamp;
use machinery::objects::WriteError;
use machinery::tokio::time::Instant;

use super::series::{ADDRESS, CALL, Listed, Times};
use super::{last_write, ok, outcome, truth};
use crate::model::{NetworkAttachment, Section, Subnet};
use crate::plan::LastWrite;

/// What is seen of addresses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct IpamMetrics {
    contention: Times<0>,
    lock: Times<2>,
    lock_call: Times<2>,
    address: Times<2>,
    update: Times<2>,
}

impl Default for IpamMetrics {
    fn default() -> Self {
        Self {
            contention: Times::sizes(
                "ipam_address_contention",
                "Whether those who got an address had to wait until one was free: 1, or 0",
                &[0.0],
                &[],
            ),
            lock: Times::seconds(
                "ipam_last_client_write_to_lock_latency_seconds",
                "From what a client wrote last until an address is locked for an attachment, the first time; to the clock of this process",
                ADDRESS,
                &["last_client_wr", "contention"],
            ),
            lock_call: Times::seconds(
                "ipam_ip_lock_latency_seconds",
                "How long writes of locks take",
                CALL,
                &["op", "err"],
            ),
            address: Times::seconds(
                "ipam_last_client_write_to_address_latency_seconds",
                "From what a client wrote last until the status has an address, the first time, by the server's clock",
                ADDRESS,
                &["last_client_wr", "contention"],
            ),
            update: Times::seconds(
                "ipam_attachment_update_latency_seconds",
                "How long writes of the status of an attachment take",
                CALL,
                &["statusErr", "err"],
            ),
        }
    }
}

impl IpamMetrics {
    pub(super) fn list(&self) -> Vec<Listed> {
        let Self { contention, lock, lock_call, address, update } = self;
        vec![contention.listed(), lock.listed(), lock_call.listed(), address.listed(), update.listed()]
    }

    /// A lock was asked for.
    pub(crate) fn claimed<T, E>(&self, since: Instant, claimed: &Result<T, E>) {
        self.lock_call.saw(["create", ok(claimed)], since.elapsed().as_secs_f64());
    }

    /// A lock was given back.
    pub(crate) fn released<T, E>(&self, since: Instant, released: &Result<T, E>) {
        self.lock_call.saw(["delete", ok(released)], since.elapsed().as_secs_f64());
    }

    /// An attachment has a lock.
    pub(crate) fn locked(&self, attachment: &NetworkAttachment, subnet: &Subnet) {
        let written =
            [&attachment.extended_metadata, &subnet.extended_metadata].map(|of| of.written(Section::Spec));
        let last = LastWrite::of(written[0], written[1]);
        if let (true, Some(last)) = (attachment.status.ipv4.is_empty(), last) {
            let contention = truth(attachment.status.address_contention);
            self.lock.saw([last.by.name(), contention], last.until(Timestamp::now()));
        }
    }

    /// A status was written; what is there now, if it went well.
    pub(crate) fn wrote(
        &self,
        since: Instant,
        before: &NetworkAttachment,
        written: Result<&NetworkAttachment, &WriteError>,
        has_errors: bool,
    ) {
        self.update.saw([truth(has_errors), outcome(written)], since.elapsed().as_secs_f64());
        let Ok(after) = written else { return };
        if !before.status.ipv4.is_empty() || after.status.ipv4.is_empty() {
            return;
        }
        let is_contended = after.status.address_contention;
        self.contention.saw([], f64::from(u8::from(is_contended)));
        if let (Some(last), Some(then)) =
            (last_write(after), after.extended_metadata.written(Section::Address))
        {
            self.address.saw([last.by.name(), truth(is_contended)], last.until(then));
        }
    }
}
