//! A witness of a store's clients: acknowledged commits, observed changes, and commits without an
//! answer. A store recovered from a crash must agree with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{
    Backend, Change, Commit, CommitError, CompactError, Entry, Event, Key, KeySpan, Operation, Range,
    ReadError, Transaction, Value, WatchError, WatchItem,
};

/// The changes of a revision, in order: puts, and deletes of existing keys.
pub(crate) type Effects = Vec<(Key, Option<Value>)>;

type Contents = BTreeMap<Key, Arc<Entry>>;

#[derive(Clone, Debug)]
pub(crate) struct Witness {
    /// The changes of each revision that a client has observed.
    known: BTreeMap<Revision, Effects>,
    /// Commits with an unknown outcome.
    unknown: Vec<Transaction>,
    /// The highest acknowledged compaction.
    compacted: Revision,
    /// The highest possible compaction.
    compacting: Vec<Revision>,
    /// The newest revision in a conflict.
    refused: Revision,
    count: u64,
}

/// The revision of an empty store.
const FIRST: Revision = Revision(1);

impl Witness {
    pub(crate) fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            unknown: Vec::new(),
            compacted: FIRST,
            compacting: Vec::new(),
            refused: FIRST,
            count: 0,
        }
    }

    /// Returns the newest observed revision.
    pub(crate) fn newest(&self) -> Revision {
        self.known.keys().next_back().copied().unwrap_or(FIRST).max(self.refused)
    }

    /// Returns the number of commits with an unknown outcome.
    pub(crate) fn unknown(&self) -> usize {
        self.unknown.len()
    }

    /// Returns a witness that allows no commit with an unknown outcome.
    pub(crate) fn strict(&self) -> Self {
        Self { unknown: Vec::new(), compacting: Vec::new(), ..self.clone() }
    }

    /// Returns the witness of an earlier revision.
    pub(crate) fn until(&self, newest: Revision) -> Self {
        let mut earlier = self.strict();
        earlier.known.retain(|revision, _| *revision <= newest);
        earlier.compacting = vec![std::mem::replace(&mut earlier.compacted, FIRST)];
        earlier
    }

    /// Returns a new number.
    pub(crate) fn count(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Records the answer of a commit. Returns whether the store still accepts writes.
    pub(crate) fn answered(&mut self, transaction: Transaction, answer: Result<Commit, CommitError>) -> bool {
        match answer {
            Ok(commit) if commit.changed => {
                let effects = transaction.operations.iter().zip(&commit.before);
                let effects = effects.filter_map(|(operation, before)| effect(operation, before.is_some()));
                self.record_commit(commit.revision, effects.collect());
                true
            }
            Ok(_) => true,
            Err(CommitError::Conflict(conflict)) => {
                self.refused = self.refused.max(conflict.revision);
                true
            }
            Err(CommitError::Unknown { .. }) => {
                self.unknown.push(transaction);
                false
            }
            Err(CommitError::Refused { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Records the answer of a compaction. Returns whether the store still accepts writes.
    pub(crate) fn compacted(&mut self, to: Revision, answer: &Result<(), CompactError>) -> bool {
        match answer {
            Ok(()) => self.compacted = self.compacted.max(to),
            Err(CompactError::Unknown { .. }) => self.compacting.push(to),
            Err(CompactError::Refused { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        answer.is_ok()
    }

    /// Records an item of a watch of all keys.
    pub(crate) fn observe(&mut self, seen: &WatchItem) {
        if let WatchItem::Changes { revision, events } = seen {
            self.record_commit(*revision, events.iter().map(effect_of).collect());
        }
    }

    fn record_commit(&mut self, revision: Revision, effects: Effects) {
        let known = self.known.entry(revision).or_insert_with(|| effects.clone());
        assert_eq!(*known, effects, "revision {revision} is used twice");
    }

    /// Checks that `store` has the observed changes of each revision, besides them only commits
    /// with an unknown outcome, each at most once, and no impossible compaction. Records the state
    /// found.
    pub(crate) async fn check(&mut self, store: &impl Backend) {
        let compacted = self.check_compaction(store).await;
        let current = store.revision().await.unwrap();
        assert!(current >= self.newest(), "the store is at {current}, and {} was known", self.newest());

        let mut state = Contents::new();
        let mut watched = watched(store, compacted, current).await.into_iter();
        for revision in (FIRST.0..=current.0).map(Revision) {
            if revision > FIRST {
                let events =
                    (revision > compacted).then(|| watched.next().expect("every revision is watched"));
                self.step(&mut state, revision, events);
            }
            if revision >= compacted {
                let page = store.range(Range::of(KeySpan::all()).at(revision)).await.unwrap();
                assert_eq!((page.at, page.current, page.next), (revision, current, None));
                assert!(page.entries.iter().eq(state.values()), "at {revision}: {:?}", page.entries);
            }
        }
        let page = store.range(Range::of(KeySpan::all())).await.unwrap();
        assert!(page.entries.iter().eq(state.values()), "{:?}", page.entries);
        self.unknown.clear();
    }

    async fn check_compaction(&mut self, store: &impl Backend) -> Revision {
        let compacted = match store.range(Range::of(KeySpan::all()).at(FIRST)).await {
            Ok(_) => FIRST,
            Err(ReadError::Compacted { compacted, .. }) => compacted,
            Err(error) => panic!("{error}"),
        };
        let may_be =
            compacted == self.compacted || compacted > self.compacted && self.compacting.contains(&compacted);
        assert!(
            may_be,
            "compacted to {compacted}, and that was asked: {} {:?}",
            self.compacted, self.compacting
        );
        if compacted > FIRST {
            let before = Revision(compacted.0 - 1);
            let refused = store.range(Range::of(KeySpan::all()).at(before)).await.unwrap_err();
            assert_eq!(refused, ReadError::Compacted { requested: before, compacted });
            let refused = store.watch(KeySpan::all(), before).await.unwrap_err();
            assert_eq!(refused, WatchError::Compacted { after: before, compacted });
        }
        self.compacted = compacted;
        self.compacting.clear();
        compacted
    }

    /// Replays one revision, and compares its watch item.
    fn step(&mut self, state: &mut Contents, revision: Revision, seen: Option<(Revision, Vec<Event>)>) {
        if let Some((at, events)) = &seen {
            assert_eq!(*at, revision, "a watch leaves nothing out");
            if !self.known.contains_key(&revision) {
                let effects: Effects = events.iter().map(effect_of).collect();
                let may_be = |transaction: &Transaction| {
                    let effects_now = transaction.operations.iter();
                    effects_now
                        .filter_map(|one| effect(one, state.contains_key(one.key())))
                        .eq(effects.clone())
                };
                let found = self.unknown.iter().position(may_be);
                let found = found.unwrap_or_else(|| panic!("{revision} is nobody's: {events:?}"));
                self.unknown.remove(found);
                self.record_commit(revision, effects);
            }
        }
        let effects = self.known.get(&revision).unwrap_or_else(|| panic!("nobody knows {revision}"));
        let expected: Vec<_> = effects.iter().map(|effect| apply(state, revision, effect)).collect();
        if let Some((_, events)) = seen {
            assert_eq!(events, expected, "of revision {revision}");
        }
    }

    /// Commits once more, and checks that it has the next revision.
    pub(crate) async fn write_next(&mut self, store: &impl Backend) {
        let next = store.revision().await.unwrap().next();
        let transaction = Transaction::new().put("again", self.count().to_string().into_bytes());
        let commit = store.commit(transaction.clone()).await.unwrap();
        assert_eq!(commit.revision, next);
        self.answered(transaction, Ok(commit));
    }
}

/// Prints the position of a test on a panic.
pub(crate) struct At<F: Fn() -> String>(pub(crate) F);

impl<F: Fn() -> String> Drop for At<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0());
        }
    }
}

/// Returns the changes after `compacted` up to `current`.
async fn watched(
    store: &impl Backend,
    compacted: Revision,
    current: Revision,
) -> Vec<(Revision, Vec<Event>)> {
    let mut watch = store.watch(KeySpan::all(), compacted).await.unwrap();
    watch.request_progress();
    let mut all = Vec::new();
    loop {
        match watch.next().await.unwrap() {
            WatchItem::Changes { revision, events } => all.push((revision, events)),
            WatchItem::Progress(revision) if revision == current => return all,
            WatchItem::Progress(_) => {}
        }
    }
}

fn effect(operation: &Operation, was_there: bool) -> Option<(Key, Option<Value>)> {
    match operation {
        Operation::Put(key, value) => Some((key.clone(), Some(value.clone()))),
        Operation::Delete(key) => was_there.then(|| (key.clone(), None)),
    }
}

fn effect_of(event: &Event) -> (Key, Option<Value>) {
    (event.key().clone(), event.after().map(|entry| entry.value.clone()))
}

fn apply(state: &mut Contents, modified: Revision, (key, value): &(Key, Option<Value>)) -> Event {
    let before = state.remove(key);
    let change = match value {
        None => Change::Deleted(key.clone()),
        Some(value) => {
            let created = before.as_ref().map_or(modified, |before| before.created);
            let entry = Arc::new(Entry { key: key.clone(), value: value.clone(), created, modified });
            state.insert(key.clone(), entry.clone());
            Change::Put(entry)
        }
    };
    Event { before, change }
}
