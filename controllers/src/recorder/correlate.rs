//! Event correlation: rate limit, aggregation and counting. Pure.

use jiff::{SignedDuration, Timestamp};
use machinery_objects::{ObjectKey, ObjectRef};

use super::event::EventObject;
use super::note::{Note, NoteKind};
use super::recent::RecentMap;

/// Limits of event correlation, with the defaults of client-go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimits {
    /// Burst of notes about one object before the rate limit applies. Default: 25.
    pub burst: u32,
    /// Time to regain one note of the burst. Default: 5 min.
    pub refill: SignedDuration,
    /// Number of similar notes, which differ only in their text, from which on they are combined
    /// into one event. Default: 10.
    pub similar: u32,
    /// Interval in which similar notes are counted. Default: 10 min.
    pub interval: SignedDuration,
    /// Number of objects, and of events, that correlation remembers. Default: 4096.
    pub cache_size: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            burst: 25,
            refill: SignedDuration::from_mins(5),
            similar: 10,
            interval: SignedDuration::from_mins(10),
            cache_size: 4096,
        }
    }
}

/// The write that a note results in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EventAction {
    /// Create an event.
    Create(Box<EventObject>),
    /// Increment the count of an existing event.
    Increment { key: ObjectKey, count: u32, text: String },
    /// Nothing: the rate limit of the object is exceeded.
    Discard,
}

pub(super) struct Correlator {
    limits: EventLimits,
    component: Box<str>,
    about: RecentMap<ObjectRef, TokenBucket>,
    similar: RecentMap<SimilarKey, SimilarWindow>,
    written: RecentMap<(SimilarKey, String), WrittenEvent>,
    named: u64,
}

/// Key of notes that differ only in their text.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SimilarKey {
    about: ObjectRef,
    kind: NoteKind,
    reason: String,
}

struct TokenBucket {
    tokens: u32,
    since: Timestamp,
}

struct SimilarWindow {
    since: Timestamp,
    texts: Vec<u64>,
}

struct WrittenEvent {
    key: ObjectKey,
    count: u32,
}

const COMBINED: &str = "(combined from similar events): ";

impl Correlator {
    pub(super) fn new(component: &str, limits: EventLimits) -> Self {
        let cache_size = limits.cache_size;
        Self {
            limits,
            component: component.into(),
            about: RecentMap::new(cache_size),
            similar: RecentMap::new(cache_size),
            written: RecentMap::new(cache_size),
            named: 0,
        }
    }

    /// Returns the write for a note. A clock set back only extends the intervals.
    pub(super) fn record(&mut self, now: Timestamp, note: &Note) -> EventAction {
        if !self.take_token(now, &note.about) {
            return EventAction::Discard;
        }
        let similar = SimilarKey { about: note.about.clone(), kind: note.kind, reason: note.reason.clone() };
        let (text, one) = if self.exceeds_similar_limit(now, &similar, &note.text) {
            (format!("{COMBINED}{}", note.text), (similar, COMBINED.to_owned()))
        } else {
            (note.text.clone(), (similar, note.text.clone()))
        };
        self.named += 1;
        let number = self.named;
        let mut is_new = false;
        let written = self.written.entry(one, || {
            is_new = true;
            WrittenEvent { key: name(&note.about, now, number), count: 0 }
        });
        written.count = written.count.saturating_add(1);
        if is_new {
            EventAction::Create(Box::new(EventObject::of(note, &written.key, &text, now, &self.component)))
        } else {
            EventAction::Increment { key: written.key.clone(), count: written.count, text }
        }
    }

    /// Forgets the event of a note that no longer exists: the next note creates one.
    pub(super) fn forget(&mut self, note: &Note) {
        let similar = SimilarKey { about: note.about.clone(), kind: note.kind, reason: note.reason.clone() };
        self.written.remove(&(similar.clone(), note.text.clone()));
        self.written.remove(&(similar, COMBINED.to_owned()));
    }

    fn take_token(&mut self, now: Timestamp, about: &ObjectRef) -> bool {
        let EventLimits { burst, refill, .. } = self.limits;
        let bucket = self.about.entry(about.clone(), || TokenBucket { tokens: burst, since: now });
        while bucket.tokens < burst && now.duration_since(bucket.since) >= refill {
            bucket.tokens += 1;
            bucket.since = bucket.since.checked_add(refill).unwrap_or(now);
        }
        if bucket.tokens == burst {
            bucket.since = now;
        }
        let may = bucket.tokens > 0;
        bucket.tokens = bucket.tokens.saturating_sub(1);
        may
    }

    /// Returns whether the note is combined with earlier similar ones.
    fn exceeds_similar_limit(&mut self, now: Timestamp, similar: &SimilarKey, text: &str) -> bool {
        use std::hash::BuildHasher;
        let EventLimits { similar: most, interval, .. } = self.limits;
        // Hashes instead of texts: a collision only counts one similar note less.
        let hash = foldhash::fast::FixedState::with_seed(0).hash_one(text);
        let window = self.similar.entry(similar.clone(), || SimilarWindow { since: now, texts: Vec::new() });
        if now.duration_since(window.since) > interval {
            *window = SimilarWindow { since: now, texts: Vec::new() };
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if window.texts.contains(&hash) {
            return false;
        }
        if window.texts.len() + 1 >= most {
            return true;
        }
        window.texts.push(hash);
        false
    }
}

/// Returns a unique event name in the namespace of the object, or in `default`.
fn name(about: &ObjectRef, now: Timestamp, number: u64) -> ObjectKey {
    let namespace = about.key.namespace().unwrap_or("default");
    // The count distinguishes notes of one instant.
    let stamp = now.as_nanosecond().wrapping_add(i128::from(number));
    // Leaves space for the stamp: a name has at most 253 characters.
    let own: String = about.key.name().chars().take(200).collect();
    ObjectKey::new(Some(namespace), &format!("{own}.{stamp:016x}")).unwrap_or_default()
}
