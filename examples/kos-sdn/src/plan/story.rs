//! How an attachment came to what it has: what was written when, and what each write waited for.

use jiff::Timestamp;

use super::causes::{LastWrite, seconds};
use crate::model::{IPLock, NetworkAttachment, Section, Subnet};

/// Something that was written, by the server's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: String,
    /// What it waited for, and how many seconds it took from there; nothing, if it was a client's own doing.
    pub after: Option<(&'static str, f64)>,
}

/// What was written for an attachment, in order. Only the latest write of each section is known.
#[must_use]
pub fn story(
    attachment: &NetworkAttachment,
    subnet: Option<&Subnet>,
    lock: Option<&IPLock>,
) -> Vec<Happened> {
    let of_it = |section| attachment.extended_metadata.written(section);
    let of_subnet = |section| subnet.and_then(|subnet| subnet.extended_metadata.written(section));
    let wanted = of_it(Section::Spec);
    let last = LastWrite::of(wanted, of_subnet(Section::Spec));
    let validated = of_subnet(Section::Status);
    let locked = lock.and_then(|lock| lock.extended_metadata.written(Section::Spec));
    let (addressed, made) = (of_it(Section::Address), of_it(Section::Implementation));
    let ran = of_it(Section::ExecReport);
    let client = |at: Option<Timestamp>| at.map(|at| (at, None));
    let after = |at: Option<Timestamp>, what: &'static str, since: Option<Timestamp>| {
        at.map(|at| (at, since.map(|since| (what, seconds(since, at)))))
    };
    // Whichever came last is what was waited for.
    let examined = match (last.map(|last| last.at), validated) {
        (Some(last), Some(validated)) if validated > last => ("its subnet counted", Some(validated)),
        (last, _) => ("it was wanted", last),
    };
    let events = [
        (client(of_subnet(Section::Spec)), "a client wrote the subnet".to_owned()),
        (
            after(validated, "that", of_subnet(Section::Spec)),
            "the validator said whether the subnet counts".into(),
        ),
        (client(wanted), "a client wrote the attachment".into()),
        (after(locked, examined.0, examined.1), "its address was locked".into()),
        (after(addressed, "the lock", locked), format!("it was given {}", attachment.status.ipv4)),
        (after(made, "its address", addressed), format!("its node had {}", attachment.status.ifc_name)),
        (after(ran, "its interface", made), "its program had run".into()),
    ];
    let mut story: Vec<_> = events
        .into_iter()
        .filter_map(|(happened, what)| happened.map(|(at, after)| Happened { at, what, after }))
        .collect();
    // Of one moment as they are here: causes come first.
    story.sort_by_key(|happened| happened.at);
    story
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milli: i64) -> Timestamp {
        Timestamp::from_millisecond(milli).unwrap()
    }

    type Told<'a> = (i64, &'a str, Option<(&'static str, i64)>);

    fn told(story: &[Happened]) -> Vec<Told<'_>> {
        let millis = |seconds: f64| (seconds * 1000.0).round() as i64;
        let told = story.iter().map(|happened| {
            let after = happened.after.map(|(what, took)| (what, millis(took)));
            (happened.at.as_millisecond(), &*happened.what, after)
        });
        told.collect()
    }

    #[test]
    fn each_step_says_what_it_waited_for() {
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
            (40, "the validator said whether the subnet counts", Some(("that", 30))),
            (43, "its address was locked", Some(("its subnet counted", 3))),
            (45, "it was given 10.1.0.2", Some(("the lock", 2))),
            (50, "its node had kos1", Some(("its address", 5))),
        ];
        assert_eq!(told(&story(&attachment, Some(&subnet), Some(&lock))), expected);
        attachment.extended_metadata.write(Section::Spec, at(42));
        let later = story(&attachment, Some(&subnet), Some(&lock));
        assert_eq!(told(&later)[3], (43, "its address was locked", Some(("it was wanted", 1))));
    }

    /// On a plain cluster nobody notes when the status was written.
    #[test]
    fn what_nobody_noted_is_not_told() {
        let attachment = NetworkAttachment::new("n", "a", "node-1", "s");
        assert!(story(&attachment, None, None).is_empty());
    }
}
