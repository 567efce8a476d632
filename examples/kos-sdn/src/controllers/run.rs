//! Running both controllers, alone or under leader election.

use std::time::Duration;

use machinery::controllers::Elector;
use machinery::{Plane, Settings};

use super::ipam::{Ipam, IpamController};
use super::validator::ValidatorController;
use crate::metrics::Metrics;

/// The settings of the controllers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerSettings {
    /// Maximum number of waiting attachments; more retry periodically.
    pub waiters: usize,
    /// Maximum number of claims per run, if other controllers keep winning.
    pub tries: usize,
    /// Seed of address allocation.
    pub seed: u64,
    /// Number of IPAM workers.
    pub ipam_workers: usize,
    /// Number of validator workers.
    pub validator_workers: usize,
    /// Time after which a node that does not respond to an attachment is reported.
    pub silence_timeout: Duration,
    /// Metrics of the controllers.
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
            silence_timeout: Duration::from_secs(30),
            metrics: Metrics::default(),
        }
    }
}

/// The running controllers.
#[derive(Clone)]
pub struct Controllers {
    /// The IPAM controller.
    pub ipam: Ipam,
}

/// Runs both until the plane stops. Call it before any other reader of subnets or attachments: it
/// declares the indexes of their informers.
///
/// # Errors
/// The plane has stopped, runs them already, or has other readers of subnets or attachments.
pub fn run(plane: &Plane, settings: ControllerSettings) -> machinery::Result<Controllers> {
    let (ipam_controller, validator_controller) = build_controllers(plane, &settings)?;
    let (ipam, validator) = (ipam_controller.reconcile.clone(), validator_controller.reconcile.clone());
    plane.spawn(async move { ipam_controller.controller.run(ipam).await.map(drop) });
    plane.spawn(async move { validator_controller.controller.run(validator).await.map(drop) });
    Ok(Controllers { ipam: ipam_controller.reconcile })
}

/// Runs both while a candidate leads, until the plane stops; caches stay warm between terms. Writes
/// are fenced by the Lease if the server supports fences.
///
/// # Errors
/// As [`run`].
pub fn lead(
    plane: &Plane,
    settings: ControllerSettings,
    elector: &Elector,
) -> machinery::Result<Controllers> {
    let (ipam_controller, validator_controller) = build_controllers(plane, &settings)?;
    let (ipam, validator) = (ipam_controller.reconcile.clone(), validator_controller.reconcile.clone());
    let controllers = Controllers { ipam: ipam.clone() };
    let led = [
        ipam_controller.controller.led(move |term| ipam.in_term(term)),
        validator_controller.controller.led(move |term| validator.in_term(term)),
    ];
    let leading = plane.lead(elector, led);
    plane.spawn(async { leading.await.map(drop) });
    Ok(controllers)
}

fn build_controllers(
    plane: &Plane,
    settings: &ControllerSettings,
) -> machinery::Result<(IpamController, ValidatorController)> {
    let recorder = plane.recorder("kos-controllers");
    let ipam_controller = IpamController::new(plane, &recorder, settings)?;
    Ok((ipam_controller, ValidatorController::new(plane, &recorder, settings)?))
}

pub(super) fn with_workers(workers: usize) -> Settings {
    Settings { workers, ..Settings::default() }
}
