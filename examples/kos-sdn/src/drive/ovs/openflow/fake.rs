//! A switch in memory, with faults on request.

use std::sync::Arc;

use async_trait::async_trait;
use machinery::sync::Mutex;
use machinery::tokio::sync::watch;

use super::fake_state::FakeSwitchState;
use super::{FlowChange, FlowSwitch, FoundFlow, OpaqueFlow, OpenFlowError, SwitchPort, SwitchStatus};
use crate::plan::Port;

/// A switch in memory. Clones are the same switch.
///
/// It keeps flows and ports like a bridge, and loses its flows when it restarts.
#[derive(Clone, Debug)]
pub struct FakeSwitch {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<FakeSwitchState>,
    status: watch::Sender<SwitchStatus>,
}

impl Default for FakeSwitch {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeSwitch {
    /// Creates a connected switch without flows and ports.
    #[must_use]
    pub fn new() -> Self {
        let status =
            SwitchStatus { is_connected: true, epoch: 1, is_monitored: true, ..SwitchStatus::default() };
        Self { inner: Arc::new(Inner { state: Mutex::default(), status: watch::Sender::new(status) }) }
    }

    /// Restarts the switch: all flows are lost, and the connection is a new one.
    pub fn restart(&self) {
        self.inner.state.lock().flows.clear();
        self.inner.status.send_modify(|status| {
            status.is_connected = true;
            status.epoch += 1;
        });
    }

    /// Breaks the connection until [`restart`](Self::restart) or [`reconnect`](Self::reconnect).
    pub fn disconnect(&self) {
        self.inner.status.send_modify(|status| {
            status.is_connected = false;
            status.last_error = Some("disconnected by the test".into());
        });
    }

    /// Establishes a new connection; the flows are kept.
    pub fn reconnect(&self) {
        self.inner.status.send_modify(|status| {
            status.is_connected = true;
            status.epoch += 1;
        });
    }

    /// Sets whether changes by others are reported.
    pub fn set_monitored(&self, is_monitored: bool) {
        self.inner.status.send_modify(|status| status.is_monitored = is_monitored);
    }

    /// Refuses the next bundles.
    pub fn refuse_bundles(&self, number: usize) {
        self.inner.state.lock().refused_bundles = number;
    }

    /// Refuses each bundle that adds a flow of this cookie; `None` ends it.
    pub fn refuse_cookie(&self, cookie: Option<u64>) {
        self.inner.state.lock().refused_cookie = cookie;
    }

    /// Applies the next bundles, but loses the responses.
    pub fn lose_responses(&self, number: usize) {
        self.inner.state.lock().lost_responses = number;
    }

    /// Sets whether the switch refuses all bundles as unsupported.
    pub fn set_without_bundles(&self, lacks_bundles: bool) {
        self.inner.state.lock().lacks_bundles = lacks_bundles;
    }

    /// Sets whether all requests fail as if the switch did not respond.
    pub fn set_silent(&self, is_silent: bool) {
        self.inner.state.lock().is_silent = is_silent;
    }

    /// Sets whether all responses are malformed.
    pub fn set_nonsense(&self, sends_nonsense: bool) {
        self.inner.state.lock().sends_nonsense = sends_nonsense;
    }

    /// Applies a change by another program; monitors report it.
    pub fn change_by_others(&self, change: &FlowChange) {
        self.inner.state.lock().change(change);
        self.inner.status.send_modify(|status| {
            if status.is_monitored {
                status.foreign_changes += 1;
            }
        });
    }

    /// Adds a flow of another program that [`Flow`](crate::plan::Flow) cannot express.
    pub fn add_opaque(&self, flow: OpaqueFlow) {
        self.inner.state.lock().add_opaque(flow);
        self.inner.status.send_modify(|status| status.foreign_changes += 1);
    }

    /// Adds a port, as OVS does for a row of its database.
    pub fn add_port(&self, number: Port, name: &str) {
        self.inner.state.lock().ports.insert(number, name.into());
        self.inner.status.send_modify(|status| status.port_changes += 1);
    }

    /// Removes a port.
    pub fn remove_port(&self, number: Port) {
        self.inner.state.lock().ports.remove(&number);
        self.inner.status.send_modify(|status| status.port_changes += 1);
    }

    /// Returns the flows.
    #[must_use]
    pub fn flows(&self) -> Vec<FoundFlow> {
        self.inner.state.lock().flows.values().cloned().collect()
    }

    /// Returns all applied bundles.
    #[must_use]
    pub fn bundles(&self) -> Vec<Vec<FlowChange>> {
        self.inner.state.lock().bundles.clone()
    }

    /// Returns the number of dumps.
    #[must_use]
    pub fn dumps(&self) -> usize {
        self.inner.state.lock().dumps
    }

    /// Returns the error of a request in the present state.
    fn fault(&self, state: &FakeSwitchState, request: &'static str) -> Option<OpenFlowError> {
        if !self.inner.status.borrow().is_connected {
            Some(OpenFlowError::Unavailable { reason: "disconnected by the test".into() })
        } else if state.is_silent {
            Some(OpenFlowError::Silent { request, milliseconds: 0 })
        } else if state.sends_nonsense {
            Some(OpenFlowError::Malformed { message: "a response", reason: "nonsense".into() })
        } else {
            None
        }
    }
}

#[async_trait]
impl FlowSwitch for FakeSwitch {
    async fn apply(&self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError> {
        let mut state = self.inner.state.lock();
        if let Some(fault) = self.fault(&state, "a bundle") {
            return Err(fault);
        }
        state.apply(changes)
    }

    async fn dump(&self) -> Result<Vec<FoundFlow>, OpenFlowError> {
        let mut state = self.inner.state.lock();
        if let Some(fault) = self.fault(&state, "a flow dump") {
            return Err(fault);
        }
        state.dumps += 1;
        Ok(state.flows.values().cloned().collect())
    }

    async fn ports(&self) -> Result<Vec<SwitchPort>, OpenFlowError> {
        let state = self.inner.state.lock();
        if let Some(fault) = self.fault(&state, "a port description") {
            return Err(fault);
        }
        Ok(state
            .ports
            .iter()
            .map(|(number, name)| SwitchPort { number: *number, name: name.clone() })
            .collect())
    }

    fn status(&self) -> watch::Receiver<SwitchStatus> {
        self.inner.status.subscribe()
    }
}
