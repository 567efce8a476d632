//! Random changes, compared with a naive queue and with the state of the cache.

use super::{DELETED, HandlerView, LEFT, MISSED, State, TestCache, TestKey, now};
use crate::deliver::{Change, Delivery, DeliveryQueue, Events, Hub, Notification, Removal};
use futures::FutureExt;
use machinery_objects::{Bookmark, EditNumber, Event, Revision};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum QueueOp {
    Set(u8),
    End(u8, Removal),
    Mark(Bookmark),
    Take(u8),
    Register,
    Remove(u8),
}

const KEYS: u8 = 6;

fn op() -> impl Strategy<Value = QueueOp> {
    let gone = prop_oneof![Just(DELETED), Just(MISSED), Just(LEFT)];
    let mark = prop_oneof![
        (0..9_u64).prop_map(|version| Bookmark::Progress(Revision(version).into())),
        (0..9_u64).prop_map(|edit| Bookmark::Complete(EditNumber(edit))),
        Just(Bookmark::Synced),
    ];
    prop_oneof![
        8 => (0..KEYS).prop_map(QueueOp::Set),
        4 => (0..KEYS, gone).prop_map(|(key, removal)| QueueOp::End(key, removal)),
        2 => mark.prop_map(QueueOp::Mark),
        6 => any::<u8>().prop_map(QueueOp::Take),
        1 => Just(QueueOp::Register),
        1 => any::<u8>().prop_map(QueueOp::Remove),
    ]
}

fn name(key: u8) -> TestKey {
    Arc::from(format!("k{key}"))
}

/// Applies an operation to the cache; returns the change unless a missing key was removed.
fn notifications(
    cache: &mut TestCache,
    clock: &mut State,
    op: &QueueOp,
) -> Option<Notification<TestKey, State>> {
    *clock += 1;
    match op {
        QueueOp::Set(key) => Some(cache.set(&name(*key), *clock, false)),
        QueueOp::End(key, removal) => {
            cache.0.contains_key(&name(*key)).then(|| cache.end(&name(*key), *removal))
        }
        _ => None,
    }
}

/// A naive delivery queue.
#[derive(Default)]
struct NaiveQueue(Vec<Item>);

enum Item {
    TestKey { key: TestKey, delivery: Option<State>, now: Change<State> },
    Mark(Bookmark),
}

impl NaiveQueue {
    fn put(&mut self, notifications: Notification<TestKey, State>) {
        let Notification { key: new, before, change } = notifications;
        let at = self.0.iter().position(|item| matches!(item, Item::TestKey { key, .. } if *key == new));
        let Some(at) = at else {
            return self.0.push(Item::TestKey { key: new, delivery: before, now: change });
        };
        let Item::TestKey { delivery, now, .. } = &mut self.0[at] else { unreachable!("it has been found") };
        if delivery.is_none() && matches!(change, Change::Removed { .. }) {
            self.0.remove(at);
        } else {
            *now = change;
        }
    }

    fn take(&mut self) -> Option<Delivery<TestKey, State>> {
        let run = self.0.iter().take_while(|item| matches!(item, Item::Mark(_))).count();
        if run == 0 {
            let Item::TestKey { key, delivery, now } = (!self.0.is_empty()).then(|| self.0.remove(0))? else {
                unreachable!("no mark is first")
            };
            return Some(Delivery::Event(key, event(delivery, now)));
        }
        let kinds: [fn(&Bookmark) -> bool; 3] = [
            |mark| matches!(mark, Bookmark::Synced),
            |mark| matches!(mark, Bookmark::Complete(_)),
            |mark| matches!(mark, Bookmark::Progress(_)),
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
            return Some(Delivery::Mark(mark));
        }
        unreachable!("each mark is of a kind")
    }
}

fn event(delivery: Option<State>, now: Change<State>) -> Event<State> {
    match (delivery, now) {
        (None, Change::Present { object, initial }) => Event::Added { object, initial },
        (Some(old), Change::Present { object, .. }) => Event::Updated { old, object },
        (_, Change::Removed { last, removal: Removal::Left(because) }) => Event::Left { last, because },
        (_, Change::Removed { last, removal: Removal::Deleted { final_state_known } }) => {
            Event::Deleted { last, final_state_known }
        }
    }
}

fn queue_equals_naive_queue(ops: &[QueueOp]) {
    let (mut cache, mut clock) = (TestCache::default(), 0);
    let (mut queue, mut naive, mut known) =
        (DeliveryQueue::new(1), NaiveQueue::default(), HandlerView::default());
    for op in ops {
        if let Some(notifications) = notifications(&mut cache, &mut clock, op) {
            drop(queue.put(now(), &notifications.key, notifications.before.as_ref(), &notifications.change));
            naive.put(notifications);
        }
        match op {
            QueueOp::Mark(mark) => {
                queue.mark(mark.clone());
                naive.0.push(Item::Mark(mark.clone()));
            }
            QueueOp::Take(_) => {
                let delivery = queue.take();
                assert_eq!(delivery, naive.take());
                delivery.into_iter().for_each(|delivery| known.apply(delivery));
            }
            _ => {}
        }
        let either = cache.0.keys().chain(known.objects.keys()).collect::<std::collections::BTreeSet<_>>();
        assert!(queue.len() <= either.len(), "a key each, of those that the cache has or the handler knows");
        let due = queue.len();
        assert_eq!(queue.oldest().is_none(), due == 0);
    }
    let bound = queue.len() + 3 * (queue.len() + 1);
    let mut rest = 0;
    while let Some(delivery) = queue.take() {
        assert_eq!(Some(&delivery), naive.take().as_ref());
        known.apply(delivery);
        rest += 1;
    }
    assert!(rest <= bound, "a mark of a kind between two keys");
    assert!(naive.take().is_none() && queue.is_empty());
    assert_eq!(known.objects, cache.0, "events add up");
}

/// A handler of the hub with its view.
struct Handler {
    events: Events<TestKey, State>,
    known: HandlerView,
    began: BTreeMapOf,
}

type BTreeMapOf = std::collections::BTreeMap<TestKey, State>;

impl Handler {
    fn take(&mut self) -> bool {
        let Some(Some(delivery)) = self.events.next().now_or_never() else { return false };
        if let Delivery::Event(key, Event::Added { initial: true, .. }) = &delivery {
            assert!(self.began.contains_key(key), "only cached objects are initial");
        }
        self.known.apply(delivery);
        true
    }
}

fn each_handler_receives_all(ops: &[QueueOp]) {
    let (hub, mut cache, mut clock) = (Hub::new(1), TestCache::default(), 0);
    let (mut handlers, mut synced) = (Vec::<Handler>::new(), false);
    for op in ops {
        if let Some(notifications) = notifications(&mut cache, &mut clock, op) {
            hub.publishing().publish(now(), &[notifications]);
        }
        let at = |index: &u8, len: usize| (len > 0).then(|| usize::from(*index) % len);
        match op {
            QueueOp::Mark(mark) => {
                synced |= *mark == Bookmark::Synced;
                hub.publishing().mark(mark);
            }
            QueueOp::Register => {
                let began = cache.0.clone();
                let list = |all: &BTreeMapOf, initial: &mut dyn FnMut(&TestKey, &State)| {
                    all.iter().for_each(|(key, object)| initial(key, object));
                };
                let events = hub.register(now(), || began.clone(), list).expect("it is open");
                handlers.push(Handler { events, known: HandlerView::default(), began });
            }
            QueueOp::Remove(index) => {
                if let Some(at) = at(index, handlers.len()) {
                    handlers.swap_remove(at);
                }
            }
            QueueOp::Take(index) => {
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
        assert_eq!(handler.known.objects, cache.0, "events add up");
        let syncs = handler.known.marks.iter().filter(|&mark| *mark == Bookmark::Synced).count();
        assert_eq!(syncs, usize::from(synced), "each is synced once");
        assert_eq!(handler.events.is_synced(), synced);
        assert_eq!(handler.events.next().now_or_never(), Some(None), "it is over");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn delivered_events_add_up_to_the_cache(ops in prop::collection::vec(op(), 0..80)) {
        queue_equals_naive_queue(&ops);
    }

    #[test]
    fn events_of_each_of_several_handlers_add_up(ops in prop::collection::vec(op(), 0..80)) {
        each_handler_receives_all(&ops);
    }
}
