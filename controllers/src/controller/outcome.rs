//! Outcomes and records of runs.

use std::fmt;
use std::time::Duration;

use machinery_workqueue::{Causes, Next};
use tokio::time::Instant;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Done until the next event.
    Done,
    /// Requeue after this time.
    After(Duration),
    /// The object does not exist, so the reconciler was not called.
    Absent,
    /// The reconciler returned this error.
    Failed(Box<str>),
    /// The reconciler panicked with this message.
    Panicked(Box<str>),
    /// The run exceeded its time limit.
    TimedOut,
    /// The run was dropped at shutdown, after the drain timeout.
    Dropped,
}

/// Record of a finished run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRecord {
    /// Start of the run.
    pub began: Instant,
    /// Duration of the run.
    pub took: Duration,
    /// Number of consecutive failures before the run.
    pub attempts: u16,
    /// Causes of the run.
    pub causes: Causes,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Number of recorded runs of this key.
    pub runs: u64,
}

impl Outcome {
    /// Longer error texts are truncated.
    // One text is kept for each of `Settings::records` keys, so its length is bounded.
    const MAX_LENGTH: usize = 1024;

    pub(super) fn of(result: Result<Next, Box<str>>) -> Self {
        match result {
            Ok(Next::Done) => Self::Done,
            Ok(Next::After(delay)) => Self::After(delay),
            Err(error) => Self::Failed(short(error)),
        }
    }

    /// Returns whether the run failed. The key is retried after a back-off, or at the next start if
    /// the run was dropped at shutdown.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::TimedOut | Self::Dropped)
    }

    /// Returns a one-word name for logs and metrics.
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
            Self::After(delay) => write!(f, "requeue after {delay:?}"),
            Self::Absent => f.write_str("the object does not exist"),
            Self::Failed(error) => f.write_str(error),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::TimedOut => f.write_str("exceeded Settings::run_time, and was dropped"),
            Self::Dropped => f.write_str("dropped at shutdown"),
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
