//! Settings of the load generator.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::{LoadShape, Pacing};
use crate::metrics::LoadMetrics;

/// The parameters of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadSettings {
    /// Name of the run; its objects are in the namespace of this name.
    pub run: String,
    /// The sizes of the networks.
    pub load: LoadShape,
    /// First address of the subnets' blocks.
    pub base: Ipv4Addr,
    /// The nodes of the attachments.
    pub nodes: NodeSelection,
    /// Number of attachments created in all.
    pub attachments: usize,
    /// Number of threads; each executes its operations in order.
    pub threads: usize,
    /// Operations per second; 0 for no limit.
    pub rate: f64,
    /// Distribution of the operations over time.
    pub spread: Pacing,
    /// Share of ready attachments tested with frames where a tested peer exists. Zero disables all
    /// tests.
    pub test_fraction: f64,
    /// Time that a test waits for a pending first test of its subnet.
    pub pending_wait: Duration,
    /// Maximum number of frames of a test.
    pub pings: u16,
    /// Stops creation when a test with frames fails.
    pub stop_on_ping_fail: bool,
    /// Stops creation when an attachment reports an error.
    pub stop_on_break: bool,
    /// Disables deletion, and observes for this time after the last creation.
    pub wait_after_create: Duration,
    /// Maximum time of observation after the last deletion.
    pub wait_after_delete: Duration,
    /// Seed of all random choices.
    pub seed: u64,
    /// Commit under test, for the metrics.
    pub commit: String,
    /// Metrics of the load.
    pub metrics: LoadMetrics,
}

/// The nodes of the attachments, and the choice among them.
#[derive(Clone, Debug)]
pub struct NodeSelection {
    /// Names of the nodes.
    pub names: Vec<String>,
    /// Round robin instead of random choice.
    pub in_turn: bool,
}

impl LoadSettings {
    /// Returns the defaults of the original: 450 attachments in ten networks, ten operations per
    /// second.
    #[must_use]
    pub fn new(run: &str, nodes: NodeSelection) -> Self {
        Self {
            run: run.into(),
            load: LoadShape {
                nets: 10,
                top: 100.0,
                bias: 0.0,
                exponent: 1.0,
                factor: 1.0,
                single_subnet: false,
            },
            base: Ipv4Addr::new(172, 24, 0, 0),
            nodes,
            attachments: 450,
            threads: 1,
            rate: 10.0,
            spread: Pacing::Steady,
            test_fraction: 0.1,
            pending_wait: Duration::from_secs(60),
            pings: 10,
            stop_on_ping_fail: true,
            stop_on_break: true,
            wait_after_create: Duration::ZERO,
            wait_after_delete: Duration::from_secs(15),
            seed: 0,
            commit: "unknown".into(),
            metrics: LoadMetrics::default(),
        }
    }
}
