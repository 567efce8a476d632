//! Metrics that are declared once: exposition, dashboard and documentation derive from the
//! declaration.
//!
//! [`metrics!`] declares a struct of metric families. [`MetricSet`] registers them and keeps their
//! [`Description`]s, of which [`Dashboard`] makes a Grafana dashboard and [`markdown`] a table.
//! [`SampledFamilies`] declares metrics that are read from a component at each scrape. The metric
//! types are those of prometheus-client.
//!
//! # Promises
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | A metric is exposed with the name, help, unit and labels of its declaration | `p01_…` |
//! | 2 | Each metric has exactly one panel; panels do not overlap, and queries name its labels | `p02_…` |
//! | 3 | The table lists each metric once, with its exposed name, type, unit and labels | `p03_…` |
//! | 4 | Percentiles of [`CALLS`] and [`END_TO_END`] are within a factor of 2.5 of the samples | `p04_…` ¹ |
//! | 5 | Pages are parsed as they are exposed; malformed lines are ignored | `p05_…` |
//!
//! - ¹ From the first positive bound to the last one; below and above, the nearest bound is
//!   returned.
//!
//! # Limits
//!
//! - Label values are strings; an observation allocates them, unless the caller keeps the metric of
//!   [`Family::with`].
//! - Label values create series: the caller bounds their number.
//!
//! # Example
//!
//! ```
//! use machinery_metrics::{CALLS, MetricSet, metrics};
//!
//! metrics! {
//!     /// The metrics of port programming.
//!     pub struct PortMetrics("switch", "Ports") {
//!         /// Duration of calls of the switch
//!         pub calls: seconds("call_duration_seconds", ["operation"], CALLS);
//!         /// Existing ports
//!         pub ports: gauge("ports", []);
//!     }
//! }
//!
//! let metrics = PortMetrics::default();
//! let mut set = MetricSet::default();
//! set.add(&metrics);
//! metrics.calls.observe(["add"], 0.0031);
//! metrics.ports.set([], 17);
//!
//! let page = set.page();
//! assert!(page.contains("switch_call_duration_seconds_count{operation=\"add\"} 1\n"));
//! assert!(page.contains("switch_ports 17\n"));
//! assert_eq!(set.descriptions()[0].help, "Duration of calls of the switch");
//! ```

mod buckets;
#[cfg(feature = "dashboard")]
mod dashboard;
mod declare;
mod description;
mod family;
mod markdown;
mod page;
mod percentiles;
mod sampled;
mod set;

pub use buckets::{CALLS, COUNTS, END_TO_END};
#[cfg(feature = "dashboard")]
pub use dashboard::Dashboard;
#[doc(hidden)]
pub use declare::{count, help, kinds};
pub use description::{Description, MetricShape, Panel, Unit};
pub use family::{AnyMetric, CounterFamily, Family, GaugeFamily, HistogramFamily};
pub use markdown::markdown;
pub use page::{PageHistogram, page_histograms, undeclared_series};
pub use percentiles::{Buckets, SHARES, percentiles_of};
pub use sampled::{Sampled, SampledFamilies, SampledHistogram};
pub use set::{Described, MetricSet};

/// The metric types and the registry, in a compatible version.
pub use prometheus_client;
