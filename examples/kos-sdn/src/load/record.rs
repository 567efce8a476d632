//! The record of each attachment of a load: one line of JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{LatencyRow, sample_percentiles};
use crate::model::{IPLock, NetworkAttachment, Section};
use crate::plan::{LastWrite, seconds};

/// One attachment from creation to deletion, as far as the run observed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachmentRecord {
    /// Namespace and name.
    pub attachment: String,
    /// VNI of the network.
    pub vni: u32,
    /// Name of the node.
    pub node: String,
    /// Whether the attachment never waited for an address of a full subnet.
    pub easy: bool,
    /// The last client write that the address depended on: of the attachment (na), or of the
    /// subnet.
    pub cause: String,
    /// Seconds from that write to each step, by the server's clock: lock, address, implemented.
    pub server: BTreeMap<String, f64>,
    /// Seconds from the start of creation to the observation of each step, by the load generator's
    /// clock: create, addressed, ready, delete, gone.
    pub client: BTreeMap<String, f64>,
    /// The result of the connectivity test, if there was one.
    pub tested: Option<TestResult>,
    /// Errors observed at any time.
    pub wrong: Vec<String>,
}

/// The result of a connectivity test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestResult {
    /// The peer of a ping; `None` if only the node was queried for the interface.
    pub peer: Option<String>,
    /// Whether the test passed.
    pub ok: bool,
    /// Seconds from the start of creation.
    pub seconds: f64,
    /// Error text.
    pub says: String,
}

impl AttachmentRecord {
    /// Records the section times of an attachment and of its lock.
    pub fn record_times(&mut self, attachment: &NetworkAttachment, lock: Option<&IPLock>) {
        let written = |section| attachment.extended_metadata.written(section);
        let subnet = attachment.status.subnet_creation_time.as_ref().map(|time| time.0);
        self.easy &= !attachment.status.address_contention;
        let Some(last) = LastWrite::of(written(Section::Spec), subnet) else { return };
        last.by.name().clone_into(&mut self.cause);
        let locked = lock.and_then(|lock| lock.extended_metadata.written(Section::Spec));
        let status = &attachment.status;
        let addressed = written(Section::Address).filter(|_| !status.ipv4.is_empty());
        let made = written(Section::Implementation).filter(|_| !status.ifc_name.is_empty());
        for (step, at) in [("lock", locked), ("address", addressed), ("implemented", made)] {
            let took = |at: Timestamp| seconds(last.at, at);
            // Only the first time counts: later writes delay nobody.
            if let Some(at) = at {
                self.server.entry(step.into()).or_insert_with(|| took(at));
            }
        }
    }
}

/// Returns percentiles by step and cause: by the server's clock, then by the load generator's.
#[must_use]
pub fn record_rows(records: &[AttachmentRecord]) -> Vec<LatencyRow> {
    let mut samples: BTreeMap<(usize, &str, String), Vec<f64>> = BTreeMap::new();
    for record in records {
        for (step, took) in &record.server {
            let cause = format!("{}{}", record.cause, if record.easy { "" } else { ", contended" });
            samples.entry((0, step, cause)).or_default().push(*took);
        }
        let easy = if record.easy { "seen, easy" } else { "seen, contended" };
        for (step, took) in &record.client {
            samples.entry((1, step, easy.to_owned())).or_default().push(*took);
        }
        if let Some(tested) = &record.tested {
            let step = if tested.peer.is_some() { "tested" } else { "half tested" };
            samples.entry((1, step, easy.to_owned())).or_default().push(tested.seconds);
        }
    }
    let row = |((_, step, cause), samples): (&(usize, &str, String), &Vec<f64>)| {
        sample_percentiles(step, cause, samples)
    };
    samples.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    #[test]
    fn latencies_start_at_the_last_client_write() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        attachment.extended_metadata.write(Section::Spec, at(10));
        let mut record = AttachmentRecord { easy: true, ..AttachmentRecord::default() };
        record.record_times(&attachment, None);
        assert_eq!((&*record.cause, record.server.len()), ("na", 0));
        attachment.status.subnet_creation_time = Some(MicroTime(at(12)));
        attachment.status.ipv4 = "10.0.0.2".into();
        attachment.extended_metadata.write(Section::Address, at(15));
        let mut lock = IPLock::new("n", "v1-1-10-0-0-2", "s", Default::default());
        lock.extended_metadata.write(Section::Spec, at(14));
        record.record_times(&attachment, Some(&lock));
        assert_eq!(record.cause, "subnet");
        assert_eq!((record.server["lock"], record.server["address"]), (2.0, 3.0));
        attachment.extended_metadata.write(Section::Address, at(99));
        record.record_times(&attachment, Some(&lock));
        assert_eq!(record.server["address"], 3.0, "the first time counts");
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<AttachmentRecord>(&line).unwrap(), record);

        record.client.insert("ready".into(), 7.0);
        record.tested = Some(TestResult { peer: None, ok: true, seconds: 8.0, says: String::new() });
        let shown: Vec<_> =
            record_rows(&[record]).into_iter().map(|row| (row.step, row.cause, row.seconds[0])).collect();
        let shown: Vec<_> = shown.iter().map(|(step, cause, took)| (&**step, &**cause, *took)).collect();
        assert_eq!(
            shown,
            [
                ("address", "subnet", 3.0),
                ("lock", "subnet", 2.0),
                ("half tested", "seen, easy", 8.0),
                ("ready", "seen, easy", 7.0),
            ]
        );
    }
}
