//! A program that runs beside, and what it says.
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

/// It is waited so long for each line, and for the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program, and what it says. It is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
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
        Ok(Self { child, lines, said: Vec::new() })
    }

    /// Waits until it has said a line with this.
    pub(crate) fn says(&mut self, what: &str) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while !self.said.iter().any(|line| line.contains(what)) {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("it did not say `{what}`, but {:?}", self.said)
                }
            }
        }
        Ok(())
    }

    /// Waits until a file is there.
    pub(crate) fn until_there(&mut self, path: &Path) -> anyhow::Result<()> {
        self.until(|| path.exists())
    }

    /// Waits until it is so, as it begins.
    pub(crate) fn until(&mut self, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            ensure!(Instant::now() < end && self.child.try_wait()?.is_none(), "it did not begin");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// SIGTERM, and an end without an error.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(
            told.context("kill cannot be started")?.success(),
            "it had ended before it was told to: {:?}",
            self.said
        );
        self.ends()
    }

    /// An end without an error, by itself.
    pub(crate) fn ends(mut self) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let ended = self.child.try_wait()?;
            self.said.extend(self.lines.try_iter());
            if let Some(status) = ended {
                ensure!(status.success(), "it ended with {status}: {:?}", self.said);
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
