//! Captures the logs of a test.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

/// The captured events, with their fields.
#[derive(Clone, Default)]
#[allow(clippy::disallowed_types, reason = "the tests are not explored by loom")]
pub(crate) struct CapturedLogs(Arc<Mutex<Vec<String>>>);

/// Captures the logs of this thread until the guard is dropped.
pub(crate) fn captured_logs() -> (CapturedLogs, tracing::subscriber::DefaultGuard) {
    let logs = CapturedLogs::default();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(logs.clone()));
    (logs, guard)
}

impl CapturedLogs {
    pub(crate) fn lines_with(&self, part: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.contains(part)).cloned().collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for CapturedLogs {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &tracing::field::Field, value: &dyn Debug| {
            let _ = write!(line, " {field}={value:?}");
        });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
