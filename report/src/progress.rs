//! Progress of long operations, by indicatif.

use std::fmt;
use std::io::{IsTerminal as _, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress on the standard error: one line that is overwritten on a terminal, a line at intervals
/// elsewhere. Dropping it removes the line.
pub struct Progress {
    output: Output,
    begun: Instant,
    text: String,
    /// Done and in all; `None` without a number.
    counted: Option<(u64, u64)>,
}

enum Output {
    Terminal(ProgressBar),
    Plain {
        writer: Box<dyn Write + Send>,
        interval: Duration,
        /// The time of the last line.
        spoke: Instant,
    },
}

/// Interval of lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(30);
/// Interval of redrawing, for the elapsed time.
const TICK: Duration = Duration::from_millis(200);
const COUNTED: &str = "{spinner} {pos}/{len} {wide_bar} {elapsed}  {msg}";
const ENDLESS: &str = "{spinner} {elapsed}  {wide_msg}";

impl Progress {
    /// Shows an operation without a known end.
    #[must_use]
    pub fn endless(text: &str) -> Self {
        Self::on_standard_error(text, None)
    }

    /// Shows an operation of a known number of steps.
    #[must_use]
    pub fn of(total: u64, text: &str) -> Self {
        Self::on_standard_error(text, Some((0, total)))
    }

    fn on_standard_error(text: &str, counted: Option<(u64, u64)>) -> Self {
        if std::io::stderr().is_terminal() {
            let progress = Self::on_terminal(text, counted, ProgressDrawTarget::stderr());
            if let Output::Terminal(bar) = &progress.output {
                bar.enable_steady_tick(TICK);
            }
            return progress;
        }
        Self::plain(text, counted, Box::new(std::io::stderr()), INTERVAL)
    }

    fn on_terminal(text: &str, counted: Option<(u64, u64)>, target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(counted.map(|(_, total)| total), target);
        let template = if counted.is_some() { COUNTED } else { ENDLESS };
        // A template that indicatif rejects would only cost the layout.
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.set_message(text.to_owned());
        Self { output: Output::Terminal(bar), begun: now(), text: text.into(), counted }
    }

    fn plain(
        text: &str,
        counted: Option<(u64, u64)>,
        writer: Box<dyn Write + Send>,
        interval: Duration,
    ) -> Self {
        let begun = now();
        let output = Output::Plain { writer, interval, spoke: begun };
        Self { output, begun, text: text.into(), counted }
    }

    /// Shows the number of steps done.
    pub fn at(&mut self, done: u64) {
        if let Some((shown, _)) = &mut self.counted {
            *shown = done;
        }
        if let Output::Terminal(bar) = &self.output {
            bar.set_position(done);
        }
        self.speak();
    }

    /// Changes the number of all steps.
    pub fn set_total(&mut self, total: u64) {
        self.counted = self.counted.map(|(done, _)| (done, total));
        if let Output::Terminal(bar) = &self.output {
            bar.set_length(total);
        }
    }

    /// Shows the current activity. Elsewhere than on a terminal it is printed at intervals only.
    pub fn message(&mut self, text: &str) {
        self.set_text(text);
        self.speak();
    }

    /// Shows a new stage of the operation. Elsewhere than on a terminal it is printed at once.
    pub fn stage(&mut self, text: &str) {
        self.set_text(text);
        self.print();
    }

    /// Prints a line that stays.
    pub fn line(&mut self, text: &str) {
        match &mut self.output {
            Output::Terminal(bar) => bar.suspend(|| eprintln!("{text}")),
            // A failure to print must not stop the operation.
            Output::Plain { writer, .. } => drop(writeln!(writer, "{text}")),
        }
    }

    fn set_text(&mut self, text: &str) {
        self.text.clear();
        self.text.extend(text.chars().filter(|letter| !letter.is_control()));
        if let Output::Terminal(bar) = &self.output {
            bar.set_message(self.text.clone());
        }
    }

    /// Prints a line if the last one is old.
    fn speak(&mut self) {
        if let Output::Plain { spoke, interval, .. } = &self.output
            && spoke.elapsed() >= *interval
        {
            self.print();
        }
    }

    fn print(&mut self) {
        if let Output::Plain { writer, spoke, .. } = &mut self.output {
            *spoke = now();
            let counted = self.counted.map(|(done, total)| format!("{done}/{total} ")).unwrap_or_default();
            let seconds = self.begun.elapsed().as_secs();
            let after = if seconds == 0 { String::new() } else { format!("{seconds} s  ") };
            drop(writeln!(writer, "{after}{counted}{}", self.text));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Output::Terminal(bar) = &self.output {
            bar.finish_and_clear();
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("text", &self.text)
            .field("counted", &self.counted)
            .finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "people wait in real time, which no test simulates")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use indicatif::InMemoryTerm;

    use super::*;

    struct Lines(Sender<String>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn plain(interval: Duration, counted: Option<(u64, u64)>) -> (Progress, Receiver<String>) {
        let (sender, lines) = channel();
        (Progress::plain("begins", counted, Box::new(Lines(sender)), interval), lines)
    }

    fn printed(lines: &Receiver<String>) -> String {
        lines.try_iter().collect()
    }

    #[test]
    fn p04_progress_leaves_nothing_on_a_terminal() {
        let terminal = InMemoryTerm::new(5, 60);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut progress = Progress::on_terminal("opening", Some((0, 40)), target);
        progress.at(10);
        progress.message("reading\r\x1b[2Jfiles");
        if let Output::Terminal(bar) = &progress.output {
            bar.tick();
        }
        let shown = terminal.contents();
        assert!(shown.contains("10/40") && shown.contains("reading[2Jfiles"), "{shown}");
        drop(progress);
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn p04_elsewhere_a_line_is_printed_at_intervals_only() {
        let (mut progress, lines) = plain(Duration::from_secs(3600), Some((0, 9)));
        for done in 0..9 {
            progress.at(done);
            progress.message("busy");
        }
        assert_eq!(printed(&lines), "");
        let (mut progress, lines) = plain(Duration::ZERO, Some((0, 9)));
        progress.at(3);
        progress.set_total(10);
        progress.message("busy");
        assert_eq!(printed(&lines), "3/9 begins\n3/10 busy\n");
    }

    #[test]
    fn p04_stages_and_lines_are_printed_at_once() {
        let (mut progress, lines) = plain(Duration::from_secs(3600), None);
        progress.stage("first");
        progress.line("failed: x");
        progress.stage("second");
        drop(progress);
        assert_eq!(printed(&lines), "first\nfailed: x\nsecond\n");
    }
}
