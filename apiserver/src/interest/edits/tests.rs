use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const BOUNDS: KeyLimits = KeyLimits { keys: 4, key_bytes: 3 };

fn set(keys: &str) -> BTreeSet<Arc<str>> {
    keys.split_whitespace().map(Arc::from).collect()
}

fn change(remove: &str, add: &str) -> InterestEdit {
    InterestEdit { remove: set(remove), add: set(add) }
}

fn open(keys: &str) -> Edits {
    Edits::open(&change("", keys), false, [0; 32], BOUNDS).unwrap()
}

fn edit(edits: &mut Edits, number: u64, remove: &str, add: &str) -> Result<bool, InvalidEdit> {
    let digest = [u8::try_from(remove.len() * 16 + add.len()).unwrap(); 32];
    edits.edit(EditId { number, digest }, &change(remove, add))
}

fn shown(pending: Option<PendingEdits>) -> String {
    let Some(PendingEdits { number, remove, add }) = pending else { return "nothing".into() };
    let join = |keys: KeySet| keys.iter().map(|key| key.to_string()).collect::<Vec<_>>().join(" ");
    format!("{number}: -{} +{}", join(remove), join(add))
}

#[test]
fn pending_edits_are_merged() {
    let mut edits = open("a b");
    assert_eq!(shown(edits.take()), "0: - +a b");
    assert_eq!(shown(edits.take()), "nothing");
    edit(&mut edits, 1, "a", "c").unwrap();
    edit(&mut edits, 2, "c", "d").unwrap();
    edit(&mut edits, 3, "", "a b").unwrap();
    assert_eq!(shown(edits.take()), "3: -a +a d", "what was removed and added is told anew");
    edit(&mut edits, 4, "z", "b").unwrap();
    assert_eq!(shown(edits.take()), "4: - +", "nothing changes, and it is told that it is done");
    edit(&mut edits, 5, "b", "b").unwrap();
    assert_eq!(shown(edits.take()), "5: -b +b");
}

#[test]
fn resumed_keys_are_not_sent_again() {
    let mut edits = Edits::open(&change("", "a b"), true, [0; 32], BOUNDS).unwrap();
    edit(&mut edits, 1, "a", "c").unwrap();
    assert_eq!(shown(edits.take()), "1: -a +c");
}

#[test]
fn edits_are_numbered_and_the_last_may_be_retried() {
    let mut edits = open("a");
    let order = |expected| Err(InvalidEdit::Order { expected });
    assert_eq!(edit(&mut edits, 2, "", "b"), order(1), "a gap");
    assert_eq!(edit(&mut edits, 1, "", "b"), Ok(true));
    assert_eq!(edit(&mut edits, 1, "", "b"), Ok(false), "the same once more");
    assert_eq!(edit(&mut edits, 1, "b", ""), order(2), "another with its number");
    assert_eq!(edit(&mut edits, 0, "", "a"), order(2));
    assert_eq!(edit(&mut edits, u64::MAX, "", "a"), order(2));
    assert_eq!(edits.keys.len(), 2);
}

#[test]
fn limits_are_checked_before_any_change() {
    let too_many = |count| Err(InvalidEdit::TooMany { count, limit: 4 });
    let mut edits = open("a b c");
    let before = (edits.keys.clone(), edits.cost());
    assert_eq!(edit(&mut edits, 1, "", "d e"), too_many(5));
    assert_eq!(edit(&mut edits, 1, "a", "a d e"), too_many(5));
    assert_eq!(edit(&mut edits, 1, "z", "d e"), too_many(5), "removing what is not there makes no room");
    assert_eq!(edit(&mut edits, 1, "", "long"), Err(InvalidEdit::TooLong { field: "add", limit: 3 }));
    let nothing = InterestEdit { remove: [Arc::from("")].into(), ..InterestEdit::default() };
    let number = EditId { number: 1, digest: [9; 32] };
    assert_eq!(edits.edit(number, &nothing), Err(InvalidEdit::Empty { field: "remove" }));
    assert_eq!((edits.keys.clone(), edits.cost()), before);
    assert_eq!(shown(edits.take()), "0: - +a b c");
    assert_eq!(edit(&mut edits, 1, "a", "d e"), Ok(true), "what goes makes room");
    assert!(Edits::open(&change("", "a b c d e"), true, [0; 32], BOUNDS).is_err());
}

fn keys() -> impl Strategy<Value = BTreeSet<Arc<str>>> {
    prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]), 0..4)
        .prop_map(|keys| keys.into_iter().map(Arc::from).collect())
}

proptest! {
    /// At any speed of the stream and with rejected edits, it ends with the keys of a naive set,
    /// and adds every key that must be sent.
    #[test]
    fn edits_equal_those_of_a_naive_set(
        first in keys(),
        steps in prop::collection::vec((keys(), keys(), any::<bool>()), 0..20),
    ) {
        let bounds = KeyLimits { keys: 5, key_bytes: 3 };
        let first = InterestEdit { remove: BTreeSet::new(), add: first };
        let mut edits = Edits::open(&first, false, [0; 32], bounds).unwrap();
        let (mut naive, mut streams) = (first.add.clone(), BTreeSet::new());
        let mut anew = naive.clone();
        let mut done = |edits: &mut Edits, naive: &BTreeSet<Arc<str>>, anew: &mut BTreeSet<Arc<str>>| {
            let Some(pending) = edits.take() else { return };
            for key in pending.remove.iter() {
                assert!(streams.remove(key), "the stream has {key}");
            }
            for key in pending.add.iter() {
                assert!(streams.insert(key.clone()), "the stream has not {key}");
            }
            assert_eq!(&streams, naive);
            assert_eq!(&pending.add.iter().cloned().collect::<BTreeSet<_>>(), anew);
            anew.clear();
        };
        let mut number = 0;
        for (remove, add, takes) in steps {
            let change = InterestEdit { remove, add };
            let mut after: BTreeSet<_> = naive.difference(&change.remove).cloned().collect();
            let new: Vec<_> = change.add.iter().filter(|key| !after.contains(*key)).cloned().collect();
            after.extend(new.iter().cloned());
            let digest = [u8::try_from(number).unwrap(); 32];
            let accepted = edits.edit(EditId { number: number + 1, digest }, &change);
            prop_assert_eq!(accepted.is_ok(), after.len() <= 5);
            if accepted.is_ok() {
                number += 1;
                anew.retain(|key| !change.remove.contains(key));
                anew.extend(new);
                naive = after;
            }
            let cost: usize = edits.keys.iter().map(|key| super::super::keys::cost(key)).sum();
            prop_assert!(edits.cost() >= cost);
            if takes {
                done(&mut edits, &naive, &mut anew);
                prop_assert_eq!(edits.cost(), cost);
            }
        }
        done(&mut edits, &naive, &mut anew);
    }
}
