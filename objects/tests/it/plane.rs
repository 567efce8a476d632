//! A minimal control plane with its own object type: the proof that the ports can be implemented
//! completely.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::stream;
use machinery_objects::{
    Capabilities, Conflict, Continue, Deleted, Deletion, EditNumber, Fence, Fields, Filter, Freshness,
    Interest, InterestBy, InterestEdit, InterestRequest, InterestSource, InterestWatch, Labels, ListAt,
    ListError, ListRequest, ListWatch, Object, ObjectKey, Page, Preconditions, ResourceVersion, Revision,
    SourceError, Uid, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream, WriteError, WriteOutcome,
    WriteToken, Writer, WriterCapabilities, Written,
};
use machinery_sync::Mutex;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) key: ObjectKey,
    pub(crate) revision: Revision,
    pub(crate) uid: String,
    pub(crate) labels: Labels,
    pub(crate) topic: String,
    /// Number of transitions, if it is used as a lock.
    pub(crate) epoch: u64,
}

impl Object for Note {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        (self.revision > Revision::ZERO).then(|| self.revision.into())
    }

    fn labels(&self) -> Labels {
        self.labels.clone()
    }

    fn uid(&self) -> Option<&str> {
        Some(&self.uid).filter(|uid| !uid.is_empty()).map(String::as_str)
    }
}

impl Note {
    pub(crate) fn new(key: &str, topic: &str) -> Self {
        Self {
            key: key.parse().unwrap(),
            revision: Revision::ZERO,
            uid: String::new(),
            labels: Labels::from([("topic", topic)]),
            topic: topic.to_owned(),
            epoch: 0,
        }
    }
}

type State = BTreeMap<ObjectKey, Note>;
type Out = UnboundedSender<Result<WatchEvent<Note>, WatchError>>;

#[derive(Default)]
pub(crate) struct Plane(Mutex<PlaneState>);

#[derive(Default)]
struct PlaneState {
    /// Every state by revision less one; before the first commit it is empty.
    history: Vec<State>,
    compacted: u64,
    watches: Vec<Watch>,
}

struct Watch {
    filter: Filter,
    topics: Option<BTreeSet<Arc<str>>>,
    edits: u64,
    out: Out,
}

impl Watch {
    fn selects(&self, note: &Note) -> bool {
        let topics = self.topics.as_ref();
        topics.is_none_or(|topics| topics.contains(note.topic.as_str()))
            && self.filter.matches(note, &Fields::new([]))
    }

    fn send(&self, at: u64, old: Option<&Note>, new: Option<&Note>) {
        let gone = |old: &Note| Note { revision: Revision(at), ..old.clone() };
        let event = match (old.filter(|old| self.selects(old)), new.filter(|new| self.selects(new))) {
            (None, None) => return,
            (None, Some(object)) => WatchEvent::Added(object.clone()),
            (Some(_), Some(object)) => WatchEvent::Modified(object.clone()),
            (Some(old), None) if new.is_some() => WatchEvent::Left(gone(old)),
            (Some(old), None) => WatchEvent::Deleted(gone(old)),
        };
        self.out.unbounded_send(Ok(event)).ok();
    }
}

impl PlaneState {
    fn now(&self) -> u64 {
        self.history.len() as u64
    }

    fn state(&self, at: u64) -> State {
        at.checked_sub(1).map_or_else(State::new, |at| self.history[at as usize].clone())
    }

    fn commit(&mut self, key: &ObjectKey, new: Option<Note>) -> Revision {
        let mut state = self.state(self.now());
        let at = self.now() + 1;
        let new = new.map(|new| Note { revision: Revision(at), ..new });
        let old = state.remove(key);
        self.watches.iter().for_each(|watch| watch.send(at, old.as_ref(), new.as_ref()));
        state.extend(new.map(|new| (key.clone(), new)));
        self.history.push(state);
        Revision(at)
    }

    /// Sends all changes between two revisions to one watch.
    fn replay(&self, watch: &Watch, after: u64) {
        for at in after + 1..=self.now() {
            let (before, now) = (self.state(at - 1), self.state(at));
            for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
                if before.get(key) != now.get(key) {
                    watch.send(at, before.get(key), now.get(key));
                }
            }
        }
    }

    fn send_state(&self, watch: &Watch) {
        self.state(self.now()).values().for_each(|note| watch.send(self.now(), None, Some(note)));
    }

    fn kept(&self, version: &ResourceVersion) -> Result<u64, WatchError> {
        let Some(Revision(at)) = version.revision() else {
            return Err(SourceError::Invalid { reason: "not of here".into(), causes: Vec::new() }.into());
        };
        match at {
            _ if at > self.now() => {
                Err(WatchError::FutureRevision { newest: self.version(), retry_after: None })
            }
            _ if at < self.compacted => Err(WatchError::Expired),
            _ => Ok(at),
        }
    }

    fn version(&self) -> Option<ResourceVersion> {
        Some(Revision(self.now()).into())
    }

    fn check(&self, key: &ObjectKey, only_if: &Preconditions) -> Result<Note, WriteError> {
        let state = self.state(self.now());
        let fence = only_if.fence.as_ref();
        let holds = |fence: &Fence| {
            state.get(&fence.key).is_some_and(|lock| {
                lock.uid == fence.uid.as_str() && fence.epoch.is_none_or(|epoch| epoch == lock.epoch)
            })
        };
        if let Some(fence) = fence
            && !fence.all().all(holds)
        {
            return Err(WriteError::Conflict(Conflict::Fence(Box::new(fence.clone()))));
        }
        let Some(note) = state.get(key) else { return Err(WriteError::NotFound) };
        if only_if.uid.as_ref().is_some_and(|uid| uid.as_str() != note.uid) {
            return Err(WriteError::Conflict(Conflict::Uid { found: Uid::new(&note.uid) }));
        }
        if only_if.version.as_ref().is_some_and(|version| Some(version) != note.version().as_ref()) {
            return Err(WriteError::Conflict(Conflict::Version { found: note.version() }));
        }
        Ok(note.clone())
    }

    fn write(&mut self, note: Note) -> Written<Note> {
        let key = note.key.clone();
        let at = self.commit(&key, Some(note)).into();
        let object = self.state(self.now())[&key].clone();
        Written {
            token: WriteToken { key, uid: Uid::new(&object.uid), wrote: WriteOutcome::Stored(at) },
            object,
        }
    }
}

impl Plane {
    pub(crate) fn compact(&self) {
        let mut inside = self.0.lock();
        inside.compacted = inside.now();
    }
}

#[async_trait]
impl ListWatch<Note> for Arc<Plane> {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Note>, ListError> {
        let inside = self.0.lock();
        let expired = ListError::Expired { rest: None };
        let (at, after) = match (&request.rest, &request.at) {
            (Some(rest), _) => {
                rest.as_str().split_once(' ').map(|(at, key)| (at.parse().unwrap(), key)).unwrap()
            }
            (None, ListAt::Exactly(version)) => (version.revision().unwrap().0, ""),
            (None, ListAt::Fresh(Freshness::AtLeast(version)))
                if Some(version) > inside.version().as_ref() =>
            {
                return Err(ListError::FutureRevision { newest: inside.version(), retry_after: None });
            }
            (None, ListAt::Fresh(_)) => (inside.now(), ""),
        };
        if at < inside.compacted {
            return Err(expired);
        }
        let limit = request.limit.map_or(usize::MAX, |limit| limit.get() as usize);
        let state = inside.state(at);
        let meant = |note: &&Note| request.filter.matches(*note, &Fields::new([]));
        let mut rest =
            state.iter().filter(|(key, _)| key.as_str() > after).map(|(_, note)| note).filter(meant);
        let items: Vec<_> = rest.by_ref().take(limit).cloned().collect();
        let remaining = rest.count() as u64;
        let last = items.last().map_or("", |note| note.key.as_str());
        let rest = (remaining > 0).then(|| Continue::new(&format!("{at} {last}")).unwrap());
        Ok(Page {
            items,
            unreadable: Vec::new(),
            version: Revision(at).into(),
            rest,
            remaining: Some(remaining),
        })
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Note>, WatchError> {
        let mut inside = self.0.lock();
        let (out, events) = unbounded();
        let watch = Watch { filter: request.filter, topics: None, edits: 0, out };
        match request.from {
            WatchFrom::After(version) => inside.replay(&watch, inside.kept(&version)?),
            WatchFrom::State(_) => {
                inside.send_state(&watch);
                let version = Revision(inside.now()).into();
                let end = WatchEvent::Bookmark { version, initial_state_ends: true };
                watch.out.unbounded_send(Ok(end)).ok();
            }
        }
        inside.watches.push(watch);
        Ok(Box::pin(events))
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<Note>>> {
        Some(Arc::new(self.clone()))
    }
}

#[async_trait]
impl InterestSource<Note> for Arc<Plane> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<Note>, WatchError> {
        let mut inside = self.0.lock();
        if request.by != InterestBy::Label("topic".into()) {
            return Err(
                SourceError::Unsupported { what: "interest by anything but the label `topic`" }.into()
            );
        }
        let (out, events) = unbounded();
        let watch = Watch { filter: request.filter, topics: Some(request.keys), edits: 0, out: out.clone() };
        match request.after {
            Some(version) => inside.replay(&watch, inside.kept(&version)?),
            None => inside.send_state(&watch),
        }
        let version = Revision(inside.now()).into();
        watch.out.unbounded_send(Ok(WatchEvent::Complete { edit: EditNumber::FIRST, version })).ok();
        inside.watches.push(watch);
        Ok(InterestWatch { events: Box::pin(events), interest: Arc::new(Edits { plane: self.clone(), out }) })
    }
}

struct Edits {
    plane: Arc<Plane>,
    out: Out,
}

#[async_trait]
impl Interest for Edits {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        let mut guard = self.plane.0.lock();
        let inside = &mut *guard;
        let (state, version) = (inside.state(inside.now()), Revision(inside.now()).into());
        let ours = inside.watches.iter_mut().find(|watch| watch.out.same_receiver(&self.out));
        let Some(watch) = ours.filter(|_| !self.out.is_closed()) else { return Err(WatchError::Ended) };
        let topics = watch.topics.get_or_insert_default();
        topics.retain(|topic| !edit.remove.contains(topic));
        let new: BTreeSet<_> = edit.add.into_iter().filter(|topic| topics.insert(topic.clone())).collect();
        for note in state.values().filter(|note| new.contains(note.topic.as_str())) {
            watch.send(0, None, Some(note));
        }
        watch.edits += 1;
        let edit = EditNumber(watch.edits);
        self.out.unbounded_send(Ok(WatchEvent::Complete { edit, version })).ok();
        Ok(edit)
    }
}

#[async_trait]
impl Writer<Note> for Arc<Plane> {
    fn capabilities(&self) -> WriterCapabilities {
        let mut capabilities = WriterCapabilities::LEAST;
        capabilities.fences = true;
        capabilities
    }

    async fn create(&self, note: &Note, fence: Option<&Fence>) -> Result<Written<Note>, WriteError> {
        let mut inside = self.0.lock();
        let only_if = Preconditions { fence: fence.cloned(), ..Preconditions::default() };
        match inside.check(&note.key, &only_if) {
            Ok(there) => Err(WriteError::AlreadyExists { uid: Uid::new(&there.uid) }),
            Err(WriteError::NotFound) => {
                let uid = format!("uid-{}", inside.now() + 1);
                Ok(inside.write(Note { uid, ..note.clone() }))
            }
            Err(error) => Err(error),
        }
    }

    async fn update(&self, note: &Note, only_if: &Preconditions) -> Result<Written<Note>, WriteError> {
        let mut inside = self.0.lock();
        inside.check(&note.key, only_if)?;
        let own = Preconditions { version: note.version(), ..Preconditions::default() };
        let there = inside.check(&note.key, &own)?;
        Ok(inside.write(Note { uid: there.uid, ..note.clone() }))
    }

    async fn update_status(&self, _: &Note, _: &Preconditions) -> Result<Written<Note>, WriteError> {
        Err(SourceError::Unsupported { what: "status" }.into())
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<Note>, WriteError> {
        let mut inside = self.0.lock();
        let there = inside.check(key, &deletion.only_if)?;
        let at = inside.commit(key, None);
        let uid = Uid::new(&there.uid);
        Ok(Deleted::Gone(WriteToken { key: key.clone(), uid, wrote: WriteOutcome::Removed(Some(at.into())) }))
    }
}

/// Returns the events that are ready, without waiting.
pub(crate) fn received(stream: &mut WatchStream<Note>) -> Vec<String> {
    use futures::{FutureExt, StreamExt};
    std::iter::from_fn(|| stream.next().now_or_never().flatten())
        .map(|event| short(&event.unwrap()))
        .collect()
}

fn short(event: &WatchEvent<Note>) -> String {
    let note = |note: &Note| format!("{}@{}", note.key, note.revision);
    match event {
        WatchEvent::Added(object) => format!("added {}", note(object)),
        WatchEvent::Modified(object) => format!("modified {}", note(object)),
        WatchEvent::Deleted(object) => format!("deleted {}", note(object)),
        WatchEvent::Left(object) => format!("left {}", note(object)),
        WatchEvent::Bookmark { version, initial_state_ends } => {
            format!("bookmark {version} {initial_state_ends}")
        }
        WatchEvent::Complete { edit, version } => format!("complete {} {version}", edit.0),
        _ => unreachable!("those are all"),
    }
}

/// A source without any optional feature.
pub(crate) struct MinimalSource;

#[async_trait]
impl ListWatch<Note> for MinimalSource {
    fn capabilities(&self) -> Capabilities {
        Capabilities::LEAST
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Note>, ListError> {
        let items = vec![Note::new("a", ""), Note::new("a", "")];
        assert_eq!(request.filter.fields.to_string(), "metadata.name=a,metadata.namespace=");
        Ok(Page { items, unreadable: Vec::new(), version: Revision(1).into(), rest: None, remaining: None })
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<Note>, WatchError> {
        Ok(Box::pin(stream::empty()))
    }
}
