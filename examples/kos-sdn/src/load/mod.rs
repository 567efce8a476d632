//! The load generator: creates and deletes attachments by a precomputed plan, tests their
//! connectivity with probes, and measures latencies.

mod connectivity;
mod directory;
mod metrics_page;
mod objects;
mod operations;
mod percentiles;
mod record;
mod run;
mod schedule;
mod settings;
mod shape;
mod tracker;

pub use directory::{RunDirectory, read_records};
pub use metrics_page::parse_latencies;
pub use operations::{Operation, operations};
pub use percentiles::{LatencyRow, sample_percentiles};
pub use record::{AttachmentRecord, TestResult, record_rows};
pub use run::{LoadOutcome, run_load};
pub use schedule::{Pacing, due_times, number_of, thread_of};
pub use settings::{LoadSettings, NodeSelection};
pub use shape::{LoadShape, NetworkSize, PlannedSubnet, vni_of};
