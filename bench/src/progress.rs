//! Progress output: one updated line on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};

pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    /// Reports the start of shape `number` of `all`.
    pub(crate) fn shape(&self, number: usize, all: usize, name: &str) {
        if !self.terminal {
            eprintln!("{number}/{all} {name}");
        }
    }

    /// Reports the subject that runs.
    pub(crate) fn run(
        &self,
        number: usize,
        all: usize,
        name: &str,
        round: usize,
        rounds: usize,
        subject: &str,
    ) {
        if self.terminal {
            eprint!("\r\x1b[K{number}/{all} {name}: round {round} of {rounds}, {subject}");
            // Failure to print must not stop the measurement.
            let _ = std::io::stderr().flush();
        }
    }

    /// Prints a permanent line.
    pub(crate) fn say(&self, text: &str) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
        eprintln!("{text}");
    }

    pub(crate) fn done(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
