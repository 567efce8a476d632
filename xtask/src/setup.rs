//! `cargo xtask setup`: tools that the test suites need beyond cargo and crates.io.
//!
//! These are rustfmt and clippy, which rustup installs, and cargo-deny, which cargo compiles: that
//! takes minutes, so only `setup` and CI install it. python3-venv is a package of Debian and brings
//! Python, with which kubectl and the Python clients are installed. Open vSwitch and the tools of
//! networks are packages of Debian, too; their services are not started. etcd, a peer of the
//! store's benchmark, is installed by `setup` only: no test needs it. Go is not in the table,
//! because Debian's is too old. It builds peers for the benchmarks and a client for the tests of
//! the API server. Those tests print a reason where Go or Python is missing, and fail in CI.

mod services;

use std::process::Command;

use services::DeniedServices;

use crate::shell::{self, Show};

/// A tool that a suite cannot run without, or that a benchmark compares with.
struct Tool {
    name: &'static str,
    from: Source,
    /// A command that succeeds when the tool is installed.
    proof: &'static [&'static str],
    need: Need,
}

/// The loss without a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// A suite of the tests, which is skipped.
    Suite(&'static str),
    /// A peer of a suite of the benchmarks, which then has no figures.
    Peer(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Rustup,
    Debian,
    /// Built from crates.io, in this version.
    Cargo(&'static str),
}

/// The calling command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// `cargo xtask setup`: every tool.
    Setup,
    /// `cargo xtask test`: tools that install quickly; in CI, all of them.
    Test,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt",
        from: Source::Rustup,
        proof: &["cargo", "fmt", "--version"],
        need: Need::Suite("formatting"),
    },
    Tool {
        name: "clippy",
        from: Source::Rustup,
        proof: &["cargo", "clippy", "--version"],
        need: Need::Suite("lints"),
    },
    Tool {
        name: "cargo-deny",
        from: Source::Cargo("0.20.2"),
        proof: &["cargo", "deny", "--version"],
        need: Need::Suite("deny"),
    },
    Tool {
        name: "python3-venv",
        from: Source::Debian,
        proof: &["python3", "-c", "import ensurepip"],
        need: Need::Suite("clients in Python"),
    },
    of_network("openvswitch-switch", &["ovs-vsctl", "--version"]),
    of_network("iproute2", &["ip", "-V"]),
    of_network("iputils-ping", &["ping", "-V"]),
    of_network("iperf3", &["iperf3", "--version"]),
    of_network("tcpdump", &["tcpdump", "--version"]),
    of_network("nftables", &["sh", "-c", "command -v nft || test -x /usr/sbin/nft"]),
    Tool {
        name: "etcd-server",
        from: Source::Debian,
        proof: &["etcd", "--version"],
        need: Need::Peer("machinery-bench store"),
    },
];

/// Returns a package of Debian that the tests of kos on Open vSwitch need.
const fn of_network(name: &'static str, proof: &'static [&'static str]) -> Tool {
    Tool { name, from: Source::Debian, proof, need: Need::Suite("kos on Open vSwitch") }
}

/// Services that would start with the machine from now on. A service that an installed tool brought
/// is disabled. That of Open vSwitch is left as its package made it.
const SERVICES: &[(&str, &str)] = &[("etcd-server", "etcd.service")];

/// Missing tools, with the suites that are skipped without them.
#[derive(Default)]
pub(crate) struct Setup {
    missing: Vec<Missing>,
}

/// A missing tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Name of the tool in the table.
    pub(crate) tool: &'static str,
    /// The reason and the remedy.
    pub(crate) why: String,
}

impl Setup {
    /// Returns whether no tool is missing.
    pub(crate) fn is_ready(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns the entry of a tool, if it is missing.
    pub(crate) fn missing(&self, tool: &str) -> Option<&Missing> {
        self.missing.iter().find(|missing| missing.tool == tool)
    }
}

/// Installs missing tools where permitted, and prints which are installed and which are missing.
pub(crate) fn run(caller: Caller) -> Setup {
    let here = |tool: &Tool| shell::succeeds(tool.proof[0], &tool.proof[1..]);
    let patient = caller == Caller::Setup || std::env::var_os("CI").is_some();
    let wanted = |tool: &&Tool| caller == Caller::Setup || matches!(tool.need, Need::Suite(_));
    let tools: Vec<&'static Tool> = TOOLS.iter().filter(wanted).collect();
    let setup = settle(&tools, here, |source| may_use(source, patient), install);
    if setup.is_ready() {
        let names: Vec<_> = tools.iter().map(|tool| tool.name).collect();
        println!("setup: here: {}", names.join(", "));
    }
    for missing in &setup.missing {
        println!("setup: {} is missing: {}", missing.tool, missing.why);
    }
    setup
}

/// Decides for each tool: present, installed, or missing with a reason.
fn settle(
    tools: &[&'static Tool],
    here: impl Fn(&Tool) -> bool,
    may_use: impl Fn(Source) -> bool,
    install: impl Fn(&Tool) -> bool,
) -> Setup {
    let mut setup = Setup::default();
    for tool in tools {
        if here(tool) || (may_use(tool.from) && install(tool) && here(tool)) {
            continue;
        }
        let remedy = match tool.from {
            Source::Rustup => format!("rustup component add {}", tool.name),
            Source::Debian => format!("apt-get install {}", tool.name),
            Source::Cargo(version) => format!("cargo install --locked {} --version {version}", tool.name),
        };
        let loss = match tool.need {
            Need::Suite(suite) => format!("`{suite}` is skipped"),
            Need::Peer(bench) => format!("`{bench}` has nothing to compare with"),
        };
        let why = format!("`{remedy}` brings it; without it {loss}");
        setup.missing.push(Missing { tool: tool.name, why });
    }
    setup
}

/// Returns whether the installer exists and this user may run it.
fn may_use(source: Source, patient: bool) -> bool {
    match source {
        Source::Cargo(_) => patient,
        Source::Rustup => shell::succeeds("rustup", &["--version"]),
        Source::Debian => {
            shell::succeeds("apt-get", &["--version"]) && shell::succeeds("sh", &["-c", "[ $(id -u) = 0 ]"])
        }
    }
}

fn install(tool: &Tool) -> bool {
    println!("setup: installing {}", tool.name);
    match tool.from {
        Source::Rustup => succeeds("rustup", &["component", "add", tool.name]),
        // Unoptimized: that halves the time of its compilation, and it runs for seconds.
        Source::Cargo(version) => {
            let install = ["install", "--locked", "--debug", "--quiet", tool.name, "--version", version];
            succeeds("cargo", &install)
        }
        // The package lists of a fresh machine are empty or old: refresh them once and try again.
        Source::Debian => {
            let _denied = match DeniedServices::begin() {
                Ok(denied) => denied,
                Err(error) => {
                    println!("setup: services cannot be kept from starting: {error}");
                    return false;
                }
            };
            let install = ["install", "-y", "--no-install-recommends", tool.name];
            let installed = succeeds("apt-get", &install)
                || (succeeds("apt-get", &["update"]) && succeeds("apt-get", &install));
            // Without systemd, installation started no service.
            for (_, service) in SERVICES.iter().filter(|(name, _)| *name == tool.name) {
                shell::succeeds("systemctl", &["disable", "--now", service]);
            }
            installed
        }
    }
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    match shell::run(command, Show::Progress) {
        Ok(outcome) if outcome.ok => true,
        Ok(outcome) => {
            println!("{}{program}: {}", outcome.text, outcome.ending);
            false
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const SWITCH: &[&Tool] = &[&Tool {
        name: "switch",
        from: Source::Debian,
        proof: &["switch", "--version"],
        need: Need::Suite("frames"),
    }];

    #[test]
    fn a_present_tool_is_not_installed() {
        let setup = settle(SWITCH, |_| true, |_| true, |_| panic!("it is here"));
        assert!(setup.is_ready());
    }

    #[test]
    fn a_permitted_tool_is_installed() {
        let installed = Cell::new(false);
        let install = |_: &Tool| !installed.replace(true);
        let setup = settle(SWITCH, |_| installed.get(), |_| true, install);
        assert!(setup.is_ready() && installed.get());
    }

    #[test]
    fn a_forbidden_tool_is_missing_with_its_suite() {
        let setup = settle(SWITCH, |_| false, |_| false, |_| panic!("nobody may"));
        let why = "`apt-get install switch` brings it; without it `frames` is skipped";
        assert_eq!(setup.missing("switch").map(|missing| missing.why.as_str()), Some(why));
    }

    #[test]
    fn a_tool_is_checked_after_its_installation() {
        assert!(!settle(SWITCH, |_| false, |_| true, |_| true).is_ready());
    }
}
