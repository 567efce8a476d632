//! Write fights: fields, managers, and the decision over random sequences of writes.

use std::time::Duration;

use machinery_objects::ObjectKey;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::detector::{FightDetector, FightVerdict, Side};
use super::fields::ChangedFields;

fn key() -> ObjectKey {
    "n/a".parse().expect("a key")
}

/// An object with two numbers, and the field manager that wrote last.
#[derive(Clone, Debug, PartialEq)]
struct ContestedObject {
    ours: u8,
    theirs: u8,
    manager: &'static str,
}

impl ContestedObject {
    fn value(&self) -> Value {
        let owned = json!({ "f:status": { "f:ours": {}, "f:theirs": {} } });
        let entry = json!({ "manager": self.manager, "time": "2026-11-26T08:00:00Z", "fieldsV1": owned });
        json!({
            "metadata": { "name": "a", "resourceVersion": "1", "managedFields": [entry] },
            "status": { "ours": self.ours, "theirs": self.theirs },
        })
    }
}

/// A detector with one object, at a time that each write advances.
struct FightScene {
    detector: FightDetector<&'static str>,
    now: Instant,
    doc: ContestedObject,
}

impl FightScene {
    fn new() -> Self {
        let doc = ContestedObject { ours: 0, theirs: 0, manager: "hosts" };
        Self { detector: FightDetector::new(1), now: Instant::now(), doc }
    }

    fn write(
        &mut self,
        after: Duration,
        side: Side,
        change: impl FnOnce(&mut ContestedObject),
    ) -> FightVerdict {
        self.now += after;
        let before = self.doc.clone();
        self.doc.manager = if side == Side::Own { "hosts" } else { "kubectl" };
        change(&mut self.doc);
        // As the source does: documents are compared only for suspects.
        let fields = ChangedFields::between(&before.value(), &self.doc.value());
        let suspect = self.detector.is_suspect(&"a", &key());
        self.detector.record(self.now, (&"a", &key()), side, suspect.then_some(&fields))
    }

    /// Our value is undone and set again.
    fn cycle(&mut self, step: Duration) -> FightVerdict {
        self.write(step, Side::Foreign, |doc| doc.ours = 7);
        self.write(step, Side::Own, |doc| doc.ours = 1)
    }
}

#[tokio::test(start_paused = true)]
async fn p36_writers_that_undo_each_other_are_named_and_slowed_more_and_more() {
    let mut scene = FightScene::new();
    let step = Duration::from_millis(5);
    scene.write(step, Side::Own, |doc| doc.ours = 1);
    let verdicts: Vec<_> = (0..20).map(|_| scene.cycle(step)).collect();
    let began: Vec<_> = verdicts.iter().filter_map(|verdict| verdict.began.clone()).collect();
    let [fight] = &began[..] else { panic!("it begins once: {began:?}") };
    assert_eq!((fight.field.as_str(), fight.manager.as_deref()), ("status.ours", Some("kubectl")));
    assert!((50.0..200.0).contains(&fight.rate()), "{}", fight.rate());
    let at = verdicts.iter().position(|verdict| verdict.began.is_some()).expect("it began");
    assert!(at < 8, "it is detected after {at} cycles");
    let delays: Vec<_> = verdicts[at..].iter().map(|verdict| verdict.delay).collect();
    assert_eq!(delays[..3], [100, 200, 400].map(Duration::from_millis));
    assert_eq!(delays.last(), Some(&Duration::from_secs(30)));
    assert_eq!(scene.detector.fights(scene.now).len(), 1);
    // Peace: the fight is over, and one more undone write is no fight.
    scene.now += Duration::from_secs(91);
    assert_eq!(scene.detector.fights(scene.now).len(), 0);
    assert_eq!(scene.cycle(step), FightVerdict::default());
}

#[tokio::test(start_paused = true)]
async fn p36_rare_corrections_of_a_field_are_no_fight() {
    let mut scene = FightScene::new();
    scene.write(Duration::ZERO, Side::Own, |doc| doc.ours = 1);
    for _ in 0..100 {
        assert_eq!(scene.cycle(Duration::from_secs(11)), FightVerdict::default());
    }
}

fn write() -> impl Strategy<Value = (u64, Side, u8)> {
    (0..50_u64, prop_oneof![Just(Side::Own), Just(Side::Foreign)], 0..3_u8)
}

proptest! {
    /// Alone, or beside a writer of other fields, a writer is never slowed, whatever it writes.
    #[test]
    fn p36_a_lone_busy_writer_is_never_slowed(
        writes in prop::collection::vec(write(), 0..200),
        is_alone in any::<bool>(),
    ) {
        let mut scene = FightScene::new();
        for (ms, side, value) in writes {
            let verdict = match side {
                Side::Foreign if is_alone => continue,
                Side::Foreign => scene.write(Duration::from_millis(ms), side, |doc| doc.theirs = value),
                Side::Own => scene.write(Duration::from_millis(ms), side, |doc| doc.ours = value),
            };
            prop_assert_eq!(verdict, FightVerdict::default());
        }
        prop_assert!(scene.detector.fights(scene.now).is_empty());
    }

    /// Among writes of other fields and objects, a fight is found within a few cycles.
    #[test]
    fn p36_a_fight_is_found_among_other_writes(
        noise in prop::collection::vec((0..3_u8, 0..20_u64), 60),
    ) {
        let mut scene = FightScene::new();
        scene.write(Duration::ZERO, Side::Own, |doc| doc.ours = 1);
        let mut began = 0;
        for (value, ms) in noise {
            scene.write(Duration::from_millis(ms), Side::Foreign, |doc| doc.theirs = value);
            let other: ObjectKey = format!("n/b{value}").parse().expect("a key");
            scene.detector.record(scene.now, (&"a", &other), Side::Own, None);
            let verdict = scene.cycle(Duration::from_millis(1));
            began += u32::from(verdict.began.is_some());
        }
        prop_assert_eq!(began, 1);
    }
}

#[test]
fn p36_fields_and_managers_are_named_as_in_the_object() {
    let entry = |manager: &str, time: &str, fields: Value| json!({ "manager": manager, "time": time, "fieldsV1": fields });
    let old = json!({
        "metadata": { "resourceVersion": "1", "generation": 1, "annotations": { "a.b/c": "1" } },
        "status": { "list": [1, 2], "deep": { "x": 1 }, "gone": true },
    });
    let new = json!({
        "metadata": {
            "resourceVersion": "2", "generation": 2, "annotations": { "a.b/c": "2" },
            "managedFields": [
                entry("early", "2026-11-26T08:00:00Z", json!({ "f:status": { "f:list": {}, "f:deep": { "f:x": {} } } })),
                entry("late", "2026-11-26T09:00:00Z", json!({ "f:status": { "f:list": {} } })),
                entry("notes", "2026-11-26T07:00:00Z", json!({ "f:metadata": { "f:annotations": { ".": {}, "f:a.b/c": {} } } })),
            ],
        },
        "status": { "list": [1, 3], "deep": { "x": 2 }, "gone": null },
    });
    let changed = ChangedFields::between(&old, &new);
    let named: Vec<_> =
        changed.fields.iter().map(|(path, field)| (path.as_str(), field.manager.as_deref())).collect();
    let expected = [
        ("metadata.annotations.a.b/c", Some("notes")),
        ("status.deep.x", Some("early")),
        ("status.gone", None),
        ("status.list", Some("late")),
    ];
    assert_eq!(named, expected);
    assert!(ChangedFields::between(&new, &new).fields.is_empty());
}

#[test]
fn the_number_of_contests_is_bounded_and_a_fight_survives_other_writes() {
    let mut detector = FightDetector::new(1);
    let now = Instant::now();
    let object = |number: usize| format!("n/o{number}").parse::<ObjectKey>().expect("a key");
    for number in 0..20_000 {
        detector.record(now, (&"a", &object(number)), Side::Own, None);
        for side in [Side::Foreign, Side::Own] {
            detector.record(now, (&"a", &key()), side, None);
        }
    }
    assert!(detector.is_suspect(&"a", &key()));
    assert!(detector.len() <= 8192 + 512, "{}", detector.len());
}
