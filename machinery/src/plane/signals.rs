//! Signals that request the program's shutdown: SIGTERM and SIGINT; Ctrl-C elsewhere.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) struct ShutdownSignals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

#[cfg(unix)]
impl ShutdownSignals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl ShutdownSignals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    pub(super) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
