//! Bounded execution of programs: an allow list, and limits of concurrency, queue, run time and
//! output.

use std::collections::BTreeSet;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use machinery::tokio;
use machinery::tokio::sync::Semaphore;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::model::ExecReport;
use crate::plan::not_allowed;

/// The programs that may run, and their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// Allowed paths, compared byte for byte.
    pub allowed: BTreeSet<String>,
    /// Maximum number of concurrent programs; more wait.
    pub at_once: usize,
    /// Maximum number of waiting programs; beyond it a program does not run, and its report says
    /// so.
    pub waiting: usize,
    /// Maximum run time; then the process group is killed.
    pub time: Duration,
    /// Maximum number of bytes kept of standard output, and of standard error.
    pub output: usize,
}

impl Default for ProgramSettings {
    fn default() -> Self {
        Self {
            allowed: BTreeSet::new(),
            at_once: 16,
            waiting: 4096,
            time: Duration::from_secs(60),
            output: 16 << 10,
        }
    }
}

/// Runs programs. Cheap to clone.
#[derive(Clone)]
pub(super) struct ProgramRunner(Arc<Inner>);

struct Inner {
    settings: ProgramSettings,
    permits: Semaphore,
    admitted: AtomicUsize,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// Exit status of a program that did not run, or ended with unknown status.
const DID_NOT_RUN: i32 = -2;
/// Exit status of a program killed at its time limit.
const TIMED_OUT: i32 = -4;
/// Exit status of a program ended by a signal.
const BY_SIGNAL: i32 = -1;
/// The only environment variable of programs; the agent's environment may hold secrets.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Time to read output after a program exited while a descendant keeps its output open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

impl ProgramRunner {
    pub(super) fn new(settings: ProgramSettings, stopping: CancellationToken) -> Self {
        let permits = Semaphore::new(settings.at_once.clamp(1, Semaphore::MAX_PERMITS));
        Self(Arc::new(Inner {
            settings,
            permits,
            admitted: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
            stopping,
        }))
    }

    /// Returns an error text if the program is not allowed.
    pub(super) fn not_allowed(&self, hook: &str, exec: &[String]) -> Option<String> {
        not_allowed(hook, exec, &self.0.settings.allowed)
    }

    /// Runs an allowed command, then `then` with its report; neither after cancellation.
    pub(super) fn start<R>(&self, command: Vec<String>, then: impl FnOnce(ExecReport) -> R + Send + 'static)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let Inner { settings, admitted, tasks, .. } = &*self.0;
        let runs = self.0.clone();
        // Relaxed: a count that guards no other memory.
        if admitted.fetch_add(1, Ordering::Relaxed) >= settings.at_once.saturating_add(settings.waiting) {
            admitted.fetch_sub(1, Ordering::Relaxed);
            let why = format!("{} programs wait on this node already", settings.waiting);
            let report = failed(command, Timestamp::now(), &why);
            tasks.spawn(async move { runs.stopping.run_until_cancelled(then(report)).await });
            return;
        }
        tasks.spawn(async move {
            let report = runs.stopping.run_until_cancelled(runs.run(command)).await;
            runs.admitted.fetch_sub(1, Ordering::Relaxed);
            if let Some(report) = report {
                runs.stopping.run_until_cancelled(then(report)).await;
            }
        });
    }

    /// Waits until no program runs; after cancellation, running programs are killed.
    pub(super) async fn drained(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Inner {
    async fn run(&self, command: Vec<String>) -> ExecReport {
        let Ok(_place) = self.permits.acquire().await else {
            return failed(command, Timestamp::now(), "the agent is stopping");
        };
        let start = Timestamp::now();
        let Some((path, arguments)) = command.split_first() else {
            return failed(command, start, "there is no command");
        };
        let mut program = Command::new(path);
        // A group of its own, so that its descendants are killed with it.
        program.args(arguments).env_clear().env("PATH", PATH).process_group(0).kill_on_drop(true);
        let spawned = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return failed(command, start, &error.to_string()),
        };
        // From here on the process group is killed on every exit, including a drop of this future.
        let _group = ProcessGroup(child.id());
        let (mut out, mut err) =
            (CappedOutput::new(self.settings.output), CappedOutput::new(self.settings.output));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reads = async { tokio::join!(out.read(stdout), err.read(stderr)) };
        let ends = async {
            tokio::pin!(reads);
            let mut is_read = false;
            loop {
                tokio::select! {
                    biased;
                    // The exit decides: a daemon that inherits the pipes keeps them open for ever.
                    ended = child.wait() => {
                        if !is_read {
                            let _ = timeout(OUTPUT_GRACE, &mut reads).await;
                        }
                        return ended;
                    }
                    _ = &mut reads, if !is_read => is_read = true,
                }
            }
        };
        let ended = timeout(self.settings.time, ends).await;
        let (exit_status, why) = match ended {
            Err(_) => (TIMED_OUT, Some(format!("killed, as it ran longer than {:?}", self.settings.time))),
            Ok(Err(error)) => (DID_NOT_RUN, Some(error.to_string())),
            Ok(Ok(status)) => (status_of(status), None),
        };
        let std_err = why
            .into_iter()
            .fold(err.text(), |text, why| if text.is_empty() { why } else { format!("{text}\n{why}") });
        ExecReport {
            exit_status,
            start_time: Time(start),
            stop_time: Time(Timestamp::now()),
            std_out: out.text(),
            std_err,
            command,
        }
    }
}

fn failed(command: Vec<String>, start: Timestamp, why: &str) -> ExecReport {
    let (start_time, stop_time) = (Time(start), Time(Timestamp::now()));
    ExecReport {
        command,
        exit_status: DID_NOT_RUN,
        start_time,
        stop_time,
        std_out: String::new(),
        std_err: why.into(),
    }
}

fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or(BY_SIGNAL)
}

/// A process group, killed on drop.
struct ProcessGroup(Option<u32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // Usually the group is empty by now.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// The beginning of a program's output.
struct CappedOutput {
    bytes: Vec<u8>,
    limit: usize,
    is_truncated: bool,
}

impl CappedOutput {
    const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, is_truncated: false }
    }

    /// Reads to the end so that the program never blocks on a full pipe, and keeps the beginning.
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from.read(&mut piece).await {
            let kept = read.min(self.limit - self.bytes.len());
            self.bytes.extend_from_slice(&piece[..kept]);
            self.is_truncated |= kept < read;
        }
    }

    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.is_truncated {
            format!("{text}\n[cut after {} bytes]", self.limit)
        } else {
            text.into_owned()
        }
    }
}

#[cfg(test)]
mod tests;
