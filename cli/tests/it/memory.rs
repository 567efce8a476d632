//! `serve --memory` after a server that was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::program::TIMEOUT;

/// Starts a server in memory with temporary files in `temporary`, after a command of the shell that
/// becomes its process. Returns it, with the directory of its kubeconfig.
async fn start(temporary: &Path, before: &str) -> (Child, PathBuf) {
    let script =
        format!("{before}; exec {} serve --memory --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_machinery"));
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .env("TMPDIR", temporary)
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = timeout(TIMEOUT, lines.next_line()).await.expect("it is up").unwrap();
        let line = line.expect("it serves, and says so");
        if let Some(path) = line.trim().strip_prefix("export KUBECONFIG=") {
            return (child, Path::new(path).parent().unwrap().to_owned());
        }
    }
}

fn directories(temporary: &Path) -> Vec<PathBuf> {
    fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// In a container every process has the same id as the one before.
#[tokio::test]
async fn a_server_in_memory_starts_after_one_of_the_same_process_id_was_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let (mut first, left) = start(temporary.path(), ":").await;
    let (second, other) = start(temporary.path(), ":").await;
    assert_ne!(left, other);
    first.kill().await.unwrap();
    assert!(left.join("kubeconfig").exists(), "nobody could remove it");

    // The directory of an earlier version, named by this process.
    let same = r#"mkdir "$TMPDIR/machinery-$$""#;
    let (mut third, new) = start(temporary.path(), same).await;
    assert!(!left.exists(), "the directory of the dead process is removed");
    assert!(other.join("kubeconfig").exists(), "and that of the living one is not");
    let there = directories(temporary.path());
    assert!(there.contains(&other) && there.contains(&new) && there.len() == 3, "{there:?}");
    third.kill().await.unwrap();
    drop(second);
}
