//! A child process that answers each line of JSON with a line of JSON, so that rounds interleave
//! without a process per round.

use crate::measure::Figures;
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) struct LineProcess {
    name: &'static str,
    child: Child,
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

/// A line of an answer.
#[derive(Serialize, Deserialize)]
struct Response {
    #[serde(default)]
    figures: Figures,
    #[serde(default)]
    error: Option<String>,
}

/// The child's side: answers each line of standard input until it closes.
pub(crate) fn serve(mut answer: impl FnMut(&str) -> anyhow::Result<Figures>) -> anyhow::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let response = match answer(&line?) {
            Ok(figures) => Response { figures, error: None },
            Err(error) => Response { figures: Figures::default(), error: Some(format!("{error:#}")) },
        };
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &response)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

impl LineProcess {
    /// Starts a process, called `name` in messages.
    pub(crate) fn start(name: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let responses = child.stdout.take().with_context(|| format!("{name} has no standard output"))?;
        let requests = child.stdin.take();
        Ok(Self { name, child, requests, responses: BufReader::new(responses) })
    }

    pub(crate) fn ask(&mut self, request: &impl Serialize) -> anyhow::Result<Figures> {
        let name = self.name;
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let requests = self.requests.as_mut().with_context(|| format!("{name} has no standard input"))?;
        requests.write_all(line.as_bytes()).with_context(|| format!("{name} has ended"))?;
        line.clear();
        self.responses.read_line(&mut line)?;
        ensure!(!line.is_empty(), "{name} has ended");
        match serde_json::from_str(&line).with_context(|| format!("{name} answered {line:?}"))? {
            Response { error: Some(error), .. } => bail!(error),
            Response { figures, .. } => Ok(figures),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().with_context(|| format!("cannot kill {}", self.name))
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        drop(self.requests.take()); // the end of its input ends it
        if let Err(error) = self.child.wait() {
            eprintln!("{} did not end: {error}", self.name);
        }
    }
}
