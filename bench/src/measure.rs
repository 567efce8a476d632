//! Timing, and statistics over rounds.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The figures of one run, by name: `ns`, `cpu_ns`, `per_second`, `bytes`, …
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn with(mut self, name: &str, figure: f64) -> Self {
        self.0.insert(name.to_owned(), figure);
        self
    }

    pub(crate) fn of(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

/// Wall and CPU time of one or more intervals. CPU time is that of the whole process, to include
/// work on other threads.
#[derive(Default)]
pub(crate) struct Lap {
    wall: Duration,
    cpu: Duration,
    started: Option<(Instant, Duration)>,
}

impl Lap {
    /// Starts a lap.
    pub(crate) fn started() -> Self {
        let mut lap = Self::default();
        lap.start();
        lap
    }

    pub(crate) fn start(&mut self) {
        let cpu = cpu_time();
        self.started = Some((Instant::now(), cpu));
    }

    pub(crate) fn stop(&mut self) {
        if let Some((wall, cpu)) = self.started.take() {
            self.wall += wall.elapsed();
            self.cpu += cpu_time().saturating_sub(cpu);
        }
    }

    /// Returns the times per operation.
    pub(crate) fn per(&self, operations: usize) -> Figures {
        let share = |time: Duration| time.as_secs_f64() * 1e9 / count(operations);
        Figures::default().with("ns", share(self.wall)).with("cpu_ns", share(self.cpu))
    }

    pub(crate) fn wall(&self) -> Duration {
        self.wall
    }
}

/// Returns the CPU time of this process.
pub(crate) fn cpu_time() -> Duration {
    cpu_time_of(ClockId::ProcessCPUTime)
}

/// Returns the CPU time of this thread.
pub(crate) fn thread_cpu_time() -> Duration {
    cpu_time_of(ClockId::ThreadCPUTime)
}

fn cpu_time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Converts a count to `f64`.
#[expect(clippy::cast_precision_loss, reason = "counts here stay far below 2^52")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

/// The figures of one subject, one set per round.
#[derive(Default)]
pub(crate) struct Series(Vec<Figures>);

impl Series {
    pub(crate) fn push(&mut self, figures: Figures) {
        self.0.push(figures);
    }

    /// Returns the median, minimum and maximum of a figure over the rounds that have it.
    pub(crate) fn summary(&self, name: &str) -> Option<Summary> {
        let mut values: Vec<f64> = self.0.iter().filter_map(|figures| figures.of(name)).collect();
        values.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (values.first(), values.last()) else { return None };
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Summary { median, least, most })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_rounds_that_have_the_figure() {
        fn check(values: &[f64], expect: Option<(f64, f64, f64)>) {
            let mut series = Series::default();
            series.push(Figures::default().with("other", 7.0));
            values.iter().for_each(|&value| series.push(Figures::default().with("ns", value)));
            let got = series.summary("ns").map(|s| (s.median, s.least, s.most));
            assert_eq!(got, expect);
        }
        check(&[], None);
        check(&[3.0], Some((3.0, 3.0, 3.0)));
        check(&[9.0, 1.0, 2.0], Some((2.0, 1.0, 9.0)));
        check(&[9.0, 1.0, 2.0, 4.0], Some((3.0, 1.0, 9.0)));
    }

    #[test]
    fn a_lap_is_divided_among_its_operations() {
        let lap = Lap { wall: Duration::from_micros(3), cpu: Duration::from_micros(6), started: None };
        assert_eq!(lap.per(3), Figures::default().with("ns", 1000.0).with("cpu_ns", 2000.0));
    }
}
