//! Requirements of a lab on the machine.

use std::path::{Path, PathBuf};

/// Programs, with Debian's package of each.
const PROGRAMS: [(&str, &str); 5] = [
    ("ovs-vswitchd", "openvswitch-switch"),
    ("ovsdb-server", "openvswitch-switch"),
    ("ovsdb-tool", "openvswitch-switch"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
];

/// The schema of the database of Open vSwitch.
pub(super) const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The device through which Open vSwitch makes internal ports in user space.
const TUN: &str = "/dev/net/tun";

/// Returns each thing that a lab needs and this machine or user lacks, with its remedy.
#[must_use]
pub fn missing_requirements() -> Vec<String> {
    let is_root = rustix::process::geteuid().is_root();
    missing(is_root, |program| program_path(program).is_some(), |path| path.exists())
}

/// Returns the path of a program, with links followed: the kernel knows processes by it.
pub(super) fn program_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Daemons are there, also where a user's PATH lacks these directories.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let directories = std::env::split_paths(&path).chain(system);
    directories
        .filter_map(|directory| directory.join(program).canonicalize().ok())
        .find(|path| path.is_file())
}

fn missing(
    is_root: bool,
    has_program: impl Fn(&str) -> bool,
    has_file: impl Fn(&Path) -> bool,
) -> Vec<String> {
    let mut missing = Vec::new();
    if !is_root {
        missing.push("root, for network namespaces: run it with sudo".to_owned());
    }
    for (program, package) in PROGRAMS {
        if !has_program(program) {
            missing.push(format!("{program}: apt-get install {package}"));
        }
    }
    if !has_file(Path::new(SCHEMA)) {
        missing.push(format!("{SCHEMA}: apt-get install openvswitch-switch"));
    }
    if !has_file(Path::new(TUN)) {
        missing.push(format!("{TUN}: modprobe tun"));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_requirement_has_its_remedy() {
        assert_eq!(missing(true, |_| true, |_| true), Vec::<String>::new());
        let all = missing(false, |_| false, |_| false);
        assert_eq!(all.len(), 8);
        assert!(all.contains(&"nft: apt-get install nftables".to_owned()));
        assert!(all.contains(&"/dev/net/tun: modprobe tun".to_owned()));
    }
}
