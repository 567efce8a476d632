//! Processes of a lab, by identities that no other process ever has.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use machinery::tokio::time::{Instant, sleep};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::LabError;

/// The variable with the lab's id in the environment of its processes.
pub(super) const LAB_VARIABLE: &str = "KOS_LAB";

/// A process: its id is used again by others, but not with the same start time and program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessIdentity {
    /// Process ID.
    pub(super) pid: u32,
    /// Start time in clock ticks since boot.
    pub(super) started: u64,
    /// The program, with links followed.
    pub(super) executable: PathBuf,
}

/// Maximum time for a killed process to end.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Interval of checks whether a process has ended.
const END_CHECK: Duration = Duration::from_millis(5);

impl ProcessIdentity {
    /// Returns the identity of a running process; `None` if there is none, or it has ended and was
    /// not waited for.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold spaces and parentheses: the fields begin after the last one.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        // The start time is field 22; the state is field 3.
        let started = fields.nth(18)?.parse().ok()?;
        let executable = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let text = executable.to_str()?;
        // The program was replaced since, for instance by a newer build.
        let executable = PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text));
        (!matches!(state, "Z" | "X")).then_some(Self { pid, started, executable })
    }

    /// Returns whether the process runs.
    pub(super) fn is_running(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }

    /// Kills the process, if it runs, and waits until it has ended.
    pub(super) async fn kill(&self) -> Result<(), LabError> {
        // The descriptor refers to this process also after its end, when the id is used again.
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let Some(Ok(descriptor)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return Ok(()) };
        if !self.is_running() {
            return Ok(());
        }
        // An error means that it has ended.
        let _ = pidfd_send_signal(&descriptor, Signal::KILL);
        let deadline = Instant::now() + END_LIMIT;
        while self.is_running() {
            if Instant::now() >= deadline {
                return Err(LabError::Survives { pid: self.pid, seconds: END_LIMIT.as_secs() });
            }
            sleep(END_CHECK).await;
        }
        Ok(())
    }
}

/// Maximum number of scans for processes that are about to execute their program.
const SCANS: usize = 40;

/// Returns all processes with a lab's id in their environment.
///
/// The environment of a process is empty for a moment while it executes its program. As long as
/// there is such a process, the scan is repeated; a few processes have none for all of their life.
pub(super) async fn of_lab(id: &str) -> Vec<ProcessIdentity> {
    let variable = format!("{LAB_VARIABLE}={id}");
    let mut found = Vec::new();
    for _ in 0..SCANS {
        let (of_lab, is_certain) = scan(variable.as_bytes());
        found = of_lab;
        if is_certain {
            break;
        }
        sleep(END_CHECK).await;
    }
    found
}

/// Returns the processes with a variable, and whether each process has an environment.
fn scan(variable: &[u8]) -> (Vec<ProcessIdentity>, bool) {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let (mut found, mut is_certain) = (Vec::new(), true);
    for pid in pids.filter(|pid| *pid != std::process::id()) {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.is_empty() {
            // Threads of the kernel have no program, hence no identity.
            is_certain &= ProcessIdentity::of(pid).is_none();
        } else if environment.split(|byte| *byte == 0).any(|entry| entry == variable) {
            found.extend(ProcessIdentity::of(pid));
        }
    }
    (found, is_certain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::tokio;
    use tokio::process::Command;

    #[tokio::test]
    async fn only_the_identified_process_is_killed() {
        let id = format!("test-{}", std::process::id());
        let mut child =
            Command::new("sleep").arg("600").env(LAB_VARIABLE, &id).kill_on_drop(true).spawn().unwrap();
        let process = ProcessIdentity::of(child.id().unwrap()).unwrap();
        assert_eq!(of_lab(&id).await, std::slice::from_ref(&process));
        let other = ProcessIdentity { started: process.started + 1, ..process.clone() };
        other.kill().await.unwrap();
        assert!(process.is_running() && !other.is_running());
        process.kill().await.unwrap();
        assert!(!process.is_running());
        process.kill().await.unwrap();
        child.wait().await.unwrap();
        assert_eq!(of_lab(&id).await, []);
    }
}
