//! The whole state in one file: every key with its versions back to the compacted revision.
//!
//! ```text
//! block    u32 n, checksum, n bytes of records
//! record   kind, [u32 k, key], u64 revision, u16 place, [u64 created, u32 v, value]
//! kind     1 present, 2 gone; 16 is added if it is of the same key as the record before, and older: then it has no key
//! ```
//! Keys rise; the versions of a key fall. A checkpoint has its name only when it is whole and durable.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;

use super::error::OpenError;
use super::format::{FORMAT, HEADER, Header, Kind, array, checksum};
use super::names::{Name, UNFINISHED};
use super::record::{Reader, write_bytes};
use super::upkeep::GULP;
use crate::contract::{Entry, Key};
use crate::core::{History, Revised, State, Table, Version, View};
use crate::files::{File, Files};

/// A block is written when it has so many bytes.
const BLOCK: usize = 256 * 1024;
/// Bytes before a block's records.
const HEAD: usize = 8;

const PRESENT: u8 = 1;
const GONE: u8 = 2;
const SAME_KEY: u8 = 16;

/// Writes the checkpoint of `revision`, which is the newest in `view`. `compacted` is asked when all is written, for what is
/// compacted meanwhile may be missing. `breathe` is called now and then, and may end it. Returns the bytes of the file.
pub(crate) fn write(
    files: &dyn Files,
    name: &str,
    view: &View,
    revision: Revision,
    compacted: impl FnOnce() -> Revision,
    breathe: impl Fn() -> io::Result<()>,
) -> io::Result<u64> {
    let unfinished = format!("{name}{UNFINISHED}");
    remove_if_there(files, &unfinished)?;
    let file = files.create(&unfinished)?;
    let mut blocks = Blocks { file: &*file, salt: files.salt()?, end: HEADER as u64, block: vec![0; HEAD] };
    let mut count = 0;
    for newest in view.all() {
        let mut next = Some((Arc::clone(newest), 0));
        while let Some((version, same)) = next {
            if blocks.add(&version, same)? {
                breathe()?;
            }
            count += 1;
            next = version.older().map(|older| (older, SAME_KEY));
        }
    }
    blocks.flush()?;
    let from = compacted().min(revision).0;
    let header =
        Header { format: FORMAT, kind: Kind::Checkpoint, salt: blocks.salt, number: revision.0, from, count };
    file.write_at(&header.encode(), 0)?;
    file.sync()?;
    files.rename(&unfinished, name)?;
    files.sync()?;
    Ok(blocks.end)
}

/// Removes a file that an earlier attempt may have left behind.
pub(crate) fn remove_if_there(files: &dyn Files, name: &str) -> io::Result<()> {
    match files.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

struct Blocks<'a> {
    file: &'a dyn File,
    salt: u64,
    end: u64,
    block: Vec<u8>,
}

impl Blocks<'_> {
    /// True: a gulp's worth was synced.
    fn add(&mut self, version: &Version, same: u8) -> io::Result<bool> {
        let block = &mut self.block;
        block.push(same | if version.entry().is_some() { PRESENT } else { GONE });
        if same == 0 {
            write_bytes(block, version.key().as_bytes());
        }
        block.extend_from_slice(&version.revision().0.to_le_bytes());
        block.extend_from_slice(&version.place.to_le_bytes());
        if let Some(entry) = version.entry() {
            block.extend_from_slice(&entry.created.0.to_le_bytes());
            write_bytes(block, &entry.value);
        }
        if block.len() < BLOCK { Ok(false) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<bool> {
        let length = self.block.len() - HEAD;
        if length == 0 {
            return Ok(false);
        }
        let sum = checksum(self.salt, &self.block[HEAD..]);
        self.block[..4].copy_from_slice(&(length as u32).to_le_bytes());
        self.block[4..HEAD].copy_from_slice(&sum.to_le_bytes());
        self.file.write_at(&self.block, self.end)?;
        let end = self.end + self.block.len() as u64;
        // A sync of the log would wait for all that is not synced here.
        let gulped = self.end / GULP != end / GULP;
        if gulped {
            self.file.sync()?;
        }
        self.end = end;
        self.block.truncate(HEAD);
        Ok(gulped)
    }
}

/// What a checkpoint holds.
pub(crate) struct Loaded {
    pub(crate) revision: Revision,
    pub(crate) history: History,
    /// Bytes of keys and values.
    pub(crate) used: u64,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    pub(crate) format: u32,
}

/// Reads a checkpoint into `table`, which is empty.
pub(crate) fn read(files: &dyn Files, name: &str, table: &Table) -> Result<Loaded, OpenError> {
    let path = || files.path(name);
    let failed = |error| OpenError::of("reading", path(), error);
    let file = files.open_to_read(name).map_err(failed)?;
    let header = Header::read(&*file, path, Kind::Checkpoint)?;
    let size = file.size().map_err(failed)?;
    let mut loading = Loading::new(&header);
    let (mut at, mut block) = (HEADER as u64, Vec::new());
    while at < size {
        let mut head = [0; HEAD];
        let damaged = |what| OpenError::damaged(path(), at, what);
        if size - at < HEAD as u64 {
            return Err(damaged("a block ends in its head"));
        }
        file.read_at(&mut head, at).map_err(failed)?;
        let (length, sum) = (u32::from_le_bytes(array(&head, 0)), u32::from_le_bytes(array(&head, 4)));
        if u64::from(length) > size - at - HEAD as u64 {
            return Err(damaged("a block is longer than the file"));
        }
        block.resize(length as usize, 0);
        file.read_at(&mut block, at + HEAD as u64).map_err(failed)?;
        if checksum(header.salt, &block) != sum {
            return Err(damaged("a block is not what was written"));
        }
        let mut reader = Reader(&block);
        while !reader.0.is_empty() {
            loading.record(&mut reader).ok_or_else(|| damaged("a record is not one"))?;
        }
        at += (HEAD + block.len()) as u64;
    }
    loading
        .finish(table)
        .ok_or_else(|| OpenError::damaged(path(), size, "it does not hold all that its header says"))
        .map(|(history, used)| Loaded {
            revision: Revision(header.number),
            history,
            used,
            bytes: size,
            format: header.format,
        })
}

struct Loading {
    compacted: Revision,
    revision: Revision,
    expected: u64,
    count: u64,
    used: u64,
    newest: Vec<Arc<Version>>,
    /// The states of the key that is being read, newest first.
    states: Vec<(State, u16)>,
    changes: Vec<Arc<Version>>,
}

impl Loading {
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

    fn record(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.byte()?;
        let key = if kind & SAME_KEY == 0 {
            self.finish_key();
            let key = reader.key()?;
            if self.newest.last().is_some_and(|last| *last.key() >= key) {
                return None;
            }
            key
        } else {
            key_of(&self.states.last()?.0)
        };
        let revision = Revision(reader.number()?);
        let place = u16::from_le_bytes(array(reader.take(2)?, 0));
        let state = match kind & !SAME_KEY {
            PRESENT => {
                let created = Revision(reader.number()?);
                let value = reader.bytes()?.into();
                State::Present(Arc::new(Entry { key, value, created, modified: revision }))
            }
            GONE => State::Gone(key, revision),
            _ => return None,
        };
        let falls = self.states.last().is_none_or(|(newer, _)| revision_of(newer) > revision);
        self.states.push((state, place));
        self.count += 1;
        (falls && revision <= self.revision).then_some(())
    }

    /// Links the states of a key, without those that compaction made unreadable while the checkpoint was written.
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

    fn finish(mut self, table: &Table) -> Option<(History, u64)> {
        self.finish_key();
        if self.count != self.expected || self.compacted > self.revision {
            return None;
        }
        table.load(self.newest);
        self.changes.sort_by_key(|version| (version.revision(), version.place));
        let mut history = History::new(self.compacted);
        for changes in self.changes.chunk_by(|one, other| one.revision() == other.revision()) {
            let revision = changes[0].revision();
            if revision != history.newest().next() {
                return None;
            }
            history.push(Revised { revision, versions: changes.to_vec().into() });
        }
        (history.newest() == self.revision).then_some((history, self.used))
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

/// The name of the checkpoint of `revision`.
pub(crate) fn name(revision: Revision) -> String {
    Name::Checkpoint(revision).to_string()
}
