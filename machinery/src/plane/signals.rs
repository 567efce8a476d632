//! Signals that request the program's shutdown: SIGTERM and SIGINT; Ctrl-C elsewhere.

use std::fmt;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that request the program's shutdown: for a program without a
/// [`Plane`](super::Plane).
pub struct ShutdownSignals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

#[cfg(unix)]
impl ShutdownSignals {
    /// Installs the handlers: from now on these signals no longer end the process.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal. Cancelling loses none.
    pub async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl ShutdownSignals {
    /// Returns the signals.
    ///
    /// # Errors
    /// None on this system.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next Ctrl-C.
    pub async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

impl fmt::Debug for ShutdownSignals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownSignals").finish_non_exhaustive()
    }
}
