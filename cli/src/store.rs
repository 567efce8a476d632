//! Commands on a data directory without a server: `machinery snapshot`, `restore`, `check`.

use std::path::PathBuf;

use anyhow::Context;
use machinery::apiserver::Listen;
use machinery::store::{Backend as _, Disk, DiskOptions, KeySpan, Range, restore as restore_store};
use tokio::runtime::Handle;

use crate::directory::DataDirectory;
use crate::progress::with_progress;

/// Added to the snapshot's revision, so that none is reused: the old server may have committed more
/// after the snapshot. Its clients relist.
const REVISION_GAP: u64 = 1_000_000_000;
/// Entries per range read.
const PAGE_SIZE: usize = 1000;

#[derive(clap::Args)]
pub(crate) struct SnapshotArgs {
    /// The file to create. It must not exist
    file: PathBuf,
    #[command(flatten)]
    data: DataDirArgs,
}

#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The snapshot file
    file: PathBuf,
    #[command(flatten)]
    data: DataDirArgs,
}

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    data: DataDirArgs,
}

#[derive(clap::Args)]
struct DataDirArgs {
    /// Directory of the objects, certificates and tokens
    #[arg(long, value_name = "D", default_value = "machinery-data")]
    data_dir: PathBuf,
}

pub(crate) async fn snapshot(arguments: SnapshotArgs) -> anyhow::Result<()> {
    let directory = DataDirectory::at(arguments.data.data_dir);
    let disk = open(&directory).await?;
    let (file, snapshot) = (arguments.file.clone(), disk.clone());
    let activity = format!("writing {}", file.display());
    let runtime = Handle::current();
    let written = with_progress(&activity, move || runtime.block_on(snapshot.snapshot(file))).await?;
    close(&disk).await?;
    println!("{}: everything as of revision {}", arguments.file.display(), written?);
    Ok(())
}

pub(crate) async fn restore(arguments: RestoreArgs) -> anyhow::Result<()> {
    let directory = DataDirectory::at(arguments.data.data_dir);
    directory.check()?;
    let activity = format!("restoring {}", arguments.file.display());
    let (file, into) = (arguments.file.clone(), directory.store());
    let restored = with_progress(&activity, move || restore_store(file, into, REVISION_GAP)).await?;
    let revision = restored.with_context(|| {
        let file = arguments.file.display();
        format!("cannot restore {file}; name a file of `machinery snapshot`, and a directory without data")
    })?;
    println!(
        "{} begins at revision {revision}; clients of the old server must list again",
        directory.path().display()
    );
    if !directory.pki().exists() {
        println!(
            "`machinery serve` will create new certificates and tokens; copy the old pki directory there to keep the old ones"
        );
    }
    Ok(())
}

pub(crate) async fn check(arguments: CheckArgs) -> anyhow::Result<()> {
    let directory = DataDirectory::at(arguments.data.data_dir);
    let disk = open(&directory).await?;
    let (reading, runtime) = (disk.clone(), Handle::current());
    let read = with_progress("reading all objects", move || runtime.block_on(count(&reading))).await?;
    let usage = disk.usage();
    close(&disk).await?;
    let (objects, at) = read?;
    Listen::at(([127, 0, 0, 1], 0).into(), directory.pki())
        .check()
        .context("the objects are sound, but the certificates or tokens are not")?;
    let (bytes, revisions) = (usage.bytes, usage.revisions);
    println!(
        "sound: {objects} objects at revision {at}; {bytes} bytes with the history of {revisions} revisions"
    );
    Ok(())
}

async fn open(directory: &DataDirectory) -> anyhow::Result<Disk> {
    directory.require_data()?;
    let activity = format!("opening {}", directory.path().display());
    let store = directory.store();
    Ok(with_progress(&activity, move || Disk::open(store, DiskOptions::default())).await??)
}

async fn close(disk: &Disk) -> anyhow::Result<()> {
    disk.close().await.context("the store could not be closed cleanly; no data is lost")
}

async fn count(disk: &Disk) -> anyhow::Result<(u64, u64)> {
    let mut range = Range::of(KeySpan::all()).limit(PAGE_SIZE);
    let mut objects = 0;
    loop {
        let page = disk.range(range.clone()).await?;
        // Keys with a leading slash are records of guards, not objects.
        objects += page.entries.iter().filter(|entry| !entry.key.starts_with('/')).count() as u64;
        match page.next {
            Some(next) => range = range.resume(next),
            None => return Ok((objects, page.at.0)),
        }
    }
}
