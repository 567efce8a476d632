//! The memory of the server over the run.

use std::fmt;

use anyhow::{Context, ensure};

/// The factor by which the last quarter of a run may be above the second one.
const GROWTH: f64 = 1.2;
/// Growth that is no defect: the garbage of a moment.
const NOISE_MIB: f64 = 16.0;

/// Samples of resident memory, in MiB.
#[derive(Default)]
pub(super) struct Memory(Vec<f64>);

impl Memory {
    /// Takes a sample.
    pub(super) fn sample(&mut self, pid: u32) -> anyhow::Result<()> {
        let path = format!("/proc/{pid}/status");
        let status =
            std::fs::read_to_string(&path).with_context(|| format!("the server has ended: no {path}"))?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = kilobytes.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        self.0.push(kilobytes.context("/proc/PID/status has no VmRSS")? / 1024.0);
        Ok(())
    }

    /// Fails if memory grows. The first quarter warms up.
    pub(super) fn judge(&self) -> anyhow::Result<()> {
        let quarter = self.0.len() / 4;
        ensure!(quarter > 0, "there are only {} samples: run longer", self.0.len());
        let early = median(&self.0[quarter..2 * quarter]);
        let late = median(&self.0[self.0.len() - quarter..]);
        ensure!(late <= early * GROWTH + NOISE_MIB, "memory has grown from {early:.0} to {late:.0} MiB");
        Ok(())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} MiB of memory", self.0.last().copied().unwrap_or_default())
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_after_the_first_quarter_is_a_defect() {
        let check =
            |samples: &[f64], expected: bool| assert_eq!(Memory(samples.to_vec()).judge().is_ok(), expected);
        check(&[10.0, 100.0, 100.0, 100.0, 105.0, 95.0, 100.0, 101.0], true);
        check(&[10.0, 100.0, 100.0, 100.0, 180.0, 195.0, 200.0, 201.0], false);
        check(&[10.0, 100.0, 100.0, 100.0, 110.0, 115.0, 120.0, 130.0], true);
        check(&[10.0], false);
    }
}
