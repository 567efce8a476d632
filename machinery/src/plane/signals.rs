//! A program that runs until it is told to stop.

use super::road::Plane;

/// Waits for SIGTERM or an interrupt, or until the plane is stopped, and stops it: controllers first, then informers. A second signal
/// ends the program at once.
///
/// # Errors
/// The system does not tell of signals.
pub(super) async fn run_until_signal(plane: &Plane) -> std::io::Result<()> {
    let mut terminates = Signals::new()?;
    tokio::select! {
        biased;
        () = plane.stopping().cancelled() => {}
        () = terminates.next() => {}
    }
    tokio::select! {
        biased;
        () = plane.stop() => Ok(()),
        () = terminates.next() => std::process::exit(1),
    }
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
