//! Programs that run beside interfaces: only those that may, only so many at once, only for so long, and only so much of what they say is kept.

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

/// Which programs may run, and what they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// Their paths, letter by letter.
    pub allowed: BTreeSet<String>,
    /// So many run at once; others wait.
    pub at_once: usize,
    /// So many wait. What comes after them does not run, and its report says so.
    pub waiting: usize,
    /// So long one runs, before it is killed with all that it began.
    pub time: Duration,
    /// So many bytes of what it says are kept, and as many of what it complains of.
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
pub(super) struct Programs(Arc<Inner>);

struct Inner {
    settings: ProgramSettings,
    places: Semaphore,
    there: AtomicUsize,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// Of one that did not run, or whose end nobody knows.
const DID_NOT_RUN: i32 = -2;
/// Of one that was killed since it took too long.
const TOOK_TOO_LONG: i32 = -4;
/// Of one that a signal ended.
const BY_SIGNAL: i32 = -1;
/// What programs find others by. They get nothing else of the agent's environment: it may hold what is not for them.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// So long one listens on when a program has ended and somebody it began still has its output.
const LISTEN_ON: Duration = Duration::from_millis(500);

impl Programs {
    pub(super) fn new(settings: ProgramSettings, stopping: CancellationToken) -> Self {
        let places = Semaphore::new(settings.at_once.clamp(1, Semaphore::MAX_PERMITS));
        Self(Arc::new(Inner {
            settings,
            places,
            there: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
            stopping,
        }))
    }

    /// Why this is not run, if that is so.
    pub(super) fn not_allowed(&self, what: &str, exec: &[String]) -> Option<String> {
        not_allowed(what, exec, &self.0.settings.allowed)
    }

    /// Runs a command that may, and then something with its report; nothing, if all ends before.
    pub(super) fn start<R>(&self, command: Vec<String>, then: impl FnOnce(ExecReport) -> R + Send + 'static)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let Inner { settings, there, tasks, .. } = &*self.0;
        let runs = self.0.clone();
        if there.fetch_add(1, Ordering::Relaxed) >= settings.at_once.saturating_add(settings.waiting) {
            there.fetch_sub(1, Ordering::Relaxed);
            let why = format!("{} programs wait on this node already", settings.waiting);
            let report = failed(command, Timestamp::now(), &why);
            tasks.spawn(async move { runs.stopping.run_until_cancelled(then(report)).await });
            return;
        }
        tasks.spawn(async move {
            let report = runs.stopping.run_until_cancelled(runs.run(command)).await;
            runs.there.fetch_sub(1, Ordering::Relaxed);
            if let Some(report) = report {
                runs.stopping.run_until_cancelled(then(report)).await;
            }
        });
    }

    /// When what ran has ended, or was killed: after it was told to stop.
    pub(super) async fn ended(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Inner {
    async fn run(&self, command: Vec<String>) -> ExecReport {
        let Ok(_place) = self.places.acquire().await else {
            return failed(command, Timestamp::now(), "this agent is ending");
        };
        let start = Timestamp::now();
        let Some((path, arguments)) = command.split_first() else {
            return failed(command, start, "there is no command");
        };
        let mut program = Command::new(path);
        program.args(arguments).env_clear().env("PATH", PATH).process_group(0).kill_on_drop(true);
        let spawned = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return failed(command, start, &error.to_string()),
        };
        // From here on all that it began ends with it, also if this future is dropped.
        let _group = Group(child.id());
        let (mut out, mut err) = (Kept::new(self.settings.output), Kept::new(self.settings.output));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reads = async { tokio::join!(out.read(stdout), err.read(stderr)) };
        let ends = async {
            tokio::pin!(reads);
            let mut is_read = false;
            loop {
                tokio::select! {
                    biased;
                    ended = child.wait() => {
                        if !is_read {
                            let _ = timeout(LISTEN_ON, &mut reads).await;
                        }
                        return ended;
                    }
                    _ = &mut reads, if !is_read => is_read = true,
                }
            }
        };
        let ended = timeout(self.settings.time, ends).await;
        let (exit_status, why) = match ended {
            Err(_) => {
                (TOOK_TOO_LONG, Some(format!("killed, as it ran longer than {:?}", self.settings.time)))
            }
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

/// A program and all that it began; what is left of them is killed when this is dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // Nobody is left, as a rule.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// The beginning of what is said.
struct Kept {
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Kept {
    const fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    /// Reads to the end, so that nobody waits for a reader; and keeps the beginning.
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from.read(&mut piece).await {
            let kept = read.min(self.most - self.bytes.len());
            self.bytes.extend_from_slice(&piece[..kept]);
            self.is_cut |= kept < read;
        }
    }

    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.is_cut { format!("{text}\n[cut after {} bytes]", self.most) } else { text.into_owned() }
    }
}

#[cfg(test)]
mod tests;
