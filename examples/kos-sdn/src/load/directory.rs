//! The files of a run.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::settings::LoadSettings;
use super::{AttachmentRecord, LoadShape, NetworkSize, Operation};

/// The directory of a run.
#[derive(Clone, Debug)]
pub struct RunDirectory(PathBuf);

/// One line of JSON per attachment.
const RECORDS: &str = "attachments.jsonl";

impl RunDirectory {
    /// Creates the directory of a run. Records of another run are never overwritten.
    ///
    /// # Errors
    /// The directory cannot be created or has records already.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        if path.join(RECORDS).exists() {
            let why = format!("{} has the records of another run: choose another directory", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        Ok(Self(path))
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes the sizes of all networks, and an outline with the ends of runs of equal size.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn sizes(&self, load: &LoadShape) -> io::Result<()> {
        let nets: Vec<_> = load.nets().collect();
        let line = |net: &NetworkSize| format!("{},{}\n", net.index, net.size);
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

    /// Writes the due times of all operations.
    ///
    /// # Errors
    /// The file cannot be written.
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

    /// Writes a page of metrics.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn metrics(&self, page: &str) -> io::Result<()> {
        fs::write(self.0.join("driver.metrics"), page)
    }

    /// Writes the records after a line with the parameters of the run.
    pub(super) fn records(&self, settings: &LoadSettings, records: &[AttachmentRecord]) -> io::Result<()> {
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

/// Reads the parameters and the records of a run.
///
/// # Errors
/// The file cannot be read, or a line is malformed; the text names the line.
pub fn read_records(directory: &Path) -> io::Result<(serde_json::Value, Vec<AttachmentRecord>)> {
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
