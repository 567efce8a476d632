//! A child process and its output.
#![expect(
    clippy::disallowed_methods,
    reason = "a program of one's own that waits for others needs no time that can be stopped"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// Timeout of each line, and of the exit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A child process and its output. It is killed on drop.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{:?} cannot be started", command.get_program()))?;
        let out = child.stdout.take().context("it has an output")?;
        let (sends, lines) = sync_channel(1024);
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sends.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, seen: Vec::new() })
    }

    /// Returns the process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that contains this text.
    pub(crate) fn expect_line(&mut self, what: &str) -> anyhow::Result<()> {
        let end = Instant::now() + TIMEOUT;
        while !self.seen.iter().any(|line| line.contains(what)) {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("it did not say `{what}`, but {:?}", self.seen)
                }
            }
        }
        Ok(())
    }

    /// Waits until a file exists.
    pub(crate) fn until_there(&mut self, path: &Path) -> anyhow::Result<()> {
        self.until(|| path.exists())
    }

    /// Waits until a condition holds. Fails if the program exits first.
    pub(crate) fn until(&mut self, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + TIMEOUT;
        while !is_so() {
            ensure!(Instant::now() < end && self.child.try_wait()?.is_none(), "it did not begin");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends SIGTERM, and waits for an exit with status 0.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(
            told.context("kill cannot be started")?.success(),
            "it had ended before it was told to: {:?}",
            self.seen
        );
        self.ends()
    }

    /// Waits until the program exits by itself, with status 0.
    pub(crate) fn ends(mut self) -> anyhow::Result<()> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let ended = self.child.try_wait()?;
            self.seen.extend(self.lines.try_iter());
            if let Some(status) = ended {
                ensure!(status.success(), "it ended with {status}: {:?}", self.seen);
                return Ok(());
            }
            ensure!(Instant::now() < end, "it did not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
