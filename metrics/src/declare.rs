//! The macro that declares metrics.

/// Declares a struct of metric families: `pub struct Name("prefix", "row of the dashboard")`. It
/// implements `Default`, `Clone` and [`Described`](crate::Described).
///
/// A field is `name: kind("name of the metric", ["label", …]) in "panel";`. Its documentation is
/// the help text. Kinds are `counter`, `gauge`, `flag` (a gauge of 0 or 1), `bytes` (a gauge), and
/// the histograms `seconds` and `sizes`, which have their bounds as a further argument. Without
/// `in`, the metric has a panel of its own.
///
/// ```
/// machinery_metrics::metrics! {
///     /// The metrics of a pump.
///     #[derive(PartialEq)]
///     struct Nothing("pump", "Pumps") {}
/// }
/// assert_eq!(Nothing::default(), Nothing {});
/// ```
#[macro_export]
macro_rules! metrics {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident($prefix:literal, $row:literal) {
            $(
                $(#[doc = $help:literal])+
                $field_vis:vis $field:ident:
                    $kind:ident($name:literal, [$($label:literal),* $(,)?] $(, $bounds:expr)? $(,)?)
                    $(in $panel:literal)?;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $Name {
            $(
                $(#[doc = $help])+
                $field_vis $field: $crate::kinds::$kind<{ $crate::count(&[$($label),*]) }>,
            )*
        }

        impl ::std::default::Default for $Name {
            fn default() -> Self {
                Self {
                    $(
                        $field: $crate::kinds::$kind(
                            concat!($prefix, "_", $name),
                            $crate::help(concat!($($help),+)),
                            &[$($label),*],
                            $crate::Panel { row: $row, title: concat!($($panel)?) },
                            $($bounds)?
                        ),
                    )*
                }
            }
        }

        impl $crate::Described for $Name {
            fn register(&self, set: &mut $crate::MetricSet) {
                let _ = &set;
                $(set.register(*self.$field.description(), self.$field.to_metric());)*
            }
        }
    };
}

/// Returns the number of labels.
#[doc(hidden)]
#[must_use]
pub const fn count(labels: &[&str]) -> usize {
    labels.len()
}

/// Returns the help text of a doc comment: without the space in front and the full stop at the end,
/// which the exposition adds.
#[doc(hidden)]
#[must_use]
pub const fn help(comment: &'static str) -> &'static str {
    let text = comment.trim_ascii();
    match text.as_bytes() {
        [rest @ .., b'.'] => match str::from_utf8(rest) {
            Ok(text) => text,
            Err(_) => text,
        },
        _ => text,
    }
}

/// The kinds of metrics: a type and a constructor of each name.
#[doc(hidden)]
#[allow(non_camel_case_types, missing_docs, reason = "the words of the macro")]
pub mod kinds {
    use crate::{CounterFamily, Description, GaugeFamily, HistogramFamily, Panel, Unit};

    pub type counter<const N: usize> = CounterFamily<N>;
    pub type gauge<const N: usize> = GaugeFamily<N>;
    pub type flag<const N: usize> = GaugeFamily<N>;
    pub type bytes<const N: usize> = GaugeFamily<N>;
    pub type seconds<const N: usize> = HistogramFamily<N>;
    pub type sizes<const N: usize> = HistogramFamily<N>;

    type Text = &'static str;
    type Labels<const N: usize> = &'static [Text; N];

    #[must_use]
    pub fn counter<const N: usize>(name: Text, help: Text, labels: Labels<N>, panel: Panel) -> counter<N> {
        CounterFamily::counter(described(Description::counter(name, help), labels, panel))
    }

    #[must_use]
    pub fn gauge<const N: usize>(name: Text, help: Text, labels: Labels<N>, panel: Panel) -> gauge<N> {
        GaugeFamily::gauge(described(Description::gauge(name, help), labels, panel))
    }

    #[must_use]
    pub fn flag<const N: usize>(name: Text, help: Text, labels: Labels<N>, panel: Panel) -> flag<N> {
        GaugeFamily::gauge(described(Description::gauge(name, help).unit(Unit::Flag), labels, panel))
    }

    #[must_use]
    pub fn bytes<const N: usize>(name: Text, help: Text, labels: Labels<N>, panel: Panel) -> bytes<N> {
        GaugeFamily::gauge(described(Description::gauge(name, help).unit(Unit::Bytes), labels, panel))
    }

    #[must_use]
    pub fn seconds<const N: usize>(
        name: Text,
        help: Text,
        labels: Labels<N>,
        panel: Panel,
        bounds: &'static [f64],
    ) -> seconds<N> {
        HistogramFamily::histogram(described(Description::seconds(name, help, bounds), labels, panel))
    }

    #[must_use]
    pub fn sizes<const N: usize>(
        name: Text,
        help: Text,
        labels: Labels<N>,
        panel: Panel,
        bounds: &'static [f64],
    ) -> sizes<N> {
        HistogramFamily::histogram(described(Description::sizes(name, help, bounds), labels, panel))
    }

    const fn described(description: Description, labels: &'static [Text], panel: Panel) -> Description {
        description.labels(labels).row(panel.row).titled(panel.title)
    }
}

#[cfg(test)]
mod tests {
    use super::help;
    use crate::{CALLS, Described, Description, MetricSet, Unit};

    metrics! {
        /// The metrics of a pump.
        struct PumpMetrics("pump", "Pumps") {
            /// Duration of strokes,
            /// in two lines.
            stroke: seconds("stroke_seconds", ["pump", "valve"], CALLS) in "Strokes";
            /// Strokes
            strokes: counter("strokes", ["pump"]) in "Strokes";
            /// Whether it runs
            running: flag("running", []);
        }
    }

    #[test]
    fn p01_metrics_are_exposed_as_declared() {
        let metrics = PumpMetrics::default();
        let mut set = MetricSet::default();
        set.add(&metrics);
        metrics.stroke.observe(["a", "b\"\n"], 0.003);
        metrics.strokes.add(["a"], 2);
        metrics.running.set([], 1);
        let page = set.page();
        for line in [
            "# HELP pump_stroke_seconds Duration of strokes, in two lines.\n",
            "# TYPE pump_stroke_seconds histogram\n",
            "# UNIT pump_stroke_seconds seconds\n",
            "pump_stroke_seconds_sum{pump=\"a\",valve=\"b\\\"\\n\"} 0.003\n",
            "# HELP pump_strokes Strokes.\n",
            "pump_strokes_total{pump=\"a\"} 2\n",
            "pump_running 1\n",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(page.ends_with("# EOF\n"));
        let [stroke, strokes, running] = set.descriptions() else { panic!("three metrics") };
        assert_eq!((stroke.labels, stroke.unit), (&["pump", "valve"][..], Unit::Seconds));
        assert_eq!((strokes.panel.row, strokes.panel.title), ("Pumps", "Strokes"));
        assert_eq!((running.panel.title, running.unit), ("", Unit::Flag));
    }

    #[test]
    fn p01_clones_share_their_metrics() {
        let metrics = PumpMetrics::default();
        metrics.clone().strokes.count(["a"]);
        assert_eq!(metrics.strokes.with(["a"]).get(), 1);
    }

    #[test]
    fn p01_a_name_that_does_not_end_in_its_unit_is_kept() {
        let mut set = MetricSet::default();
        let description = Description::seconds("run_secs", "Runs", CALLS);
        set.register(description, prometheus_client::metrics::histogram::Histogram::new([1.0]));
        assert!(set.page().contains("# TYPE run_secs histogram\nrun_secs_sum"), "{}", set.page());
    }

    #[test]
    fn p01_help_has_no_full_stop_of_its_own() {
        assert_eq!((help(" A stroke. "), help("A stroke"), help("")), ("A stroke", "A stroke", ""));
    }

    #[test]
    fn p01_a_metric_that_is_added_twice_is_described_once() {
        let mut set = MetricSet::default();
        set.add(&PumpMetrics::default());
        PumpMetrics::default().register(&mut set);
        assert_eq!(set.descriptions().len(), 3);
    }
}
