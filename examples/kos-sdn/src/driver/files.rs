//! The files of a run.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::settings::DriveSettings;
use crate::plan::{Load, Operation, Record};

/// Where the files of a run are.
#[derive(Clone, Debug)]
pub struct Directory(PathBuf);

/// One line of JSON for each attachment.
const RECORDS: &str = "attachments.jsonl";

impl Directory {
    /// One that is there from now on. What another run left there is not written over.
    ///
    /// # Errors
    /// It cannot be made, or has records already.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        if path.join(RECORDS).exists() {
            let why = format!("{} has the records of a run: name another", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        Ok(Self(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes how large networks are: all of them, and those at the ends of runs of one size.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sizes(&self, load: &Load) -> io::Result<()> {
        let nets: Vec<_> = load.nets().collect();
        let line = |net: &crate::plan::Net| format!("{},{}\n", net.index, net.size);
        let all: String = nets.iter().map(line).collect();
        fs::write(self.0.join("size-distribution.csv"), format!("I,size\n{all}"))?;
        let is_end = |at: usize| {
            let differs = |other: Option<usize>| {
                other.and_then(|other| nets.get(other)).is_none_or(|other| other.size != nets[at].size)
            };
            differs(at.checked_sub(1)) || differs(Some(at + 1))
        };
        let ends: String = (0..nets.len()).filter(|at| is_end(*at)).map(|at| line(&nets[at])).collect();
        fs::write(self.0.join("size-distribution-outline.csv"), format!("I,size\n{ends}"))
    }

    /// Writes when each operation is due.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn times(&self, due: &[Duration], operations: &[Vec<(usize, Operation)>]) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(self.0.join("attachments-ops-times.csv"))?);
        writeln!(file, "operation,thread,seconds,what,slot")?;
        for (thread, row) in operations.iter().enumerate() {
            for (number, operation) in row {
                let (what, slot) = match operation {
                    Operation::Create(slot) => ("create", slot),
                    Operation::Delete(slot) => ("delete", slot),
                };
                let seconds = due.get(*number).copied().unwrap_or_default().as_secs_f64();
                writeln!(file, "{number},{thread},{seconds:.6},{what},{slot}")?;
            }
        }
        file.flush()
    }

    /// Writes what was counted and timed, as a page of metrics.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn metrics(&self, page: &str) -> io::Result<()> {
        fs::write(self.0.join("driver.metrics"), page)
    }

    /// Writes the records, after a line that says what was driven.
    pub(super) fn records(&self, settings: &DriveSettings, records: &[Record]) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(self.0.join(RECORDS))?);
        let load = &settings.load;
        let head = json!({"run": {
            "id": settings.run, "nets": load.nets, "top": load.top, "exponent": load.exponent, "bias": load.bias,
            "slots": load.slots(), "averagePeers": load.average_peers(), "attachments": settings.attachments,
            "threads": settings.threads, "rate": settings.rate, "nodes": settings.nodes.names.len(), "seed": settings.seed,
            "gitCommit": settings.commit,
        }});
        writeln!(file, "{head}")?;
        for record in records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
        }
        file.flush()
    }
}

/// What a run left: what was driven, and its records.
///
/// # Errors
/// It cannot be read, or a line of it is none; which one is said.
pub fn read_records(directory: &Path) -> io::Result<(serde_json::Value, Vec<Record>)> {
    let path = directory.join(RECORDS);
    let file = File::open(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let mut lines = BufReader::new(file).lines();
    let wrong = |number: usize, error: serde_json::Error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}, line {number}: {error}", path.display()))
    };
    let head = lines.next().transpose()?.unwrap_or_default();
    let head: serde_json::Value = serde_json::from_str(&head).map_err(|error| wrong(1, error))?;
    let records = (2..)
        .zip(lines)
        .map(|(number, line)| serde_json::from_str(&line?).map_err(|error| wrong(number, error)));
    Ok((head["run"].clone(), records.collect::<io::Result<_>>()?))
}
