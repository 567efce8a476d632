//! What is kept of each attachment of a load: one line of JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::causes::LastWrite;
use super::{Row, of_samples, seconds};
use crate::model::{IPLock, NetworkAttachment, Section};

/// One attachment, from when it was made until it was gone, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Its namespace and its name.
    pub attachment: String,
    /// The number of its network.
    pub vni: u32,
    /// Its node.
    pub node: String,
    /// Whether it never waited for an address of a full subnet.
    pub easy: bool,
    /// The last write of a client that it waited for: its own (na), or its subnet's.
    pub cause: String,
    /// How many seconds each step was done after that, by the server's clock: lock, address, implemented.
    pub server: BTreeMap<String, f64>,
    /// How many seconds each step was seen after it was begun to be made, by the driver's clock: create, addressed, ready, delete, gone.
    pub client: BTreeMap<String, f64>,
    /// How it was tested.
    pub tested: Option<Tested>,
    /// What was wrong with it at any time.
    pub wrong: Vec<String>,
}

/// What came of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tested {
    /// Frames were sent to this one; nothing: its node was asked whether it has the interface.
    pub peer: Option<String>,
    /// It was as it should be.
    pub ok: bool,
    /// How many seconds after it was begun to be made.
    pub seconds: f64,
    /// What was said.
    pub says: String,
}

impl Record {
    /// Notes what an attachment says of itself by the server's clock, and its lock.
    pub fn says(&mut self, attachment: &NetworkAttachment, lock: Option<&IPLock>) {
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
            // The first time counts: whoever waits for it waits no more.
            if let Some(at) = at {
                self.server.entry(step.into()).or_insert_with(|| took(at));
            }
        }
    }
}

/// The steps by the server's clock, then those by the driver's, each by cause, and those that waited for no address by themselves.
#[must_use]
pub fn rows(records: &[Record]) -> Vec<Row> {
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
    let row =
        |((_, step, cause), samples): (&(usize, &str, String), &Vec<f64>)| of_samples(step, cause, samples);
    samples.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    #[test]
    fn each_step_is_counted_from_what_it_waited_for() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        attachment.extended_metadata.write(Section::Spec, at(10));
        let mut record = Record { easy: true, ..Record::default() };
        record.says(&attachment, None);
        assert_eq!((&*record.cause, record.server.len()), ("na", 0));
        attachment.status.subnet_creation_time = Some(MicroTime(at(12)));
        attachment.status.ipv4 = "10.0.0.2".into();
        attachment.extended_metadata.write(Section::Address, at(15));
        let mut lock = IPLock::new("n", "v1-1-10-0-0-2", "s", Default::default());
        lock.extended_metadata.write(Section::Spec, at(14));
        record.says(&attachment, Some(&lock));
        assert_eq!(record.cause, "subnet");
        assert_eq!((record.server["lock"], record.server["address"]), (2.0, 3.0));
        attachment.extended_metadata.write(Section::Address, at(99));
        record.says(&attachment, Some(&lock));
        assert_eq!(record.server["address"], 3.0, "the first time counts");
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);

        record.client.insert("ready".into(), 7.0);
        record.tested = Some(Tested { peer: None, ok: true, seconds: 8.0, says: String::new() });
        let told: Vec<_> =
            rows(&[record]).into_iter().map(|row| (row.what, row.cause, row.seconds[0])).collect();
        let told: Vec<_> = told.iter().map(|(what, cause, took)| (&**what, &**cause, *took)).collect();
        assert_eq!(
            told,
            [
                ("address", "subnet", 3.0),
                ("lock", "subnet", 2.0),
                ("half tested", "seen, easy", 8.0),
                ("ready", "seen, easy", 7.0),
            ]
        );
    }
}
