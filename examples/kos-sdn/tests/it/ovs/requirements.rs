//! Requirements of the tests on real Open vSwitch.

use std::path::Path;

const PROGRAMS: [&str; 7] =
    ["ip", "nft", "ping", "tcpdump", "setpriv", "ovsdb-server", "ovs-vswitchd"];
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Returns true if the machine can run Open vSwitch; otherwise prints the test and the reason.
pub(crate) fn can_run(test: &str) -> bool {
    let Some(reason) = missing() else { return true };
    // A skip that nobody sees is a proof that nobody has.
    eprintln!("SKIPPED: {test}: {reason}");
    false
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
