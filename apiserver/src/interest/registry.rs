//! The interests of clients on the wire, by name. An interest exists from its opening until the end
//! of its stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::{FieldSelector, InterestBy, InterestEdit, LabelSelector, LabelTest, Revision};
use machinery_sync::{Mutex, Notify};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::channel::{EditChannel, EditError, reserve};
use super::edits::EditId;
use super::keys::cost;
use crate::server::Limits;

/// All interests of clients on the wire.
pub(crate) struct Interests {
    state: Mutex<State>,
    most: usize,
    /// Memory of all interests, one permit per byte.
    memory: Arc<Semaphore>,
    /// Notified when another interest awaits its stream.
    awaited: Notify,
    /// Metric: number of interests.
    count: Gauge,
}

/// Key sets are built and dropped outside this lock: they can be large, and every request takes it.
#[derive(Default)]
struct State {
    places: BTreeMap<InterestName, InterestEntry>,
    /// Interests without a stream, by deadline.
    waiting: BTreeSet<(Instant, InterestName)>,
}

/// The name of an interest: its user, resource and ID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InterestName {
    pub(super) user: String,
    pub(super) uid: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
    pub(super) id: String,
}

/// The parameters with which an interest was opened.
pub(super) struct InterestOpening {
    pub(super) by: InterestBy,
    /// The keys and the client's last revision, to resume.
    pub(super) resumes: Option<(InterestEdit, Revision)>,
}

/// The selectors, which each request of an interest repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selectors {
    pub(super) labels: LabelSelector,
    pub(super) fields: FieldSelector,
}

impl Selectors {
    /// Approximate memory in bytes.
    fn cost(&self) -> usize {
        let labels = self.labels.requirements().iter().map(|requirement| {
            let values = match requirement.test() {
                LabelTest::In(values) | LabelTest::NotIn(values) => {
                    values.iter().map(|value| cost(value)).sum()
                }
                _ => 0,
            };
            cost(requirement.key()) + values
        });
        let fields = self.fields.terms().iter().map(|term| cost(term.field()) + term.value().len());
        labels.sum::<usize>() + fields.sum::<usize>()
    }
}

struct InterestEntry {
    channel: Arc<EditChannel>,
    selectors: Selectors,
    edit: EditId,
    awaited: Option<AwaitedStream>,
    /// Accounts for the memory of the selectors.
    _memory: OwnedSemaphorePermit,
}

/// The state of an interest that awaits its stream.
pub(super) struct AwaitedStream {
    pub(super) opening: InterestOpening,
    /// The deadline for its stream.
    pub(super) until: Instant,
}

/// The reason why an interest is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unavailable {
    Unknown,
    /// Its stream exists already.
    Taken,
    /// It was opened with other selectors.
    OtherSelectors,
}

/// The interest of a running stream; dropping it ends the interest.
pub(super) struct StreamGuard {
    interests: Arc<Interests>,
    name: InterestName,
    pub(super) channel: Arc<EditChannel>,
}

impl Interests {
    pub(crate) fn new(limits: &Limits, count: Gauge) -> Self {
        let memory = usize::try_from(limits.interests_bytes).unwrap_or(usize::MAX);
        Self {
            state: Mutex::default(),
            most: limits.interests,
            memory: Arc::new(Semaphore::new(memory.min(Semaphore::MAX_PERMITS))),
            awaited: Notify::new(),
            count,
        }
    }

    pub(super) const fn memory(&self) -> &Arc<Semaphore> {
        &self.memory
    }

    /// Opens an interest, which then awaits its stream. Idempotent for the same edit.
    pub(super) fn open(
        &self,
        name: InterestName,
        selectors: Selectors,
        edit: EditId,
        awaited: AwaitedStream,
        make: impl FnOnce() -> Result<EditChannel, EditError>,
    ) -> Result<(), OpenError> {
        if let Some(there) = self.there(&self.state.lock(), &name, edit) {
            return there;
        }
        let memory = reserve(&self.memory, selectors.cost()).map_err(OpenError::Edit)?;
        let channel = Arc::new(make().map_err(OpenError::Edit)?);
        let until = awaited.until;
        let place = InterestEntry { channel, selectors, edit, awaited: Some(awaited), _memory: memory };
        let mut state = self.state.lock();
        // A concurrent request may have opened it.
        if let Some(there) = self.there(&state, &name, edit) {
            return there;
        }
        state.waiting.insert((until, name.clone()));
        state.places.insert(name, place);
        self.counted(&state);
        drop(state);
        self.awaited.notify_all();
        Ok(())
    }

    /// Returns the result of an opening without a new interest: repeated, conflicting, or beyond
    /// the limit.
    fn there(&self, state: &State, name: &InterestName, edit: EditId) -> Option<Result<(), OpenError>> {
        let Some(InterestEntry { edit: first, channel, .. }) = state.places.get(name) else {
            return (state.places.len() >= self.most).then_some(Err(OpenError::TooMany(self.most)));
        };
        let expected = channel.next();
        // Only the last edit can be repeated: after edit 1 another opening is a conflict.
        let again = *first == edit && expected == 1;
        Some(if again { Ok(()) } else { Err(OpenError::There { expected }) })
    }

    /// Returns an interest for an edit.
    pub(super) fn find(
        &self,
        name: &InterestName,
        selectors: &Selectors,
    ) -> Result<Arc<EditChannel>, Unavailable> {
        let state = self.state.lock();
        let place = state.places.get(name).ok_or(Unavailable::Unknown)?;
        if place.selectors != *selectors {
            return Err(Unavailable::OtherSelectors);
        }
        Ok(place.channel.clone())
    }

    /// Takes an interest for its stream.
    pub(super) fn hold(
        self: &Arc<Self>,
        name: InterestName,
        selectors: &Selectors,
    ) -> Result<(StreamGuard, InterestOpening), Unavailable> {
        let mut state = self.state.lock();
        let State { places, waiting } = &mut *state;
        let place = places.get_mut(&name).ok_or(Unavailable::Unknown)?;
        if place.selectors != *selectors {
            return Err(Unavailable::OtherSelectors);
        }
        let AwaitedStream { opening, until } = place.awaited.take().ok_or(Unavailable::Taken)?;
        let waited = (until, name);
        waiting.remove(&waited);
        let channel = place.channel.clone();
        Ok((StreamGuard { interests: self.clone(), name: waited.1, channel }, opening))
    }

    /// Ends the interests past their deadline; returns the next deadline.
    pub(super) fn expire(&self, now: Instant) -> Option<Instant> {
        let mut over = Vec::new();
        let mut state = self.state.lock();
        while state.waiting.first().is_some_and(|(until, _)| *until <= now) {
            let first = state.waiting.pop_first();
            over.extend(first.and_then(|(_, name)| state.places.remove(&name)));
        }
        let next = state.waiting.first().map(|(until, _)| *until);
        self.counted(&state);
        drop(state);
        over.iter().for_each(|place| place.channel.end());
        next
    }

    /// Expires interests until cancelled.
    pub(super) async fn expire_overdue(&self) {
        loop {
            let listener = self.awaited.listen();
            match self.expire(Instant::now()) {
                None => listener.await,
                Some(until) => tokio::select! {
                    biased;
                    () = listener => {}
                    () = tokio::time::sleep_until(until) => {}
                },
            }
        }
    }

    fn counted(&self, state: &State) {
        self.count.set(i64::try_from(state.places.len()).unwrap_or(i64::MAX));
    }
}

/// The reason why an interest was not opened.
pub(super) enum OpenError {
    /// It exists already, with this number of its next edit.
    There {
        expected: u64,
    },
    TooMany(usize),
    Edit(EditError),
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let mut state = self.interests.state.lock();
        let place = state.places.remove(&self.name);
        self.interests.counted(&state);
        drop(state);
        drop(place);
        self.channel.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interest::edits::KeyLimits;
    use tokio::time::Duration;

    fn name(id: &str) -> InterestName {
        let text = String::new;
        InterestName {
            user: "ann".into(),
            uid: text(),
            group: text(),
            version: "v1".into(),
            plural: "pods".into(),
            namespace: None,
            id: id.into(),
        }
    }

    fn everything() -> Selectors {
        Selectors { labels: LabelSelector::default(), fields: FieldSelector::default() }
    }

    fn open(interests: &Interests, id: &str, keys: usize, until: Instant) -> Result<(), String> {
        let by = InterestBy::Label("app".into());
        let awaited = AwaitedStream { opening: InterestOpening { by, resumes: None }, until };
        let add = (0..keys).map(|key| Arc::from(format!("k{key:04}"))).collect();
        let keys = InterestEdit { add, ..InterestEdit::default() };
        let bounds = KeyLimits { keys: 1000, key_bytes: 10 };
        let edit = EditId { number: 0, digest: [u8::try_from(keys.add.len() % 251).unwrap(); 32] };
        let make = || EditChannel::open(&keys, false, edit.digest, bounds, Some(interests.memory()));
        interests.open(name(id), everything(), edit, awaited, make).map_err(|error| match error {
            OpenError::There { expected } => format!("there, at {expected}"),
            OpenError::TooMany(most) => format!("{most} there"),
            OpenError::Edit(error) => format!("{error:?}"),
        })
    }

    fn interests() -> Arc<Interests> {
        let limits = Limits { interests: 2, interests_bytes: 100_000, ..Limits::default() };
        Arc::new(Interests::new(&limits, Gauge::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_interest_lives_until_its_stream_ends_or_is_overdue() {
        let (interests, now) = (interests(), Instant::now());
        let soon = now + Duration::from_secs(30);
        open(&interests, "a", 3, soon).unwrap();
        open(&interests, "a", 3, soon).expect("the same once more");
        assert_eq!(open(&interests, "a", 4, soon), Err("there, at 1".into()));
        open(&interests, "b", 0, soon + Duration::from_secs(1)).unwrap();
        assert_eq!(open(&interests, "c", 0, soon), Err("2 there".into()));

        let hold = |id: &str| interests.hold(name(id), &everything());
        let held = hold("a").ok().unwrap();
        assert_eq!(hold("a").err(), Some(Unavailable::Taken));
        assert_eq!(hold("c").err(), Some(Unavailable::Unknown));
        let other = Selectors { labels: "x=y".parse().unwrap(), ..everything() };
        assert_eq!(interests.hold(name("b"), &other).err(), Some(Unavailable::OtherSelectors));
        assert_eq!(interests.find(&name("b"), &other).err(), Some(Unavailable::OtherSelectors));
        assert_eq!(interests.expire(soon), Some(soon + Duration::from_secs(1)), "one has its stream");
        assert_eq!(interests.count.get(), 2);
        assert_eq!(interests.expire(soon + Duration::from_secs(1)), None);
        assert_eq!(interests.count.get(), 1);
        drop(held);
        assert_eq!((interests.count.get(), hold("a").err()), (0, Some(Unavailable::Unknown)));
        assert_eq!(interests.memory().available_permits(), 100_000);
    }

    #[tokio::test(start_paused = true)]
    async fn key_sets_are_built_outside_the_lock() {
        let (interests, until) = (interests(), Instant::now());
        let edit = EditId { number: 0, digest: [7; 32] };
        let opening = || AwaitedStream {
            opening: InterestOpening { by: InterestBy::Label("app".into()), resumes: None },
            until,
        };
        let bounds = KeyLimits { keys: 1000, key_bytes: 10 };
        let channel = || EditChannel::open(&InterestEdit::default(), false, edit.digest, bounds, None);
        let make = || {
            assert!(interests.state.try_lock().is_some(), "others find theirs meanwhile");
            // A concurrent retry of the request overtakes it.
            let opened = interests.open(name("a"), everything(), edit, opening(), channel);
            assert!(opened.is_ok());
            channel()
        };
        assert!(interests.open(name("a"), everything(), edit, opening(), make).is_ok());
        assert_eq!(interests.count.get(), 1);
        assert_eq!(interests.expire(until), None);
        assert_eq!((interests.count.get(), interests.state.lock().waiting.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn selectors_take_memory_too() {
        let (interests, until) = (interests(), Instant::now());
        let left = || interests.memory().available_permits();
        let edit = EditId { number: 0, digest: [7; 32] };
        let bounds = KeyLimits { keys: 1000, key_bytes: 10 };
        let open = |id: &str, labels: String| {
            let awaited = AwaitedStream {
                opening: InterestOpening { by: InterestBy::Label("app".into()), resumes: None },
                until,
            };
            let make = || EditChannel::open(&InterestEdit::default(), false, edit.digest, bounds, None);
            let fields = "metadata.name!=x".parse().unwrap();
            let selectors = Selectors { labels: labels.parse().unwrap(), fields };
            interests.open(name(id), selectors, edit, awaited, make).is_ok()
        };
        let long = |values: usize| {
            let values: Vec<_> = (0..values).map(|value| format!("v{value:04}")).collect();
            format!("a in ({})", values.join(","))
        };
        assert!(open("a", long(500)));
        assert_eq!(100_000 - left(), 500 * (128 + 5) + (128 + 1) + (128 + 14));
        assert!(!open("b", long(500)), "there is no memory for it");
        assert_eq!(interests.count.get(), 1);
        interests.expire(until);
        assert_eq!(left(), 100_000);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_of_keys_is_reserved_and_released() {
        let (interests, now) = (interests(), Instant::now());
        let left = || interests.memory().available_permits();
        open(&interests, "a", 500, now).unwrap();
        let taken = 100_000 - left();
        assert_eq!(taken, 500 * (128 + 5));
        assert_eq!(open(&interests, "b", 500, now), Err("Full".into()));
        assert_eq!((left(), interests.count.get()), (100_000 - taken, 1), "nothing was kept of it");

        let channel = interests.find(&name("a"), &everything()).unwrap();
        let keys = |from: usize, to: usize| (from..to).map(|key| Arc::from(format!("k{key:04}"))).collect();
        let mut number = 0;
        let mut edit = |remove, add| {
            number += 1;
            let change = InterestEdit { remove, add };
            channel.edit(EditId { number, digest: [1; 32] }, &change, interests.memory())
        };
        edit(keys(0, 100), keys(500, 510)).unwrap();
        assert_eq!(left(), 100_000 - 410 * 133, "what was not told yet is forgotten at once");
        channel.poll_take(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready();
        edit(keys(100, 200), keys(0, 0)).unwrap();
        assert_eq!(left(), 100_000 - 410 * 133, "what is to be removed is kept until it is");
        channel.poll_take(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready();
        assert_eq!(left(), 100_000 - 310 * 133);
        interests.expire(now);
        assert_eq!(left(), 100_000);
        let edit = EditId { number: 9, digest: [1; 32] };
        let ended = channel.edit(edit, &InterestEdit::default(), interests.memory());
        assert_eq!(ended, Err(EditError::Ended));
    }
}
