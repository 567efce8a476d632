//! Says what runs now: one line that changes on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};

pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    /// A shape begins, the `number`th of `all`.
    pub(crate) fn shape(&self, number: usize, all: usize, name: &str) {
        if !self.terminal {
            eprintln!("{number}/{all} {name}");
        }
    }

    /// A subject runs the shape.
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
            // A progress line that cannot be shown is no reason to stop measuring.
            let _ = std::io::stderr().flush();
        }
    }

    /// Something that stays on the screen.
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
