//! Requirements of the tests on real Open vSwitch.

#![expect(clippy::disallowed_types, reason = "a static mutex that tests of real time hold")]

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

const PROGRAMS: [&str; 7] = ["ip", "nft", "ping", "tcpdump", "setpriv", "ovsdb-server", "ovs-vswitchd"];
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// One test at a time: each has the daemons of several hosts.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test, which ends on drop.
pub(crate) struct Turn {
    _guard: MutexGuard<'static, ()>,
}

/// Returns the turn of a test if the machine can run Open vSwitch; otherwise prints the test and
/// the reason.
pub(crate) fn can_run(test: &str) -> Option<Turn> {
    let Some(reason) = missing() else {
        return Some(Turn { _guard: TURN.lock().unwrap_or_else(PoisonError::into_inner) });
    };
    // The test harness captures prints, but not this stream: nobody shall take a skip for a proof.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
    None
}

fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root, for network namespaces".into());
    }
    let is_absent = |program: &&str| !FOLDERS.iter().any(|folder| Path::new(folder).join(program).exists());
    let absent: Vec<_> = PROGRAMS.into_iter().filter(is_absent).collect();
    let names = absent.join(", ");
    (!absent.is_empty()).then(|| format!("{names} not found: `cargo xtask setup` installs them"))
}
