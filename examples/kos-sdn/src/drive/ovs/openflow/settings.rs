//! Limits of an OpenFlow connection.

use std::time::Duration;

/// Time limits and sizes of an OpenFlow connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFlowSettings {
    /// Time limit of connecting, greeting and starting the monitor.
    pub connect_timeout: Duration,
    /// Time limit between two messages of the switch while a request waits.
    pub response_timeout: Duration,
    /// Idle time after which the switch must respond to an echo request.
    pub echo_interval: Duration,
    /// Delay before the second attempt to connect; each failure doubles it.
    pub min_back_off: Duration,
    /// Maximum delay between attempts to connect.
    pub max_back_off: Duration,
    /// Maximum number of changes in a bundle.
    pub max_changes: usize,
    /// Maximum number of flows, or ports, of a response.
    pub max_flows: usize,
    /// Maximum number of waiting requests.
    pub max_requests: usize,
}

impl Default for OpenFlowSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(10),
            echo_interval: Duration::from_secs(5),
            min_back_off: Duration::from_millis(20),
            max_back_off: Duration::from_secs(1),
            max_changes: 100_000,
            max_flows: 1_000_000,
            max_requests: 64,
        }
    }
}
