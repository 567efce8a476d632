//! Runs child processes: their output is kept, and shown line by line or as a progress line.

use std::io::{BufRead, BufReader, IsTerminal};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use machinery_report::Progress;

/// The display of a child's output while it runs. All of it is kept either way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// Every line, immediately.
    Lines,
    /// On a terminal one line that is overwritten; elsewhere a message every half minute.
    Progress,
    /// Nothing.
    Nothing,
}

/// The result of a child that exited.
pub(crate) struct Outcome {
    /// Whether the exit status was zero.
    pub(crate) ok: bool,
    /// The exit status as text: `exit status: 101`, `signal: 9 (SIGKILL)`.
    pub(crate) ending: String,
    /// Both streams, in the order in which they were written.
    pub(crate) text: String,
}

/// Runs `command` until it exits. An error means that it could not be started.
pub(crate) fn run(mut command: Command, show: Show) -> anyhow::Result<Outcome> {
    let line = describe(&command);
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().context("cannot make a pipe")?).stderr(writer);
    if std::env::var_os("CARGO_TERM_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", if colour() { "always" } else { "never" });
    }
    let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
    drop(command); // it holds the writing ends: without this the reader below never sees the end

    let (send, lines) = sync_channel::<String>(256);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            if send.send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    });

    let mut text = String::new();
    let mut output = ChildOutput::new(show);
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                let line = if colour() { line } else { plain(&line) };
                output.line(&line);
                text.push_str(&line);
            }
            // A grandchild that outlives the child would keep the pipe open: do not wait for it.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(output);
    let status = child.wait()?;
    Ok(Outcome { ok: status.success(), ending: status.to_string(), text })
}

/// Returns the command line as a user would type it, with the variables that it sets.
pub(crate) fn describe(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let variables =
        variables.map(|(name, value)| format!("{}={}", name.display(), quoted(&value.to_string_lossy())));
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words =
        std::iter::once(program).chain(command.get_args()).map(|word| quoted(&word.to_string_lossy()));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns whether a program starts and exits with zero. Its output is discarded.
pub(crate) fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Removes colours: some tools write them into pipes too.
pub(crate) fn plain(coloured: &str) -> String {
    let mut text = String::with_capacity(coloured.len());
    let mut chars = coloured.chars();
    while let Some(c) = chars.next() {
        match c {
            // `ESC [ … letter`, and `ESC ( letter` of old terminals: both end at the first letter.
            '\x1b' => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            _ => text.push(c),
        }
    }
    text
}

/// The current time, only for measuring durations to be printed.
#[expect(
    clippy::disallowed_methods,
    reason = "a developer's tool measures real time, and nobody simulates it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains([' ', '"', '$', '*']) { format!("'{word}'") } else { word.to_owned() }
}

/// The output of a child on the screen.
struct ChildOutput {
    show: Show,
    progress: Option<Progress>,
}

impl ChildOutput {
    fn new(show: Show) -> Self {
        Self { show, progress: (show == Show::Progress).then(|| Progress::endless("")) }
    }

    fn line(&mut self, line: &str) {
        if self.show == Show::Lines {
            print!("{line}");
        }
        // Messages of cargo for programs are no progress for people.
        if let Some(progress) =
            self.progress.as_mut().filter(|_| !line.trim().is_empty() && !line.starts_with('{'))
        {
            progress.message(&plain(line.trim()));
        }
    }
}
