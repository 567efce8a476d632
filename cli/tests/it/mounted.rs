//! Tests on a small file system, in a mount namespace of a process of their own.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use tokio::process::Command;

/// The directory around the mount point, set in the process that mounts.
const HOME: &str = "MACHINERY_TEST_MOUNT";

/// Mounts a file system of 8 MiB at `data`, and returns the directory around it. `None` if this
/// process was not started by [`run_mounted`], or if nothing can be mounted.
pub(crate) async fn mounted_home() -> Option<PathBuf> {
    let home = std::env::var_os(HOME).map(PathBuf::from)?;
    let data = home.join("data");
    fs::create_dir(&data).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "none"]).arg(&data).status();
    mount.await.ok().filter(std::process::ExitStatus::success)?;
    println!("@mounted");
    Some(home)
}

/// Runs a test that calls [`mounted_home`] and prints `@done` at its end, in a mount namespace:
/// without root where the kernel permits user namespaces.
pub(crate) async fn run_mounted(test: &str) {
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let done = Command::new("unshare")
        .args(["--map-root-user", "--mount"])
        .arg(program)
        .args(["--exact", test, "--nocapture"])
        .env(HOME, home.path())
        .output()
        .await;
    let output = done.map_or_else(
        |error| error.to_string(),
        |done| String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned(),
    );
    assert!(!output.contains("running 0 tests"), "there is no test {test}");
    if !output.contains("@mounted") {
        // Bypasses the harness, which captures the output of passing tests.
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED: no file system could be mounted in a namespace (`unshare --map-root-user --mount`)"
        );
        return;
    }
    assert!(output.contains("@done"), "{output}");
}
