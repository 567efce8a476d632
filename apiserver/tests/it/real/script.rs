//! A program that runs steps, and prints the name of each.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use super::Plane;

/// Runs a program against a server until it reports success. A line `restart` restarts the server.
/// `more` is added to its environment.
pub(super) async fn run(mut plane: Plane, program: &Path, arguments: &[&Path], more: &[(&str, &Path)]) {
    // After its timeout it is killed with its children.
    let mut child = Command::new("sh")
        .args(["-c", "exec timeout --kill-after=5 170 \"$@\" 2>&1", "sh"])
        .arg(program)
        .args(arguments)
        .env("KUBECONFIG", &plane.access.kubeconfig)
        .env("KUBE_WATCHLIST_INCONSISTENCY_DETECTOR", "true")
        .envs(more.iter().copied())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut answers = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut all_hold = false;
    while let Some(line) = lines.next_segment().await.unwrap() {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        all_hold |= line == "all steps hold";
        if line == "restart" {
            plane = plane.restart().await;
            answers.write_all(b"\n").await.unwrap();
        }
    }
    let ended = child.wait().await.unwrap();
    assert!(ended.success() && all_hold, "{} ended with {ended}", program.display());
    plane.stop().await;
}
