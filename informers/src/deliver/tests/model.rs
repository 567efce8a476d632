//! Random changes, against an inbox that is searched from end to end, and against what the cache is.

use super::{Cache, DELETED, Key, Known, LEFT, MISSED, State, now};
use crate::deliver::{Change, Events, Gone, Hub, Inbox, News, Told};
use futures::FutureExt;
use machinery_objects::{EditNumber, Event, Mark, Revision};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Op {
    Set(u8),
    End(u8, Gone),
    Mark(Mark),
    Take(u8),
    Register,
    Remove(u8),
}

const KEYS: u8 = 6;

fn op() -> impl Strategy<Value = Op> {
    let gone = prop_oneof![Just(DELETED), Just(MISSED), Just(LEFT)];
    let mark = prop_oneof![
        (0..9_u64).prop_map(|version| Mark::Progress(Revision(version).into())),
        (0..9_u64).prop_map(|edit| Mark::Complete(EditNumber(edit))),
        Just(Mark::Synced),
    ];
    prop_oneof![
        8 => (0..KEYS).prop_map(Op::Set),
        4 => (0..KEYS, gone).prop_map(|(key, why)| Op::End(key, why)),
        2 => mark.prop_map(Op::Mark),
        6 => any::<u8>().prop_map(Op::Take),
        1 => Just(Op::Register),
        1 => any::<u8>().prop_map(Op::Remove),
    ]
}

fn name(key: u8) -> Key {
    Arc::from(format!("k{key}"))
}

/// What the cache says in the course of it; it says nothing of the end of what is not there.
fn news(cache: &mut Cache, clock: &mut State, op: &Op) -> Option<News<Key, State>> {
    *clock += 1;
    match op {
        Op::Set(key) => Some(cache.set(&name(*key), *clock, false)),
        Op::End(key, why) => cache.0.contains_key(&name(*key)).then(|| cache.end(&name(*key), *why)),
        _ => None,
    }
}

/// An inbox without any cleverness.
#[derive(Default)]
struct Plain(Vec<Item>);

enum Item {
    Key { key: Key, told: Option<State>, now: Change<State> },
    Mark(Mark),
}

impl Plain {
    fn put(&mut self, news: News<Key, State>) {
        let News { key: new, before, change } = news;
        let at = self.0.iter().position(|item| matches!(item, Item::Key { key, .. } if *key == new));
        let Some(at) = at else { return self.0.push(Item::Key { key: new, told: before, now: change }) };
        let Item::Key { told, now, .. } = &mut self.0[at] else { unreachable!("it has been found") };
        if told.is_none() && matches!(change, Change::Gone { .. }) {
            self.0.remove(at);
        } else {
            *now = change;
        }
    }

    fn take(&mut self) -> Option<Told<Key, State>> {
        let run = self.0.iter().take_while(|item| matches!(item, Item::Mark(_))).count();
        if run == 0 {
            let Item::Key { key, told, now } = (!self.0.is_empty()).then(|| self.0.remove(0))? else {
                unreachable!("no mark is first")
            };
            return Some(Told::Event(key, event(told, now)));
        }
        let kinds: [fn(&Mark) -> bool; 3] = [
            |mark| matches!(mark, Mark::Synced),
            |mark| matches!(mark, Mark::Complete(_)),
            |mark| matches!(mark, Mark::Progress(_)),
        ];
        for is_of_kind in kinds {
            let is = |item: &Item| matches!(item, Item::Mark(mark) if is_of_kind(mark));
            let Some(last) = self.0[..run].iter().rposition(is) else { continue };
            let Item::Mark(mark) = self.0.remove(last) else { unreachable!("it is a mark") };
            let mut at = 0;
            self.0.retain(|item| {
                at += 1;
                at >= run || !is(item)
            });
            return Some(Told::Mark(mark));
        }
        unreachable!("each mark is of a kind")
    }
}

fn event(told: Option<State>, now: Change<State>) -> Event<State> {
    match (told, now) {
        (None, Change::Now { object, initial }) => Event::Added { object, initial },
        (Some(old), Change::Now { object, .. }) => Event::Updated { old, object },
        (_, Change::Gone { last, why: Gone::Left(because) }) => Event::Left { last, because },
        (_, Change::Gone { last, why: Gone::Deleted { final_state_known } }) => {
            Event::Deleted { last, final_state_known }
        }
    }
}

fn inbox_is_plain(ops: &[Op]) {
    let (mut cache, mut clock) = (Cache::default(), 0);
    let (mut inbox, mut plain, mut known) = (Inbox::new(1), Plain::default(), Known::default());
    for op in ops {
        if let Some(news) = news(&mut cache, &mut clock, op) {
            drop(inbox.put(now(), &news.key, news.before.as_ref(), &news.change));
            plain.put(news);
        }
        match op {
            Op::Mark(mark) => {
                inbox.mark(mark.clone());
                plain.0.push(Item::Mark(mark.clone()));
            }
            Op::Take(_) => {
                let told = inbox.take();
                assert_eq!(told, plain.take());
                told.into_iter().for_each(|told| known.hear(told));
            }
            _ => {}
        }
        let either = cache.0.keys().chain(known.objects.keys()).collect::<std::collections::BTreeSet<_>>();
        assert!(inbox.len() <= either.len(), "a key each, of those that the cache has or the handler knows");
        let due = inbox.len();
        assert_eq!(inbox.oldest().is_none(), due == 0);
    }
    let bound = inbox.len() + 3 * (inbox.len() + 1);
    let mut rest = 0;
    while let Some(told) = inbox.take() {
        assert_eq!(Some(&told), plain.take().as_ref());
        known.hear(told);
        rest += 1;
    }
    assert!(rest <= bound, "a mark of a kind between two keys");
    assert!(plain.take().is_none() && inbox.is_empty());
    assert_eq!(known.objects, cache.0, "what was told adds up");
}

/// A handler of the hub, and what it knows.
struct Handler {
    events: Events<Key, State>,
    known: Known,
    began: BTreeMapOf,
}

type BTreeMapOf = std::collections::BTreeMap<Key, State>;

impl Handler {
    fn take(&mut self) -> bool {
        let Some(Some(told)) = self.events.next().now_or_never() else { return false };
        if let Told::Event(key, Event::Added { initial: true, .. }) = &told {
            assert!(self.began.contains_key(key), "only what was there is initial");
        }
        self.known.hear(told);
        true
    }
}

fn each_handler_hears_all(ops: &[Op]) {
    let (hub, mut cache, mut clock) = (Hub::new(1), Cache::default(), 0);
    let (mut handlers, mut synced) = (Vec::<Handler>::new(), false);
    for op in ops {
        if let Some(news) = news(&mut cache, &mut clock, op) {
            hub.publishing().publish(now(), &[news]);
        }
        let at = |index: &u8, len: usize| (len > 0).then(|| usize::from(*index) % len);
        match op {
            Op::Mark(mark) => {
                synced |= *mark == Mark::Synced;
                hub.publishing().mark(mark);
            }
            Op::Register => {
                let began = cache.0.clone();
                let list = |all: &BTreeMapOf, tell: &mut dyn FnMut(&Key, &State)| {
                    all.iter().for_each(|(key, object)| tell(key, object));
                };
                let events = hub.register(now(), || began.clone(), list).expect("it is open");
                handlers.push(Handler { events, known: Known::default(), began });
            }
            Op::Remove(index) => {
                if let Some(at) = at(index, handlers.len()) {
                    handlers.swap_remove(at);
                }
            }
            Op::Take(index) => {
                if let Some(at) = at(index, handlers.len()) {
                    handlers[at].take();
                }
            }
            _ => {}
        }
        assert_eq!(hub.len(), handlers.len());
    }
    hub.close();
    for handler in &mut handlers {
        while handler.take() {}
        assert_eq!(handler.known.objects, cache.0, "what was told adds up");
        let syncs = handler.known.marks.iter().filter(|&mark| *mark == Mark::Synced).count();
        assert_eq!(syncs, usize::from(synced), "each is synced once");
        assert_eq!(handler.events.is_synced(), synced);
        assert_eq!(handler.events.next().now_or_never(), Some(None), "it is over");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn what_was_told_adds_up(ops in prop::collection::vec(op(), 0..80)) {
        inbox_is_plain(&ops);
    }

    #[test]
    fn what_each_of_several_handlers_was_told_adds_up(ops in prop::collection::vec(op(), 0..80)) {
        each_handler_hears_all(&ops);
    }
}
