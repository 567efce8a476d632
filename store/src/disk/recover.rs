//! What a directory holds: the newest whole checkpoint, and the log after it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use machinery_objects::Revision;

use super::checkpoint;
use super::error::OpenError;
use super::format::{HEADER, Header, Kind};
use super::frame::{self, FRAME, Head};
use super::log::{self, Segment};
use super::names::{LOCK, Name};
use super::record::{Reader, Record};
use crate::contract::Limits;
use crate::core::{Core, History, Table};
use crate::files::{File, Files};
use crate::memory::FIRST;

/// A store as it was when its process ended.
pub(crate) struct Recovered {
    pub(crate) table: Arc<Table>,
    pub(crate) core: Core,
    pub(crate) history: History,
    /// Where the log goes on.
    pub(crate) segment: Segment,
    pub(crate) others: Others,
    /// Bytes of the newest checkpoint.
    pub(crate) checkpoint_bytes: u64,
    /// Bytes of the log after it.
    pub(crate) log_bytes: u64,
    /// The oldest format among the files.
    pub(crate) format: u32,
}

/// The files that are not written any more.
pub(crate) struct Others {
    /// The logs before the one that is written.
    pub(crate) logs: Vec<u64>,
    pub(crate) checkpoints: Vec<Revision>,
    pub(crate) spares: Vec<u64>,
    /// Checkpoints that were cut short.
    pub(crate) unfinished: Vec<String>,
}

/// The files of a store, by what they are.
#[derive(Default)]
struct Found {
    logs: BTreeMap<u64, Header>,
    checkpoints: Vec<Revision>,
    spares: Vec<u64>,
    unfinished: Vec<String>,
}

/// Looks whether `files` are a store, or empty, without changing anything.
pub(crate) fn inspect(files: &dyn Files) -> Result<(), OpenError> {
    find(files).map(drop)
}

/// Reads the store that `files` hold, and begins one where they are empty.
pub(crate) fn recover(files: &dyn Files, limits: &Limits, seed: u64) -> Result<Recovered, OpenError> {
    let found = find(files)?;
    let (mut replay, whole) = load(files, &found, limits, seed)?;
    let logs = chain(files, &found, replay.revision())?;
    let mut segment = None;
    let mut buffer = Vec::new();
    for (place, number) in logs.iter().enumerate() {
        let next = logs.get(place + 1).map(|next| &found.logs[next]);
        segment = Some(replay.log(files, &found.logs[number], next, &mut buffer)?);
    }
    let format =
        found.logs.values().map(|header| header.format).chain(whole.as_ref().map(|whole| whole.format)).min();
    let segment = match segment {
        Some(segment) => segment,
        None => {
            let failed = |error| OpenError::of("beginning", files.path(&Name::Log(1).to_string()), error);
            log::begin(files, None, 1, replay.revision(), replay.history.compacted()).map_err(failed)?
        }
    };
    // The names that were read may be in the system's memory only.
    files.sync().map_err(|error| OpenError::of("syncing", files.path(""), error))?;
    let Found { logs, checkpoints, spares, unfinished } = found;
    let logs = logs.into_keys().filter(|number| *number != segment.number).collect();
    Ok(Recovered {
        table: replay.table,
        core: replay.core,
        history: replay.history,
        segment,
        others: Others { logs, checkpoints, spares, unfinished },
        checkpoint_bytes: whole.map_or(0, |whole| whole.bytes),
        log_bytes: replay.log_bytes,
        format: format.unwrap_or(super::format::FORMAT),
    })
}

fn find(files: &dyn Files) -> Result<Found, OpenError> {
    let names = files.list().map_err(|error| OpenError::of("listing", files.path(""), error))?;
    let mut found = Found::default();
    let mut foreign = None;
    for name in &names {
        match Name::parse(name) {
            Some(Name::Log(number)) => {
                if let Some(header) = header(files, name, Kind::Log)? {
                    found.logs.insert(number, header);
                }
            }
            Some(Name::Checkpoint(revision)) => {
                if header(files, name, Kind::Checkpoint)?.is_some() {
                    found.checkpoints.push(revision);
                }
            }
            Some(Name::Spare(number)) => found.spares.push(number),
            Some(Name::Unfinished(_)) => found.unfinished.push(name.clone()),
            None if name == LOCK => {}
            None => foreign = Some(name),
        }
    }
    found.checkpoints.sort_unstable();
    match foreign {
        Some(name) if found.logs.is_empty() && found.checkpoints.is_empty() => Err(OpenError::NotAStore {
            path: files.path(""),
            what: format!("it holds other files (`{name}`) and none of a store"),
        }),
        _ => Ok(found),
    }
}

/// The header of a file; none if the file is gone by now.
fn header(files: &dyn Files, name: &str, kind: Kind) -> Result<Option<Header>, OpenError> {
    let path = || files.path(name);
    match files.open_to_read(name) {
        Ok(file) => {
            let header = Header::read(&*file, path, kind)?;
            match Name::parse(name) {
                Some(Name::Log(number) | Name::Checkpoint(Revision(number))) if number == header.number => {}
                _ => return Err(OpenError::damaged(path(), 0, "it is another file than its name says")),
            }
            Ok(Some(header))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::of("opening", path(), error)),
    }
}

/// Reads the newest checkpoint that is whole. That one is damaged matters only if an older one, or none, and the logs do
/// not lead to the same state; then the chain of logs has a gap.
fn load(
    files: &dyn Files,
    found: &Found,
    limits: &Limits,
    seed: u64,
) -> Result<(Replay, Option<checkpoint::Loaded>), OpenError> {
    let first_log = found.logs.values().map(|header| header.from).min();
    let mut damage = None;
    for revision in found.checkpoints.iter().rev() {
        let table = Arc::new(Table::new(seed));
        match checkpoint::read(files, &checkpoint::name(*revision), &table) {
            Ok(mut loaded) => {
                let history = std::mem::replace(&mut loaded.history, History::new(FIRST));
                let core =
                    Core::new(Arc::clone(&table), loaded.revision, history.compacted(), loaded.used, limits);
                return Ok((Replay::new(table, core, history), Some(loaded)));
            }
            Err(error @ OpenError::Damaged { .. }) => damage = damage.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match damage {
        Some(damage) if first_log != Some(FIRST.0) => Err(damage),
        _ => {
            let table = Arc::new(Table::new(seed));
            let core = Core::new(Arc::clone(&table), FIRST, FIRST, 0, limits);
            Ok((Replay::new(table, core, History::new(FIRST)), None))
        }
    }
}

/// The logs that lead on from `revision`, in their order.
fn chain(files: &dyn Files, found: &Found, revision: Revision) -> Result<Vec<u64>, OpenError> {
    let first =
        found.logs.iter().rev().find(|(_, header)| header.from <= revision.0).map(|(number, _)| *number);
    let missing =
        |number: u64, why: &str| Err(OpenError::damaged(files.path(&Name::Log(number).to_string()), 0, why));
    let Some(first) = first else {
        return match found.logs.keys().next() {
            Some(number) => missing(number.saturating_sub(1), "it is missing, and later ones are there"),
            None if found.checkpoints.is_empty() => Ok(Vec::new()),
            None => missing(1, "the log is missing, and a checkpoint is there"),
        };
    };
    let chain: Vec<_> = found.logs.range(first..).map(|(number, _)| *number).collect();
    match chain.iter().zip(first..).find(|(number, expected)| **number != *expected) {
        Some((_, expected)) => missing(expected, "it is missing, and later ones are there"),
        None => Ok(chain),
    }
}

struct Replay {
    table: Arc<Table>,
    core: Core,
    history: History,
    /// The revision up to which the log has been read; lower than the state's while it repeats what the checkpoint holds.
    reached: Revision,
    log_bytes: u64,
}

impl Replay {
    fn new(table: Arc<Table>, core: Core, history: History) -> Self {
        Self { table, core, history, reached: Revision::ZERO, log_bytes: 0 }
    }

    fn revision(&self) -> Revision {
        self.history.newest()
    }

    /// Does again what a log says.
    fn log(
        &mut self,
        files: &dyn Files,
        header: &Header,
        next: Option<&Header>,
        bytes: &mut Vec<u8>,
    ) -> Result<Segment, OpenError> {
        let name = Name::Log(header.number).to_string();
        let failed = |error| OpenError::of("reading", files.path(&name), error);
        let file = files.open(&name).map_err(failed)?;
        bytes.resize(file.size().map_err(failed)? as usize, 0);
        file.read_at(bytes, 0).map_err(failed)?;
        self.reached = Revision(header.from);
        let compacted = Revision(header.count);
        if compacted > self.reached {
            return Err(OpenError::damaged(
                files.path(&name),
                0,
                "more is compacted in it than had happened",
            ));
        }
        // The record of that may be in a log that is not read: behind the checkpoint, and at its revision.
        if compacted > self.history.compacted() {
            self.core.forget(self.history.compact(compacted));
        }
        let (mut at, mut last) = (HEADER, HEADER);
        let end = loop {
            match self.frame(bytes.get(at..).unwrap_or_default(), header.salt) {
                Step::Batch(size) => (last, at) = (at, at + size),
                end => break end,
            }
        };
        self.log_bytes += at as u64;
        let damaged = |what| Err(OpenError::damaged(files.path(&name), at as u64, what));
        match end {
            Step::Wrong(what) => return damaged(what),
            _ if bytes.len() < at + FRAME => return damaged("the file was cut"),
            Step::Turn if next.is_none() => {
                return damaged("the log goes on in another file, which is missing");
            }
            Step::Nothing if frame::find(bytes, at + 8, header.salt).is_some() => {
                return damaged("a batch is not what was written, and later ones are there");
            }
            _ => {}
        }
        match next {
            Some(next) if !self.leads_to(next) => {
                return damaged("batches at its end are not what was written");
            }
            None if self.reached < self.revision() => return damaged("it ends before its checkpoint"),
            None => settle(&*file, &bytes[last..at], last as u64).map_err(failed)?,
            _ => {}
        }
        Ok(Segment {
            number: header.number,
            salt: header.salt,
            file,
            end: at as u64,
            size: bytes.len() as u64,
        })
    }

    /// Whether the log that begins with `next` goes on where this one ended. More may be compacted than when it was begun: a
    /// checkpoint knows what was compacted while it was made.
    fn leads_to(&self, next: &Header) -> bool {
        let repeats = self.reached < self.revision();
        next.from == self.reached.0 && (repeats || next.count <= self.history.compacted().0)
    }

    fn frame(&mut self, bytes: &[u8], salt: u64) -> Step {
        let Some(head) = Head::read(bytes, salt) else { return Step::Nothing };
        if head.revision != self.reached {
            return Step::Wrong("batches before this place are missing");
        }
        match head.kind {
            frame::Kind::Batch => {}
            frame::Kind::Seal => return Step::Seal,
            frame::Kind::Turn => return Step::Turn,
        }
        if head.size() > bytes.len() {
            return Step::Wrong("the file was cut in a batch");
        }
        let Some(payload) = head.payload(bytes, salt) else { return Step::Nothing };
        match self.records(payload) {
            Ok(()) => Step::Batch(head.size()),
            Err(what) => Step::Wrong(what),
        }
    }

    fn records(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        let mut reader = Reader(payload);
        while let Some(record) = reader.record() {
            let repeats = self.reached < self.revision();
            match record? {
                Record::Transaction(operations) => {
                    if !repeats {
                        let revised = self.core.replay(operations);
                        self.history.push(revised.ok_or("a transaction contradicts those before it")?);
                    }
                    self.reached = self.reached.next();
                }
                Record::Compaction(_) if repeats => {}
                Record::Compaction(to) if to > self.reached => {
                    return Err("a compaction is ahead of its time");
                }
                Record::Compaction(to) => self.core.forget(self.history.compact(to)),
            }
        }
        Ok(())
    }
}

enum Step {
    /// A whole batch of so many bytes.
    Batch(usize),
    /// The end.
    Seal,
    /// The end of this file.
    Turn,
    /// No whole frame.
    Nothing,
    /// A whole frame that cannot be.
    Wrong(&'static str),
}

/// Makes the last batch durable before anybody reads it. It may only be in the system's memory; and where a sync failed before,
/// the system may think that it is durable, and is told again.
fn settle(file: &dyn File, batch: &[u8], at: u64) -> io::Result<()> {
    if batch.len() >= FRAME {
        file.write_at(batch, at)?;
    }
    file.sync()
}
