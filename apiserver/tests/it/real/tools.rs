//! Prerequisites of programs in other languages, and the locations of their packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use machinery_sync::Mutex;

/// The python of a virtual environment of this test's own, with these packages from PyPI: installed
/// once a target directory.
///
/// `None` without a python that can make virtual environments; a message is printed then.
pub(crate) fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = INSTALLING.lock();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let wanted =
        packages.iter().map(|one| std::fs::read_to_string(one).unwrap_or_else(|_| (*one).to_owned()));
    let wanted = wanted.collect::<Vec<_>>().join("\n");
    let installed = home.join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Some(home.join("bin/python"));
    }
    // Debian has ensurepip in a package of its own.
    if !is_here("python3-venv", &["python3", "-c", "import ensurepip"]) {
        return None;
    }
    // The directory is incomplete, or has other packages.
    let _ = std::fs::remove_dir_all(&home);
    run(Command::new("python3").args(["-m", "venv"]).arg(&home));
    let mut install = Command::new(home.join("bin/pip"));
    install.args(["install", "--quiet", "--disable-pip-version-check"]);
    for package in packages {
        install.args(Path::new(package).exists().then_some("-r")).arg(package);
    }
    run(&mut install);
    std::fs::write(installed, wanted).unwrap();
    Some(home.join("bin/python"))
}

/// Downloads the source distribution of a PyPI package, with its examples: once per target
/// directory.
pub(super) fn source(python: &Path, package: &str, version: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources");
    let source = home.join(format!("{package}-{version}"));
    let whole = home.join(format!("{package}-{version}.whole"));
    if !whole.exists() {
        let wanted = format!("{package}=={version}");
        let options =
            ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", package];
        run(Command::new(python).args(["-m", "pip"]).args(options).arg("--dest").arg(&home).arg(wanted));
        let archive = home.join(format!("{package}-{version}.tar.gz"));
        run(Command::new(python).args(["-m", "tarfile", "--filter=data", "-e"]).arg(&archive).arg(&home));
        std::fs::write(whole, "").unwrap();
    }
    source
}

/// Builds the program of client-go from a directory. `None` without Go; a message is printed then.
pub(super) fn go(directory: &Path) -> Option<PathBuf> {
    go_program(directory, "client-go")
}

/// Builds a Go program from a directory.
pub(super) fn go_program(directory: &Path, name: &str) -> Option<PathBuf> {
    let go = if Path::new("/usr/local/go/bin/go").exists() { "/usr/local/go/bin/go" } else { "go" };
    if !is_here("go", &[go, "version"]) {
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    run(Command::new(go)
        .current_dir(directory)
        .args(["build", "-mod=readonly", "-o"])
        .arg(&program)
        .arg("."));
    Some(program)
}

/// Returns whether something is here: the command that proves it succeeds. In CI all is.
pub(super) fn is_here(name: &str, proof: &[&str]) -> bool {
    let here = Command::new(proof[0]).args(&proof[1..]).output().is_ok_and(|done| done.status.success());
    if !here {
        assert!(std::env::var_os("CI").is_none(), "{name} is needed for this test");
        // Bypasses the harness, which captures the output of passing tests.
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED: {name} is not here, and what needs it was not tried"
        );
    }
    here
}

fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}{said}", String::from_utf8_lossy(&done.stdout));
    done
}
