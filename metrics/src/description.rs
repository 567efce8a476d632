//! Descriptions of metrics.

/// The declaration of a metric, from which exposition, dashboard and documentation derive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Full name, without the `_total` of a counter and the `_info` of an info.
    pub name: &'static str,
    /// Help text, one sentence without a full stop.
    pub help: &'static str,
    /// Type and buckets.
    pub shape: MetricShape,
    /// Unit of the values.
    pub unit: Unit,
    /// Label names.
    pub labels: &'static [&'static str],
    /// Place in a dashboard.
    pub panel: Panel,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricShape {
    /// A counter, shown as its rate.
    Counter,
    /// A gauge.
    Gauge,
    /// Constant facts, as labels of a metric with the value 1.
    Info,
    /// A histogram with these bounds, shown as percentiles.
    Histogram(&'static [f64]),
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// True or false, as 1 or 0.
    Flag,
}

/// The place of a metric in a dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Title of the row, below which the panel stands.
    pub row: &'static str,
    /// Title of the panel, shared by metrics of one row and one unit; empty for a panel of the
    /// metric alone, titled with its name.
    pub title: &'static str,
}

impl Description {
    const fn new(name: &'static str, help: &'static str, shape: MetricShape, unit: Unit) -> Self {
        Self { name, help, shape, unit, labels: &[], panel: Panel { row: "Others", title: "" } }
    }

    /// Returns the description of a counter.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricShape::Counter, Unit::Count)
    }

    /// Returns the description of a gauge.
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricShape::Gauge, Unit::Count)
    }

    /// Returns the description of a histogram of seconds.
    #[must_use]
    pub const fn seconds(name: &'static str, help: &'static str, bounds: &'static [f64]) -> Self {
        Self::new(name, help, MetricShape::Histogram(bounds), Unit::Seconds)
    }

    /// Returns the description of a histogram of numbers.
    #[must_use]
    pub const fn sizes(name: &'static str, help: &'static str, bounds: &'static [f64]) -> Self {
        Self::new(name, help, MetricShape::Histogram(bounds), Unit::Count)
    }

    /// Returns the description of constant facts, exposed as labels of a metric with the value 1.
    #[must_use]
    pub const fn info(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricShape::Info, Unit::Flag)
    }

    /// Sets the unit.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Sets the label names.
    #[must_use]
    pub const fn labels(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    /// Sets the row of the panel.
    #[must_use]
    pub const fn row(self, row: &'static str) -> Self {
        Self { panel: Panel { row, ..self.panel }, ..self }
    }

    /// Sets the title of the panel.
    #[must_use]
    pub const fn titled(self, title: &'static str) -> Self {
        Self { panel: Panel { title, ..self.panel }, ..self }
    }

    /// Returns the name on the page: that of a counter ends in `_total`, that of an info in
    /// `_info`.
    #[must_use]
    pub fn exposed_name(&self) -> String {
        let end = match self.shape {
            MetricShape::Counter => "_total",
            MetricShape::Info => "_info",
            MetricShape::Gauge | MetricShape::Histogram(_) => "",
        };
        format!("{}{end}", self.name)
    }

    /// Returns the name without its unit, and the unit that prometheus-client appends to it. A name
    /// that does not end in its unit is exposed as it is.
    pub(crate) fn name_and_unit(&self) -> (&'static str, Option<prometheus_client::registry::Unit>) {
        use prometheus_client::registry::Unit as ExposedUnit;
        let (end, unit) = match self.unit {
            Unit::Seconds => ("_seconds", ExposedUnit::Seconds),
            Unit::Bytes => ("_bytes", ExposedUnit::Bytes),
            Unit::Count | Unit::Flag => return (self.name, None),
        };
        self.name.strip_suffix(end).map_or((self.name, None), |name| (name, Some(unit)))
    }
}
