//! How much load, of which kind.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::metrics::DriverMetrics;
use crate::plan::{Load, Spread};

/// A load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DriveSettings {
    /// What the run is called, and the namespace of its objects.
    pub run: String,
    /// How large networks are.
    pub load: Load,
    /// Where the blocks of subnets begin.
    pub base: Ipv4Addr,
    /// The nodes that attachments are on.
    pub nodes: Nodes,
    /// So many attachments are made in all.
    pub attachments: usize,
    /// So many who make them, one after the other each.
    pub threads: usize,
    /// So many operations a second; none: all at once.
    pub rate: f64,
    /// How they are spread.
    pub spread: Spread,
    /// Of those that could be tested with frames to another one, this share is. Zero: none is tested at all.
    pub test_fraction: f64,
    /// So long a test waits for a first one of its network that is being tested.
    pub pending_wait: Duration,
    /// So many frames a test sends.
    pub pings: u16,
    /// Makes no more when a frame was not answered.
    pub stop_on_ping_fail: bool,
    /// Makes no more when an attachment says that something is wrong.
    pub stop_on_break: bool,
    /// Deletes none, and looks on for so long when all were made.
    pub wait_after_create: Duration,
    /// Looks on for no longer than so when all were deleted.
    pub wait_after_delete: Duration,
    /// Where the row of numbers begins by which all is chosen.
    pub seed: u64,
    /// What is tested, for whoever reads its numbers.
    pub commit: String,
    /// Where it counts and times what it does.
    pub metrics: DriverMetrics,
}

/// On which nodes attachments are.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Their names.
    pub names: Vec<String>,
    /// In turn, instead of by chance.
    pub in_turn: bool,
}

impl DriveSettings {
    /// As it was always driven: 450 attachments in ten networks, ten operations a second.
    #[must_use]
    pub fn new(run: &str, nodes: Nodes) -> Self {
        Self {
            run: run.into(),
            load: Load { nets: 10, top: 100.0, bias: 0.0, exponent: 1.0, factor: 1.0, single_subnet: false },
            base: Ipv4Addr::new(172, 24, 0, 0),
            nodes,
            attachments: 450,
            threads: 1,
            rate: 10.0,
            spread: Spread::Steady,
            test_fraction: 0.1,
            pending_wait: Duration::from_secs(60),
            pings: 10,
            stop_on_ping_fail: true,
            stop_on_break: true,
            wait_after_create: Duration::ZERO,
            wait_after_delete: Duration::from_secs(15),
            seed: 0,
            commit: "unknown".into(),
            metrics: DriverMetrics::default(),
        }
    }
}
