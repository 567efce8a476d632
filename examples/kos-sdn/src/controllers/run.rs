//! Both controllers, alone or beside others who would take over.

use std::time::Duration;

use machinery::controllers::Elector;
use machinery::{Plane, Settings};

use super::ipam::{Giving, Ipam};
use super::validator::Validating;
use crate::metrics::Metrics;

/// What controllers may take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerSettings {
    /// So many attachments may wait for an address. Whoever comes after them looks again from time to time.
    pub waiters: usize,
    /// So many addresses are tried in one run, if others are always faster.
    pub tries: usize,
    /// Where the row of numbers begins by which addresses are chosen.
    pub seed: u64,
    /// So many attachments are worked on at once.
    pub ipam_workers: usize,
    /// So many subnets are.
    pub validator_workers: usize,
    /// A node that has said nothing of an attachment for so long after it has an address, or for twice as long, does not answer.
    pub patience: Duration,
    /// Where they count and time what they do.
    pub metrics: Metrics,
}

impl Default for ControllerSettings {
    fn default() -> Self {
        Self {
            waiters: 1 << 20,
            tries: 16,
            seed: 0,
            ipam_workers: 8,
            validator_workers: 4,
            patience: Duration::from_secs(30),
            metrics: Metrics::default(),
        }
    }
}

/// Both, running.
#[derive(Clone)]
pub struct Controllers {
    /// The one that gives addresses.
    pub ipam: Ipam,
}

/// Runs both for as long as the plane runs. They say what the informers of subnets and attachments have, so this comes before anybody reads them.
///
/// # Errors
/// The plane has stopped, has them already, or somebody reads subnets or attachments already.
pub fn run(plane: &Plane, settings: ControllerSettings) -> machinery::Result<Controllers> {
    let (giving, validating) = parts(plane, &settings)?;
    let (ipam, validator) = (giving.reconcile.clone(), validating.reconcile.clone());
    plane.spawn(async move { giving.controller.run(ipam).await.map(drop) });
    plane.spawn(async move { validating.controller.run(validator).await.map(drop) });
    Ok(Controllers { ipam: giving.reconcile })
}

/// Runs both while a candidate leads, for as long as the plane runs; caches stay warm between terms. What they write rests on the Lease, where
/// the server holds such things.
///
/// # Errors
/// As [`run`].
pub fn lead(
    plane: &Plane,
    settings: ControllerSettings,
    elector: &Elector,
) -> machinery::Result<Controllers> {
    let (giving, validating) = parts(plane, &settings)?;
    let (ipam, validator) = (giving.reconcile.clone(), validating.reconcile.clone());
    let controllers = Controllers { ipam: ipam.clone() };
    let led = [
        giving.controller.led(move |term| ipam.in_term(term)),
        validating.controller.led(move |term| validator.in_term(term)),
    ];
    let leading = plane.lead(elector, led);
    plane.spawn(async { leading.await.map(drop) });
    Ok(controllers)
}

fn parts(plane: &Plane, settings: &ControllerSettings) -> machinery::Result<(Giving, Validating)> {
    let recorder = plane.recorder("kos-controllers");
    let giving = Giving::new(plane, &recorder, settings)?;
    Ok((giving, Validating::new(plane, &recorder, settings)?))
}

pub(super) fn with_workers(workers: usize) -> Settings {
    Settings { workers, ..Settings::default() }
}
