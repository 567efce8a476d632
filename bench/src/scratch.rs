//! Temporary files of servers and stores: under the repository's `target/`, on the disk of the
//! build, removed at the end of the program, also on a signal.

use anyhow::Context;
use machinery_sync::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) struct Scratch {
    directory: TempDir,
    running: Arc<Mutex<BTreeSet<u32>>>,
}

impl Scratch {
    /// Creates the directory, and cleans up on an interrupt.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
        std::fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
        let target = target.canonicalize()?;
        let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(target)?;
        let running = Arc::new(Mutex::new(BTreeSet::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        std::thread::spawn({
            let (running, path) = (running.clone(), directory.path().to_owned());
            move || runtime.block_on(clean_up_when_interrupted(&running, &path))
        });
        Ok(Self { directory, running })
    }

    /// Returns a unique path.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Registers a process to kill on an interrupt.
    pub(crate) fn began(&self, pid: u32) {
        self.running.lock().insert(pid);
    }

    pub(crate) fn ended(&self, pid: u32) {
        self.running.lock().remove(&pid);
    }
}

async fn clean_up_when_interrupted(running: &Mutex<BTreeSet<u32>>, path: &Path) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        eprintln!("signals cannot be caught: an interrupt leaves {} behind", path.display());
        return;
    };
    tokio::select! {
        biased;
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let pids = running.lock().clone();
    for pid in pids.into_iter().filter_map(|pid| Pid::from_raw(pid.try_into().ok()?)) {
        // It may have exited: the interrupt went to it too.
        let _ = kill_process(pid, Signal::KILL);
    }
    // A killed process may still create a file.
    for _ in 0..20 {
        if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::process::exit(130);
}
