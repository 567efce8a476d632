//! Loads a checkpoint.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use machinery_objects::Revision;

use super::checkpoint::{GONE, HEAD, PRESENT, SAME_KEY};
use super::error::OpenError;
use super::format::{FORMAT, FileKind, HEADER, Header, array, checksum};
use super::pipeline::{Emit, pipeline};
use super::record::Reader;
use crate::contract::{Entry, Key, Value};
use crate::core::{ChangeHistory, RevisionChanges, State, Version};
use crate::files::{File, Files};
use crate::memory::FIRST;

/// The content of a checkpoint.
pub(crate) struct LoadedCheckpoint {
    pub(crate) revision: Revision,
    /// The newest version of each key, in key order.
    pub(crate) newest: Vec<Arc<Version>>,
    pub(crate) history: ChangeHistory,
    /// Bytes of keys and values.
    pub(crate) used: u64,
    pub(crate) format: u32,
}

impl LoadedCheckpoint {
    /// Returns the content of a new store.
    pub(crate) fn nothing() -> Self {
        Self {
            revision: FIRST,
            newest: Vec::new(),
            history: ChangeHistory::new(FIRST),
            used: 0,
            format: FORMAT,
        }
    }
}

/// Loads a checkpoint.
pub(crate) fn load(files: &dyn Files, name: &str) -> Result<LoadedCheckpoint, OpenError> {
    let path = || files.path(name);
    let failed = |error| OpenError::of("reading", path(), error);
    let file = files.open_to_read(name).map_err(failed)?;
    let header = Header::read(&*file, path, FileKind::Checkpoint)?;
    let bytes = file.size().map_err(failed)?;
    let read = |emit: &Emit<'_, CheckpointPart<Vec<u8>>>| match blocks(&*file, bytes, header.salt, emit) {
        Ok(()) => {}
        Err(end) => drop(emit(CheckpointPart::End(end))),
    };
    let make = |parts| CheckpointLoader::new(&header).all(&parts);
    let loading = pipeline(read, CheckpointPart::decode, make).map_err(failed)?;
    let damaged = |at, what| OpenError::damaged(path(), at, what);
    match loading {
        Ok(loading) => loading
            .finish(header.format)
            .ok_or_else(|| damaged(bytes, "it does not hold all that its header says")),
        Err(LoadFailure::Damaged(at, what)) => Err(damaged(at, what)),
        Err(LoadFailure::Failed(error)) => Err(failed(error)),
    }
}

/// An element of the reading pipeline.
enum CheckpointPart<B> {
    /// The offset of a block, and its records.
    Block(u64, B),
    End(LoadFailure),
}

/// A checkpoint that cannot be read.
enum LoadFailure {
    Failed(io::Error),
    Damaged(u64, &'static str),
}

/// A version of a key.
struct CheckpointRecord {
    /// The key; `None` repeats that of the previous record.
    key: Option<Key>,
    revision: Revision,
    place: u16,
    /// The creating revision and the value; `None` for a deletion.
    value: Option<(Revision, Value)>,
}

fn blocks(
    file: &dyn File,
    size: u64,
    salt: u64,
    emit: &Emit<'_, CheckpointPart<Vec<u8>>>,
) -> Result<(), LoadFailure> {
    let mut at = HEADER as u64;
    while at < size {
        let mut head = [0; HEAD];
        let damaged = |what| Err(LoadFailure::Damaged(at, what));
        if size - at < HEAD as u64 {
            return damaged("a block ends in its head");
        }
        file.read_at(&mut head, at).map_err(LoadFailure::Failed)?;
        let (length, sum) = (u32::from_le_bytes(array(&head, 0)), u32::from_le_bytes(array(&head, 4)));
        if u64::from(length) > size - at - HEAD as u64 {
            return damaged("a block is longer than the file");
        }
        let mut block = vec![0; length as usize];
        file.read_at(&mut block, at + HEAD as u64).map_err(LoadFailure::Failed)?;
        if checksum(salt, &block) != sum {
            return damaged("a block is not what was written");
        }
        if !emit(CheckpointPart::Block(at, block)) {
            return Ok(());
        }
        at += HEAD as u64 + u64::from(length);
    }
    Ok(())
}

impl CheckpointPart<Vec<u8>> {
    fn decode(self) -> CheckpointPart<Option<Vec<CheckpointRecord>>> {
        match self {
            Self::Block(at, block) => {
                let mut reader = Reader(&block);
                let records = std::iter::from_fn(|| {
                    (!reader.0.is_empty()).then(|| CheckpointRecord::read(&mut reader))
                });
                CheckpointPart::Block(at, records.collect())
            }
            Self::End(end) => CheckpointPart::End(end),
        }
    }
}

impl CheckpointRecord {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let kind = reader.byte()?;
        let key = if kind & SAME_KEY == 0 { Some(reader.key()?) } else { None };
        let revision = Revision(reader.number()?);
        let place = u16::from_le_bytes(array(reader.take(2)?, 0));
        let value = match kind & !SAME_KEY {
            PRESENT => Some((Revision(reader.number()?), reader.bytes()?.into())),
            GONE => None,
            _ => return None,
        };
        Some(Self { key, revision, place, value })
    }
}

struct CheckpointLoader {
    compacted: Revision,
    revision: Revision,
    expected: u64,
    count: u64,
    used: u64,
    newest: Vec<Arc<Version>>,
    /// The versions of the current key, newest first.
    states: Vec<(State, u16)>,
    changes: Vec<Arc<Version>>,
}

impl CheckpointLoader {
    fn new(header: &Header) -> Self {
        Self {
            compacted: Revision(header.from),
            revision: Revision(header.number),
            expected: header.count,
            count: 0,
            used: 0,
            newest: Vec::new(),
            states: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn all(
        mut self,
        parts: &Receiver<CheckpointPart<Option<Vec<CheckpointRecord>>>>,
    ) -> Result<Self, LoadFailure> {
        for part in parts {
            match part {
                CheckpointPart::Block(at, records) => {
                    let done = records
                        .and_then(|records| records.into_iter().try_for_each(|record| self.record(record)));
                    done.ok_or(LoadFailure::Damaged(at, "a record is not one"))?;
                }
                CheckpointPart::End(end) => return Err(end),
            }
        }
        Ok(self)
    }

    fn record(&mut self, CheckpointRecord { key, revision, place, value }: CheckpointRecord) -> Option<()> {
        let key = match key {
            Some(key) => {
                self.finish_key();
                if self.newest.last().is_some_and(|last| *last.key() >= key) {
                    return None;
                }
                key
            }
            None => key_of(&self.states.last()?.0),
        };
        let state = match value {
            Some((created, value)) => {
                State::Present(Arc::new(Entry { key, value, created, modified: revision }))
            }
            None => State::Gone(key, revision),
        };
        let falls = self.states.last().is_none_or(|(newer, _)| revision_of(newer) > revision);
        self.states.push((state, place));
        self.count += 1;
        (falls && revision <= self.revision).then_some(())
    }

    /// Links the versions of a key, without those that were compacted while the checkpoint was
    /// written.
    fn finish_key(&mut self) {
        let readable = self.states.iter().position(|(state, _)| revision_of(state) <= self.compacted);
        self.states.truncate(readable.map_or(usize::MAX, |last| last + 1));
        if matches!(self.states.last(), Some((State::Gone(_, revision), _)) if *revision <= self.compacted) {
            self.states.pop();
        }
        let mut newest = None;
        for (state, place) in self.states.drain(..).rev() {
            let version = Version::new(state, place, newest.take());
            self.used += version.bytes();
            if version.revision() > self.compacted {
                self.changes.push(Arc::clone(&version));
            }
            newest = Some(version);
        }
        self.newest.extend(newest);
    }

    fn finish(mut self, format: u32) -> Option<LoadedCheckpoint> {
        self.finish_key();
        if self.count != self.expected || self.compacted > self.revision {
            return None;
        }
        // Checkpoints are in the order of keys, the history in that of revisions.
        self.changes.sort_by_key(|version| (version.revision(), version.place));
        let mut history = ChangeHistory::new(self.compacted);
        for changes in self.changes.chunk_by(|one, other| one.revision() == other.revision()) {
            let revision = changes[0].revision();
            if revision != history.newest().next() {
                return None;
            }
            history.push(RevisionChanges { revision, versions: changes.to_vec().into() });
        }
        let Self { revision, newest, used, .. } = self;
        (history.newest() == revision).then_some(LoadedCheckpoint { revision, newest, history, used, format })
    }
}

fn key_of(state: &State) -> Key {
    match state {
        State::Present(entry) => Arc::clone(&entry.key),
        State::Gone(key, _) => Arc::clone(key),
    }
}

fn revision_of(state: &State) -> Revision {
    match state {
        State::Present(entry) => entry.modified,
        State::Gone(_, revision) => *revision,
    }
}
