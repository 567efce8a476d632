//! Process statistics of Linux: CPU time, memory, and disk.

use anyhow::Context;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

/// Returns the CPU time of a process since its start, user and kernel. Uses its clock, since
/// `/proc/PID/stat` counts in hundredths of a second, more than a hundred events cost.
pub(crate) fn cpu_us(pid: u32) -> anyhow::Result<f64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid.try_into()?)).context("no such process")?;
    Ok(Duration::from(clock.now()?).as_secs_f64() * 1e6)
}

/// Returns the bytes written to the disk of a directory since boot, by any process; `None` without
/// a disk. Per-process counters are useless: with large folios a few bytes count as a whole one.
pub(crate) fn written(directory: &Path) -> Option<f64> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(directory).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    let sectors: f64 = stat.split_whitespace().nth(6)?.parse().ok()?;
    Some(sectors * 512.0)
}

/// Returns resident and anonymous memory in bytes.
pub(crate) fn memory(pid: u32) -> anyhow::Result<(f64, f64)> {
    let status = read(pid, "status")?;
    let bytes = |name| Some(field(&status, name)? * 1024.0);
    bytes("VmRSS:").zip(bytes("RssAnon:")).context("/proc/PID/status is not as expected")
}

/// Resets the peak of resident memory.
pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    std::fs::write(&path, "5").with_context(|| format!("cannot write {path}"))
}

/// Returns the peak of resident memory.
pub(crate) fn peak(pid: u32) -> anyhow::Result<f64> {
    let kilobytes = field(&read(pid, "status")?, "VmHWM:").context("/proc/PID/status is not as expected")?;
    Ok(kilobytes * 1024.0)
}

/// Returns the disk usage of a directory tree.
pub(crate) fn disk(directory: &Path) -> anyhow::Result<f64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0.0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk(&entry.path())? } else { number(metadata.blocks()) * 512.0 };
    }
    Ok(bytes)
}

fn read(pid: u32, name: &str) -> anyhow::Result<String> {
    let path = format!("/proc/{pid}/{name}");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

fn field(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "counts here stay far below 2^52")]
fn number(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_where_linux_has_them() {
        assert_eq!(field("VmRSS:\t  12 kB\nRssAnon:\t 8 kB", "RssAnon:"), Some(8.0));
        assert_eq!(field("VmRSS:", "VmRSS:"), None);
    }

    #[test]
    fn this_process_has_memory_and_has_run() {
        let before = cpu_us(std::process::id()).expect("it is there");
        let used = std::hint::black_box((0..1_000_000_u64).map(std::hint::black_box).sum::<u64>());
        assert!(used > 0 && cpu_us(std::process::id()).expect("it is there") > before);
        let (all, anonymous) = memory(std::process::id()).expect("Linux has /proc");
        assert!(all >= anonymous && anonymous > 0.0);
    }
}
