//! Child processes: the tools of Open vSwitch, iproute2, iperf3 and ping.

use anyhow::{Context, ensure};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The programs of this suite and their Debian packages.
const PROGRAMS: [(&str, &str); 8] = [
    ("ovs-vswitchd", "openvswitch-switch"),
    ("ovsdb-server", "openvswitch-switch"),
    ("ovs-ofctl", "openvswitch-switch"),
    ("ovsdb-client", "openvswitch-switch"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("ping", "iputils-ping"),
    ("iperf3", "iperf3"),
];

/// Returns the reason why this machine cannot run the suite, with the remedy; `None` if it can.
pub(super) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("the suite makes network namespaces: run it as root".to_owned());
    }
    let is_missing = |program: &str| {
        !Command::new(program).arg("--version").output().is_ok_and(|it| {
            // iproute2 and ping print their version and may exit with another code.
            it.status.code().is_some()
        })
    };
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| is_missing(program)).map(|(_, package)| *package).collect();
    packages.dedup();
    (!packages.is_empty()).then(|| format!("missing: `apt-get install {}`", packages.join(" ")))
}

/// Runs a command and returns its standard output.
pub(super) fn run(command: &mut Command) -> anyhow::Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {}", shown(command)))?;
    text_of(command, output)
}

/// Runs a command with a standard input.
pub(super) fn feed(command: &mut Command, input: &str) -> anyhow::Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {}", shown(command)))?;
    let mut stdin = child.stdin.take().context("a piped standard input")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    text_of(command, output)
}

fn text_of(command: &Command, output: Output) -> anyhow::Result<String> {
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {}: {error}", shown(command), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Returns the command `ip` with arguments separated by spaces.
pub(super) fn ip(arguments: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(arguments.split(' '));
    command
}

/// Returns a command that runs in a named network namespace.
pub(super) fn inside(namespace: &str, program: &str) -> Command {
    let mut command = ip("netns exec");
    command.args([namespace, program]);
    command
}

/// Returns `ovs-vsctl` for the database of a run directory.
pub(super) fn vsctl(run: &Path) -> Command {
    let mut command = Command::new("ovs-vsctl");
    command.arg(format!("--db=unix:{}", run.join("db.sock").display()));
    command
}

/// Returns `ovs-ofctl` with a subcommand on a bridge of a run directory.
pub(super) fn ofctl(run: &Path, subcommand: &[&str], bridge: &str) -> Command {
    let mut command = Command::new("ovs-ofctl");
    // `monitor` makes a control socket in the run directory.
    command.env("OVS_RUNDIR", run).args(["-O", "OpenFlow15"]).args(subcommand);
    command.arg(format!("unix:{}", run.join(format!("{bridge}.mgmt")).display()));
    command
}

/// Returns a command of `ovs-appctl` for the ovs-vswitchd of a run directory.
pub(super) fn appctl(run: &Path) -> Command {
    let mut command = Command::new("ovs-appctl");
    command.arg("-t").arg(run.join("vswitchd.ctl"));
    command
}
