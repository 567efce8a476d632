//! A registry that keeps the descriptions of its metrics.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::registry::{Metric, Registry};

use crate::Description;

/// Metrics with descriptions: a struct of [`metrics!`](crate::metrics!), or several of them.
pub trait Described {
    /// Registers all metrics with their descriptions.
    fn register(&self, set: &mut MetricSet);
}

/// The metrics of a program: their registry and their descriptions.
#[derive(Default)]
pub struct MetricSet {
    registry: Registry,
    descriptions: Vec<Description>,
}

impl MetricSet {
    /// Adds metrics.
    pub fn add(&mut self, metrics: &impl Described) {
        metrics.register(self);
    }

    /// Adds one metric.
    pub fn register(&mut self, description: Description, metric: impl Metric) {
        let ((name, unit), help) = (description.name_and_unit(), description.help);
        match unit {
            Some(unit) => self.registry.register_with_unit(name, help, unit, metric),
            None => self.registry.register(name, help, metric),
        }
        self.describe([description]);
    }

    /// Adds a collector, and the descriptions of its metrics.
    pub fn collect(
        &mut self,
        collector: impl Collector,
        descriptions: impl IntoIterator<Item = Description>,
    ) {
        self.registry.register_collector(Box::new(collector));
        self.describe(descriptions);
    }

    /// Returns the registry, for metrics without descriptions. They are exposed, and are neither in
    /// the dashboard nor in the table.
    pub const fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Returns the descriptions in the order of their registration, each name once.
    #[must_use]
    pub fn descriptions(&self) -> &[Description] {
        &self.descriptions
    }

    /// Appends the metrics to a page, in the OpenMetrics format without its end mark.
    ///
    /// # Errors
    /// A registered metric fails to encode itself; the page ends there.
    pub fn write(&self, page: &mut String) -> fmt::Result {
        text::encode_registry(page, &self.registry)
    }

    /// Returns the metrics as a page in the OpenMetrics format.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail; an error of a collector ends the page early.
        let _ = self.write(&mut page);
        let _ = text::encode_eof(&mut page);
        page
    }

    fn describe(&mut self, descriptions: impl IntoIterator<Item = Description>) {
        for description in descriptions {
            if self.descriptions.iter().all(|other| other.name != description.name) {
                self.descriptions.push(description);
            }
        }
    }
}

impl fmt::Debug for MetricSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.descriptions.iter().map(|description| description.name)).finish()
    }
}
