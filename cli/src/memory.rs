//! The memory for history: an option, or a part of the memory available to the process.

use std::fs;

use anyhow::{Context, bail};
use machinery::apiserver::Limits;
use machinery::store::{Options, Retention};

/// History takes this part of the available memory, unless an option says otherwise.
const PART: u64 = 8;
/// The least memory for history: fewer than a few large objects would serve no watch.
const LEAST: u64 = 16 << 20;
/// The most memory for history by default.
const MOST: u64 = 4 << 30;
/// Buffered request bodies take at most this part of the available memory.
const BODIES_PART: u64 = 16;

#[derive(clap::Args)]
pub(crate) struct MemoryArgs {
    /// Memory for earlier states of objects, from which watches resume: 64Mi, 2Gi. By default an
    /// eighth of the memory available to the process
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    history_memory: Option<u64>,
}

/// The memory of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// For the history of the store and of the watch caches.
    history: u64,
    /// Available to the process, if known.
    available: Option<u64>,
}

impl MemoryArgs {
    /// Returns the budget: as the option says, or by the memory of the control group and of the
    /// machine.
    pub(crate) fn budget(&self) -> MemoryBudget {
        let available = available(&|path| fs::read_to_string(path).ok());
        MemoryBudget { history: self.history_memory.unwrap_or_else(|| default_history(available)), available }
    }
}

impl MemoryBudget {
    /// Returns the options of the store, which gets three quarters of the memory for history.
    pub(crate) fn store(self) -> Options {
        let retention = Retention { bytes: Some(self.history / 4 * 3), ..Retention::default() };
        Options { retention, ..Options::default() }
    }

    /// Returns the limits of the server, whose watch caches get the last quarter.
    pub(crate) fn limits(self) -> Limits {
        let default = Limits::default();
        let rings = usize::try_from(self.history / 4).unwrap_or(usize::MAX);
        let bodies = self
            .available
            .map_or(u32::MAX, |available| u32::try_from(available / BODIES_PART).unwrap_or(u32::MAX));
        // A body of the greatest length must fit.
        let least = u32::try_from(default.body_bytes).unwrap_or(u32::MAX);
        Limits {
            rings_bytes: rings.min(default.rings_bytes),
            bodies_bytes: bodies.clamp(least, default.bodies_bytes.max(least)),
            ..default
        }
    }
}

fn default_history(available: Option<u64>) -> u64 {
    available.map_or(MOST / PART, |available| (available / PART).clamp(LEAST, MOST))
}

/// Returns the memory available to this process: the least of its control groups' limits and of the
/// machine's available memory. `read` returns the content of a file.
fn available(read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        match controllers {
            "" => least_of(read, "/sys/fs/cgroup", path, "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                least_of(read, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
            }
            _ => None,
        }
    });
    limits.chain(machine).min()
}

/// Returns the least limit of a control group and those around it. One without a limit has the
/// text `max`.
fn least_of(read: &dyn Fn(&str) -> Option<String>, root: &str, path: &str, file: &str) -> Option<u64> {
    let path = path.trim_end_matches('/');
    let around = path.match_indices('/').map(|(end, _)| &path[..end]);
    let limits = around
        .chain([path])
        .filter_map(|group| read(&format!("{root}{group}/{file}"))?.trim().parse::<u64>().ok());
    limits.min()
}

/// Parses a number of bytes with an optional unit.
fn bytes(text: &str) -> anyhow::Result<u64> {
    let (number, shift) = [("Ki", 10), ("Mi", 20), ("Gi", 30)]
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .unwrap_or((text, 0));
    let number: u64 = number.parse().context("give a whole number of bytes, or with Ki, Mi or Gi: 64Mi")?;
    let bytes = number.checked_shl(shift).filter(|bytes| bytes >> shift == number);
    match bytes {
        Some(bytes) if bytes >= 1 << 20 => Ok(bytes),
        Some(_) => bail!("give at least 1Mi: watches could not resume"),
        None => bail!("give less: no machine has as much"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n";

    fn check(files: &[(&str, &str)], expected: Option<u64>) {
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, content)| (*content).to_owned())
        };
        assert_eq!(available(&read), expected, "{files:?}");
    }

    #[test]
    fn the_least_limit_of_the_control_groups_counts() {
        let group = ("/proc/self/cgroup", "0::/pods/a\n");
        let machine = ("/proc/meminfo", MEMINFO);
        check(&[machine], Some(8 << 30));
        check(&[], None);
        check(&[group, machine, ("/sys/fs/cgroup/pods/a/memory.max", "max\n")], Some(8 << 30));
        check(&[group, machine, ("/sys/fs/cgroup/pods/a/memory.max", "2147483648\n")], Some(2 << 30));
        let around = ("/sys/fs/cgroup/pods/memory.max", "1073741824\n");
        check(&[group, machine, ("/sys/fs/cgroup/pods/a/memory.max", "max\n"), around], Some(1 << 30));
        let container =
            [("/proc/self/cgroup", "0::/\n"), machine, ("/sys/fs/cgroup/memory.max", "536870912\n")];
        check(&container, Some(512 << 20));
    }

    #[test]
    fn control_groups_of_the_first_version_count() {
        let groups = ("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n1:name=systemd:/x\n");
        let unlimited = ("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
        let own = ("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "268435456\n");
        check(&[groups, ("/proc/meminfo", MEMINFO), unlimited], Some(8 << 30));
        check(&[groups, ("/proc/meminfo", MEMINFO), unlimited, own], Some(256 << 20));
    }

    #[test]
    fn history_is_a_part_of_the_available_memory() {
        assert_eq!(default_history(Some(2 << 30)), 256 << 20);
        assert_eq!(default_history(Some(32 << 20)), LEAST);
        assert_eq!(default_history(Some(1 << 40)), MOST);
        assert_eq!(default_history(None), 512 << 20);
        let budget = MemoryBudget { history: 256 << 20, available: Some(2 << 30) };
        assert_eq!(budget.store().retention.bytes, Some(192 << 20));
        let Limits { rings_bytes, bodies_bytes, .. } = budget.limits();
        assert_eq!((rings_bytes, bodies_bytes), (64 << 20, 128 << 20));
        let small = MemoryBudget { history: LEAST, available: Some(16 << 20) }.limits();
        assert_eq!(small.bodies_bytes as usize, small.body_bytes);
    }

    #[test]
    fn bytes_have_units() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(bytes(text).ok(), expected, "{text}");
        check("1048576", Some(1 << 20));
        check("64Mi", Some(64 << 20));
        check("2Gi", Some(2 << 30));
        check("1024Ki", Some(1 << 20));
        for wrong in ["", "Mi", "1.5Gi", "-1", "64M", "1000", "99999999999Gi", "18446744073709551615Ki"] {
            check(wrong, None);
        }
    }
}
