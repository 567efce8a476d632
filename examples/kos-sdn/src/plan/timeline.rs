//! The timeline of an attachment: the writes that led to its state, and the latency of each.

use jiff::Timestamp;

use super::causes::{LastWrite, seconds};
use crate::model::{IPLock, NetworkAttachment, Section, Subnet};

/// A write, by the server's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEvent {
    /// Time of the write.
    pub at: Timestamp,
    /// Description.
    pub text: String,
    /// The event that the write waited for, with the seconds since then; `None` for a client's
    /// write.
    pub after: Option<(&'static str, f64)>,
}

/// Returns the writes for an attachment in order. Only the latest write of each section is
/// recorded.
#[must_use]
pub fn timeline(
    attachment: &NetworkAttachment,
    subnet: Option<&Subnet>,
    lock: Option<&IPLock>,
) -> Vec<TimelineEvent> {
    let of_it = |section| attachment.extended_metadata.written(section);
    let of_subnet = |section| subnet.and_then(|subnet| subnet.extended_metadata.written(section));
    let written = of_it(Section::Spec);
    let last = LastWrite::of(written, of_subnet(Section::Spec));
    let validated = of_subnet(Section::Status);
    let locked = lock.and_then(|lock| lock.extended_metadata.written(Section::Spec));
    let (addressed, made) = (of_it(Section::Address), of_it(Section::Implementation));
    let ran = of_it(Section::ExecReport);
    let client = |at: Option<Timestamp>| at.map(|at| (at, None));
    let after = |at: Option<Timestamp>, text: &'static str, since: Option<Timestamp>| {
        at.map(|at| (at, since.map(|since| (text, seconds(since, at)))))
    };
    // The later of the two events is the cause.
    let examined = match (last.map(|last| last.at), validated) {
        (Some(last), Some(validated)) if validated > last => ("its subnet was validated", Some(validated)),
        (last, _) => ("the last client write", last),
    };
    let events = [
        (client(of_subnet(Section::Spec)), "a client wrote the subnet".to_owned()),
        (
            after(validated, "the write of the subnet", of_subnet(Section::Spec)),
            "the validator set the status of the subnet".into(),
        ),
        (client(written), "a client wrote the attachment".into()),
        (after(locked, examined.0, examined.1), "its address was locked".into()),
        (after(addressed, "the lock", locked), format!("it was assigned {}", attachment.status.ipv4)),
        (after(made, "its address", addressed), format!("its node reported {}", attachment.status.ifc_name)),
        (after(ran, "its interface", made), "its program had ended".into()),
    ];
    let mut timeline: Vec<_> = events
        .into_iter()
        .filter_map(|(event, text)| event.map(|(at, after)| TimelineEvent { at, text, after }))
        .collect();
    // A stable sort: causes precede effects of the same time.
    timeline.sort_by_key(|event| event.at);
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milli: i64) -> Timestamp {
        Timestamp::from_millisecond(milli).unwrap()
    }

    type Shown<'a> = (i64, &'a str, Option<(&'static str, i64)>);

    fn shown(timeline: &[TimelineEvent]) -> Vec<Shown<'_>> {
        let millis = |seconds: f64| (seconds * 1000.0).round() as i64;
        let shown = timeline.iter().map(|event| {
            let after = event.after.map(|(text, took)| (text, millis(took)));
            (event.at.as_millisecond(), &*event.text, after)
        });
        shown.collect()
    }

    #[test]
    fn timeline_names_the_cause_of_each_write() {
        let mut attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        let mut subnet = Subnet::new("n", "s", 17, "10.1.0.0/24");
        let mut lock = IPLock::default();
        subnet.extended_metadata.write(Section::Spec, at(10));
        subnet.extended_metadata.write(Section::Status, at(40));
        attachment.extended_metadata.write(Section::Spec, at(20));
        lock.extended_metadata.write(Section::Spec, at(43));
        attachment.extended_metadata.write(Section::Address, at(45));
        attachment.extended_metadata.write(Section::Implementation, at(50));
        (attachment.status.ipv4, attachment.status.ifc_name) = ("10.1.0.2".into(), "kos1".into());
        let expected = [
            (10, "a client wrote the subnet", None),
            (20, "a client wrote the attachment", None),
            (40, "the validator set the status of the subnet", Some(("the write of the subnet", 30))),
            (43, "its address was locked", Some(("its subnet was validated", 3))),
            (45, "it was assigned 10.1.0.2", Some(("the lock", 2))),
            (50, "its node reported kos1", Some(("its address", 5))),
        ];
        assert_eq!(shown(&timeline(&attachment, Some(&subnet), Some(&lock))), expected);
        attachment.extended_metadata.write(Section::Spec, at(42));
        let later = timeline(&attachment, Some(&subnet), Some(&lock));
        assert_eq!(shown(&later)[3], (43, "its address was locked", Some(("the last client write", 1))));
    }

    /// A plain cluster does not record status writes.
    #[test]
    fn unrecorded_writes_are_omitted() {
        let attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        assert!(timeline(&attachment, None, None).is_empty());
    }
}
