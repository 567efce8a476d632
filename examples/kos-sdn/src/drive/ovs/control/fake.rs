//! A control socket that answers from a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use machinery::sync::Mutex;

use super::{Control, ControlError};

/// Simulates the commands of ovs-vswitchd, and records calls. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct FakeControl {
    state: Arc<Mutex<FakeCommands>>,
}

#[derive(Debug, Default)]
struct FakeCommands {
    outputs: BTreeMap<String, Result<String, String>>,
    calls: Vec<Vec<String>>,
}

impl FakeControl {
    /// Makes a control socket; commands succeed without output.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the output or the error text of a command.
    pub fn answer(&self, command: &str, output: Result<String, String>) {
        self.state.lock().outputs.insert(command.to_owned(), output);
    }

    /// Returns the calls: the command, then its arguments.
    #[must_use]
    pub fn calls(&self) -> Vec<Vec<String>> {
        self.state.lock().calls.clone()
    }
}

#[async_trait]
impl Control for FakeControl {
    async fn call(&self, command: &str, arguments: &[&str]) -> Result<String, ControlError> {
        let mut state = self.state.lock();
        state.calls.push([command].iter().chain(arguments).map(|word| (*word).to_owned()).collect());
        let output = state.outputs.get(command).cloned().unwrap_or_else(|| Ok(String::new()));
        output.map_err(|text| ControlError::Refused { command: command.to_owned(), text })
    }
}
