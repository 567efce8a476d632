//! Upgrade of an older format: copies the files, then rewrites the store.

use std::io;

use super::checkpoint::{self, remove_if_there};
use super::error::OpenError;
use super::file_name::{FileName, UNFINISHED};
use super::log;
use super::recover::Recovered;
use crate::files::Files;

/// Bytes copied at once.
const CHUNK: usize = 1 << 20;

/// Rewrites a recovered store in the current format. Before that, copies every file to
/// `format-N-…`, which the store neither reads nor removes, so that a downgrade is possible. The
/// next open repeats an interrupted upgrade.
pub(crate) fn upgrade(files: &dyn Files, recovered: Recovered) -> Result<(), OpenError> {
    let Recovered { table, history, segment, others, format, .. } = recovered;
    let logs: Vec<_> = others
        .logs
        .iter()
        .copied()
        .chain([segment.number])
        .map(|number| FileName::Log(number).to_string())
        .collect();
    let checkpoints: Vec<_> = others.checkpoints.iter().copied().map(checkpoint::name).collect();
    for name in logs.iter().chain(&checkpoints) {
        copy(files, name, &format!("format-{format}-{name}"))
            .map_err(|error| OpenError::of("copying", files.path(name), error))?;
    }
    let (revision, compacted) = (history.newest(), history.compacted());
    let name = checkpoint::name(revision);
    let failed = |error| OpenError::of("upgrading", files.path(&name), error);
    for unfinished in &others.unfinished {
        remove_if_there(files, unfinished).map_err(failed)?;
    }
    checkpoint::write(files, &name, &table.view(), revision, || compacted, || Ok(())).map_err(failed)?;
    log::begin(files, None, segment.number + 1, revision, compacted).map_err(failed)?;
    for old in logs.iter().chain(checkpoints.iter().filter(|old| **old != name)) {
        files.remove(old).map_err(failed)?;
    }
    files.sync().map_err(failed)
}

/// Copies a file. The copy gets its name only when it is complete.
fn copy(files: &dyn Files, from: &str, to: &str) -> io::Result<()> {
    if files.list()?.iter().any(|name| name == to) {
        return Ok(());
    }
    let unfinished = format!("{to}{UNFINISHED}");
    remove_if_there(files, &unfinished)?;
    let (source, copy) = (files.open_to_read(from)?, files.create(&unfinished)?);
    let (size, mut at) = (source.size()?, 0);
    let mut chunk = vec![0; CHUNK];
    while at < size {
        let part = &mut chunk[..(size - at).min(CHUNK as u64) as usize];
        source.read_at(part, at)?;
        copy.write_at(part, at)?;
        at += part.len() as u64;
    }
    copy.sync()?;
    files.rename(&unfinished, to)?;
    files.sync()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::super::format::{FORMAT, HEADER};
    use super::super::{Disk, DiskOptions};
    use crate::contract::{Backend, KeySpan, Range, Transaction};

    /// Marks a file as format 0, which was never released and stands for an older format in tests.
    fn age(path: &std::path::Path) {
        let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).unwrap();
        header[8..12].copy_from_slice(&0u32.to_le_bytes());
        let sum = crc32fast::hash(&header[..60]);
        header[60..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&header, 0).unwrap();
    }

    fn names(path: &std::path::Path) -> Vec<String> {
        let names =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn p13_an_older_format_is_upgraded_after_a_copy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let disk = Disk::open(path, DiskOptions::default()).unwrap();
        disk.commit(Transaction::new().put("a", *b"1")).await.unwrap();
        disk.checkpoint().await.unwrap();
        disk.commit(Transaction::new().put("b", *b"2").delete("a")).await.unwrap();
        let before = disk.range(Range::of(KeySpan::all())).await.unwrap();
        disk.close().await.unwrap();
        let old: Vec<_> =
            names(path).into_iter().filter(|name| name.starts_with(['l', 'c']) && name != "lock").collect();
        old.iter().for_each(|name| age(&path.join(name)));
        let bytes: Vec<_> = old.iter().map(|name| fs::read(path.join(name)).unwrap()).collect();

        let disk = Disk::open(path, DiskOptions::default()).unwrap();
        assert_eq!(disk.range(Range::of(KeySpan::all())).await.unwrap(), before);
        disk.watch(KeySpan::all(), before.at).await.unwrap();
        disk.commit(Transaction::new().put("c", *b"3")).await.unwrap();
        disk.close().await.unwrap();
        for (name, bytes) in old.iter().zip(bytes) {
            assert_eq!(fs::read(path.join(format!("format-0-{name}"))).unwrap(), bytes, "{name}");
        }
        for name in
            names(path).iter().filter(|name| name.starts_with("log-") || name.starts_with("checkpoint-"))
        {
            let format = u32::from_le_bytes(fs::read(path.join(name)).unwrap()[8..12].try_into().unwrap());
            assert_eq!(format, FORMAT, "{name}");
        }
        let disk = Disk::open(path, DiskOptions::default()).unwrap();
        assert_eq!(disk.range(Range::of(KeySpan::prefix("c"))).await.unwrap().entries.len(), 1);
    }
}
