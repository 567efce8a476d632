//! What came of a run.

use std::fmt;
use std::time::Duration;

use machinery_workqueue::{Causes, Next};
use tokio::time::Instant;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing is to be done until something changes.
    Done,
    /// It wants to run again after this time.
    After(Duration),
    /// The object is not there (any more), so nothing ran.
    Absent,
    /// It returned this error.
    Failed(Box<str>),
    /// It panicked, and said this.
    Panicked(Box<str>),
    /// It took longer than it may.
    TimedOut,
    /// The controller stopped, and did not wait for it any longer.
    Dropped,
}

/// A run that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRecord {
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
    /// How often it had failed in a row before.
    pub attempts: u16,
    /// Why it ran.
    pub causes: Causes,
    /// What came of it.
    pub outcome: Outcome,
    /// How often this key has run, as far as that is remembered.
    pub runs: u64,
}

impl Outcome {
    /// Errors are kept so long.
    const MAX_LENGTH: usize = 1024;

    pub(super) fn of(result: Result<Next, Box<str>>) -> Self {
        match result {
            Ok(Next::Done) => Self::Done,
            Ok(Next::After(delay)) => Self::After(delay),
            Err(error) => Self::Failed(short(error)),
        }
    }

    /// Whether it runs again after a back-off.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::TimedOut | Self::Dropped)
    }

    /// One word, for logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::After(_) => "after",
            Self::Absent => "absent",
            Self::Failed(_) => "failed",
            Self::Panicked(_) => "panicked",
            Self::TimedOut => "timed_out",
            Self::Dropped => "dropped",
        }
    }
}

fn short(error: Box<str>) -> Box<str> {
    match error.char_indices().nth(Outcome::MAX_LENGTH) {
        None => error,
        Some((end, _)) => format!("{}…", &error[..end]).into(),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::After(delay) => write!(f, "again after {delay:?}"),
            Self::Absent => f.write_str("it is not there"),
            Self::Failed(error) => f.write_str(error),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::TimedOut => f.write_str("took longer than Settings::run_time, and was dropped"),
            Self::Dropped => f.write_str("dropped, as the controller stopped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_are_truncated() {
        let Outcome::Failed(error) = Outcome::of(Err("é".repeat(5000).into())) else { panic!() };
        assert_eq!(error.chars().count(), Outcome::MAX_LENGTH + 1);
        assert_eq!(Outcome::of(Err("no".into())), Outcome::Failed("no".into()));
    }
}
