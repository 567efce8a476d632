//! Properties of server-side apply for any schema, objects and earlier writers: the invariants of
//! its design.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::arbitrary::{RandomWrite, history, part, schema, value};
use super::compare::Comparison;
use super::entry::{Manager, decode};
use super::of::of;
use super::tests::TestSchema;
use super::topology::Root;
use super::update::OF_NO_ONE;
use super::{FieldSet, NotApplied, PathElement, Versions, Write, applied, compare, updated};

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

fn write<'a>(manager: &'a str, versions: &'a dyn Versions, now: &'a str) -> Write<'a> {
    Write { manager, subresource: None, api_version: "v1", now, versions }
}

/// Returns the fields that an applier owns, and those that all other managers own.
fn owned(object: Option<&Value>, by: &str) -> (FieldSet, FieldSet) {
    let entries = object.and_then(|object| object["metadata"].get("managedFields"));
    let mut managed = decode(entries).expect("what was written can be read");
    let me = Manager { applied: true, name: by.into(), ..Manager::default() };
    let mine = managed.remove(&me).unwrap_or_default().set;
    (mine, managed.into_values().fold(FieldSet::default(), |all, owned| all.union(owned.set)))
}

fn untracked(object: Option<&Value>) -> Value {
    let mut object = object.cloned().unwrap_or_else(|| json!({}));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

fn paths(set: &FieldSet) -> Vec<Vec<PathElement>> {
    let below = |(element, below): (&PathElement, &FieldSet)| {
        let under = |path| [vec![element.clone()], path].concat();
        paths(below).into_iter().map(under).collect::<Vec<_>>()
    };
    let members = set.members.iter().map(|element| vec![element.clone()]);
    members.chain(set.children.iter().flat_map(below)).collect()
}

fn has_it_or_what_it_is_in(set: &FieldSet, path: &[PathElement]) -> bool {
    (1..=path.len()).any(|length| set.contains(&path[..length]))
}

fn has_it_or_what_is_in_it(set: &FieldSet, path: &[PathElement]) -> bool {
    match path {
        [] => !set.is_empty(),
        [first, rest @ ..] => {
            rest.is_empty() && set.members.contains(first)
                || set.children.get(first).is_some_and(|below| has_it_or_what_is_in_it(below, rest))
        }
    }
}

/// Checks all invariants of an apply, and returns the resulting object.
fn checked_apply(
    schema: &TestSchema,
    live: Option<Value>,
    by: &str,
    spec: &Value,
    force: bool,
) -> Result<Option<Value>, TestCaseError> {
    let lists = Root(schema);
    let config = widget(spec);
    let apply =
        |live: Option<&Value>, force, now| applied(live, &config, force, &[], &write(by, schema, now));
    let (before, others) = owned(live.as_ref(), by);
    let forced = apply(live.as_ref(), true, "2026-11-21T10:00:00Z");
    let forced = forced.map_err(|why| TestCaseError::fail(format!("with force: {why:?}")))?;

    let (mine, _) = owned(Some(&forced), by);
    let said = of(&config, &lists).difference(&OF_NO_ONE);
    prop_assert_eq!(&mine, &said, "1: owns what it applies, in {}", forced);
    let is = untracked(Some(&forced));
    let unlike = compare(&config, &is, &lists).expect("items have keys");
    let unlike = unlike.modified.union(unlike.removed).intersection(&said);
    prop_assert!(unlike.is_empty(), "1: {} is not as applied at {:?}", is, unlike.texts());

    for force in [true, false] {
        let again = apply(Some(&forced), force, "2026-11-21T11:00:00Z");
        prop_assert_eq!(again.as_ref(), Ok(&forced), "2: applied again it changes nothing");
    }

    let all = others.clone().union(said.clone());
    let gone = before.difference(&all);
    for path in paths(&gone) {
        let there = has_it_or_what_is_in_it(&of(&is, &lists), &path);
        let wanted = has_it_or_what_is_in_it(&all, &path);
        prop_assert!(wanted || !there, "4: {:?} stays in {}", path, is);
    }

    let Comparison { added, modified, removed } =
        compare(&untracked(live.as_ref()), &is, &lists).expect("items have keys");
    let taken = others.intersection(&modified.clone().union(added));
    let touched = others.intersection(&modified.union(removed));
    // An entry of a map or an item of a list that only the applier owned is removed with its
    // contents.
    for path in paths(&touched) {
        let meant = has_it_or_what_it_is_in(&said, &path) || has_it_or_what_it_is_in(&gone, &path);
        prop_assert!(meant, "4, 5: {:?} is others', in {}", path, is);
    }
    match apply(live.as_ref(), force, "2026-11-21T10:00:00Z") {
        Ok(new) if force || taken.is_empty() => {
            prop_assert_eq!(&new, &forced, "5: force is for what is others'");
            Ok(Some(forced))
        }
        Err(NotApplied::Conflicts(conflicts)) if !force && !taken.is_empty() => {
            let mut fields: Vec<_> = conflicts.listed.into_iter().map(|conflict| conflict.field).collect();
            fields.sort();
            fields.dedup();
            let mut expected = taken.texts().kept().to_vec();
            expected.sort();
            prop_assert_eq!(fields, expected, "5: what is others' is named");
            Ok(live)
        }
        other => Err(TestCaseError::fail(format!("5: {other:?}, where {:?} is others'", taken.texts()))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Invariants 1, 2, 4 and 5.
    #[test]
    fn an_apply_gives_exactly_the_applied_fields((schema, steps) in history()) {
        let mut live = None;
        for step in steps {
            live = match step {
                RandomWrite::Apply { by, spec, force } => checked_apply(&schema, live, by, &spec, force)?,
                RandomWrite::Update { by, spec } => {
                    let mut new = widget(&spec);
                    updated(live.as_ref(), &mut new, &write(by, &schema, "2026-11-21T10:00:00Z"));
                    Some(new)
                }
            };
        }
    }

    /// Invariant 3.
    #[test]
    fn disjoint_applies_commute(
        (schema, all, first) in schema().prop_flat_map(|schema| {
            let spec = value(&schema.fields["spec"]);
            (Just(schema), spec.clone(), prop::option::of(spec))
        }),
        coins in vec(any::<bool>(), 64),
    ) {
        let mut coins = coins.into_iter().cycle();
        let mut coin = || coins.next().unwrap_or_default();
        let spec = &schema.fields["spec"];
        let [one, two] = [(); 2].map(|()| widget(&part(&all, spec, &[], &mut coin)));
        let live = first.map(|first| {
            let mut live = widget(&first);
            updated(None, &mut live, &write("creator", &schema, "2026-11-21T10:00:00Z"));
            live
        });
        let after = |order: [(&str, &Value); 2]| {
            order.into_iter().fold(live.clone(), |live, (by, config)| {
                let write = write(by, &schema, "2026-11-21T10:00:00Z");
                Some(applied(live.as_ref(), config, true, &[], &write).expect("nothing stands against force"))
            })
        };
        let [a, b] = [[("one", &one), ("two", &two)], [("two", &two), ("one", &one)]].map(after);
        let lists = Root(&schema);
        let differs = compare(&untracked(a.as_ref()), &untracked(b.as_ref()), &lists);
        prop_assert_eq!(differs, Ok(Comparison::default()), "{:?} and {:?}", a, b);
        for by in ["one", "two", "creator"] {
            prop_assert_eq!(owned(a.as_ref(), by), owned(b.as_ref(), by));
        }
    }
}
