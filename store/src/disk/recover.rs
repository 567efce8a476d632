//! Recovery: the newest valid checkpoint, and the log after it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use machinery_objects::Revision;

use super::checkpoint;
use super::error::OpenError;
use super::file_name::{FileName, is_neutral};
use super::format::{FileKind, Header};
use super::load::{LoadedCheckpoint, load};
use super::log::{self, Segment};
use super::pipeline::pipeline;
use super::replay::{LogParts, LogReplay};
use super::scan::{LogPart, scan};
use crate::core::{ChangeHistory, Core, Table};
use crate::files::Files;
use crate::memory::FIRST;
use crate::options::Options;

/// A recovered store.
pub(crate) struct Recovered {
    pub(crate) table: Arc<Table>,
    pub(crate) core: Core,
    pub(crate) history: ChangeHistory,
    /// The open segment.
    pub(crate) segment: Segment,
    pub(crate) others: InactiveFiles,
    /// Bytes of the log after the checkpoint.
    pub(crate) log_bytes: u64,
    /// The oldest format of the files.
    pub(crate) format: u32,
}

/// Files other than the open segment.
pub(crate) struct InactiveFiles {
    /// Earlier log segments.
    pub(crate) logs: Vec<u64>,
    pub(crate) checkpoints: Vec<Revision>,
    pub(crate) spares: Vec<u64>,
    /// Incomplete checkpoints.
    pub(crate) unfinished: Vec<String>,
}

/// The files of a store, by kind.
#[derive(Default)]
struct StoreFiles {
    logs: BTreeMap<u64, Header>,
    checkpoints: Vec<Revision>,
    spares: Vec<u64>,
    unfinished: Vec<String>,
}

/// Checks that `files` are a store or empty, without changing them.
pub(crate) fn inspect(files: &dyn Files) -> Result<(), OpenError> {
    find(files).map(drop)
}

/// Refuses a store of which another process has the log open, which it keeps locked.
pub(crate) fn check_log_unlocked(files: &dyn Files) -> Result<(), OpenError> {
    let names = files.list().map_err(|error| OpenError::of("listing", files.path(""), error))?;
    let logs = names.iter().map(|name| FileName::parse(name));
    let Some(last @ FileName::Log(_)) = logs.flatten().filter(|name| matches!(name, FileName::Log(_))).max()
    else {
        return Ok(());
    };
    let name = last.to_string();
    let failed = |error| OpenError::of("locking", files.path(&name), error);
    match files.open(&name).and_then(|file| file.lock()).map_err(failed)? {
        true => Ok(()),
        false => Err(OpenError::InUse { path: files.path("") }),
    }
}

/// Recovers the store in `files`, or creates one if they are empty.
pub(crate) fn recover(files: &dyn Files, options: &Options) -> Result<Recovered, OpenError> {
    let found = find(files)?;
    let (loaded, damage) = newest(files, &found)?;
    // Logs missing after an older checkpoint were removed for a newer, damaged one: report that
    // one.
    let logs = chain(files, &found, loaded.revision).map_err(|error| damage.unwrap_or(error))?;
    let format = loaded.format;
    let table = Arc::new(Table::new(options.seed));
    let make = |parts: LogParts| {
        let mut replay = LogReplay::new(loaded, &table, options);
        let segment = replay.logs(files, &logs, &parts)?;
        Ok((replay.finish(Arc::clone(&table)), segment))
    };
    let made = pipeline(|emit| scan(files, &logs, emit), LogPart::decode, make);
    let ((core, history, log_bytes), segment) =
        made.map_err(|error| OpenError::of("reading", files.path(""), error))??;
    let segment = match segment {
        Some(segment) => segment,
        None => {
            let failed = |error| OpenError::of("beginning", files.path(&FileName::Log(1).to_string()), error);
            log::begin(files, None, 1, history.newest(), history.compacted()).map_err(failed)?
        }
    };
    // The directory entries may not be durable yet.
    files.sync().map_err(|error| OpenError::of("syncing", files.path(""), error))?;
    let format = found.logs.values().map(|header| header.format).fold(format, u32::min);
    let StoreFiles { logs, checkpoints, spares, unfinished } = found;
    let logs = logs.into_keys().filter(|number| *number != segment.number).collect();
    let others = InactiveFiles { logs, checkpoints, spares, unfinished };
    Ok(Recovered { table, core, history, segment, others, log_bytes, format })
}

fn find(files: &dyn Files) -> Result<StoreFiles, OpenError> {
    let names = files.list().map_err(|error| OpenError::of("listing", files.path(""), error))?;
    let mut found = StoreFiles::default();
    let mut foreign = None;
    for name in &names {
        match FileName::parse(name) {
            Some(FileName::Log(number)) => {
                if let Some(header) = header(files, name, FileKind::Log)? {
                    found.logs.insert(number, header);
                }
            }
            Some(FileName::Checkpoint(revision)) => {
                if header(files, name, FileKind::Checkpoint)?.is_some() {
                    found.checkpoints.push(revision);
                }
            }
            Some(FileName::Spare(number)) => found.spares.push(number),
            Some(FileName::Unfinished(_)) => found.unfinished.push(name.clone()),
            None if is_neutral(name) => {}
            None => foreign = Some(name),
        }
    }
    found.checkpoints.sort_unstable();
    let not_a_store = |what| Err(OpenError::NotAStore { path: files.path(""), what });
    match foreign {
        _ if !found.logs.is_empty() || !found.checkpoints.is_empty() => Ok(found),
        Some(name) => not_a_store(format!("it holds other files (`{name}`) and none of a store")),
        None if !found.unfinished.is_empty() => {
            not_a_store("restoring a snapshot into it was cut short: remove it, and restore again".into())
        }
        None => Ok(found),
    }
}

/// Returns the header of a file, or `None` if the file was removed meanwhile.
fn header(files: &dyn Files, name: &str, kind: FileKind) -> Result<Option<Header>, OpenError> {
    let path = || files.path(name);
    match files.open_to_read(name) {
        Ok(file) => {
            let header = Header::read(&*file, path, kind)?;
            match FileName::parse(name) {
                Some(FileName::Log(number) | FileName::Checkpoint(Revision(number)))
                    if number == header.number => {}
                _ => return Err(OpenError::damaged(path(), 0, "it is another file than its name says")),
            }
            Ok(Some(header))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::of("opening", path(), error)),
    }
}

/// Loads the newest valid checkpoint, and returns the damage of a newer one. That damage matters
/// only if an older checkpoint and the logs do not lead to the same state; the chain of logs then
/// has a gap.
fn newest(files: &dyn Files, found: &StoreFiles) -> Result<(LoadedCheckpoint, Option<OpenError>), OpenError> {
    let first_log = found.logs.values().map(|header| header.from).min();
    let mut damage = None;
    for revision in found.checkpoints.iter().rev() {
        match load(files, &checkpoint::name(*revision)) {
            Err(error @ OpenError::Damaged { .. }) => damage = damage.or(Some(error)),
            done => return done.map(|loaded| (loaded, damage)),
        }
    }
    match damage {
        // Only a log from the first revision on replaces every checkpoint.
        Some(damage) if first_log != Some(FIRST.0) => Err(damage),
        damage => Ok((LoadedCheckpoint::nothing(), damage)),
    }
}

/// Returns the logs after `revision`, in order.
fn chain(files: &dyn Files, found: &StoreFiles, revision: Revision) -> Result<Vec<Header>, OpenError> {
    let first =
        found.logs.iter().rev().find(|(_, header)| header.from <= revision.0).map(|(number, _)| *number);
    let missing = |number: u64, why: &str| {
        Err(OpenError::damaged(files.path(&FileName::Log(number).to_string()), 0, why))
    };
    let Some(first) = first else {
        return match found.logs.keys().next() {
            Some(number) => missing(number.saturating_sub(1), "it is missing, and later ones are there"),
            None if found.checkpoints.is_empty() => Ok(Vec::new()),
            None => missing(1, "the log is missing, and a checkpoint is there"),
        };
    };
    match found.logs.range(first..).zip(first..).find(|((number, _), expected)| *number != expected) {
        Some((_, expected)) => missing(expected, "it is missing, and later ones are there"),
        None => Ok(found.logs.range(first..).map(|(_, header)| *header).collect()),
    }
}
