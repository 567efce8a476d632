//! A gate that blocks calls until a test opens it.

use std::sync::{Arc, mpsc};

use machinery_sync::{Mutex, Notify};

/// Blocks the calls that reach it until it is opened. Dropping it opens it, so that no thread stays
/// blocked.
#[derive(Debug, Default)]
pub struct Gate(Arc<Door>);

/// The side of a [`Gate`] at which calls wait.
#[derive(Debug, Default)]
pub(super) struct Door {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    reached: bool,
    /// Dropping a sender releases its thread.
    waiting: Vec<mpsc::Sender<()>>,
}

impl Gate {
    /// Creates a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a call has reached the gate. Cancel safe.
    pub async fn reached(&self) {
        loop {
            let listener = self.0.arrived.listen();
            if self.0.state.lock().reached {
                return;
            }
            listener.await;
        }
    }

    /// Releases all waiting calls, and lets later ones pass.
    pub fn open(&self) {
        let mut state = self.0.state.lock();
        state.open = true;
        state.waiting.clear();
    }

    pub(super) fn door(&self) -> Arc<Door> {
        self.0.clone()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl Door {
    /// Blocks the thread until the gate is open.
    pub(super) fn pass(&self) {
        let (sender, opened) = mpsc::channel();
        let mut state = self.state.lock();
        state.reached = true;
        if !state.open {
            state.waiting.push(sender);
        } else {
            drop(sender);
        }
        drop(state);
        self.arrived.notify_all();
        // Nothing is ever sent: `recv` returns when the sender is dropped.
        let _ = opened.recv();
    }
}
