//! Detection of silent owners.

use std::time::Duration;

use machinery_controllers::{Awaiting, Owner, SilenceDetector};

use super::handle::Plane;
use super::kinds::ObjectType;
use super::objects::Objects;
use crate::Error;

impl Plane {
    /// Returns a detector of owners that do not respond to their objects for a timeout, registered
    /// under a name for metrics and diagnostics. It checks when a controller
    /// [uses it](super::PlaneController::on_silence).
    ///
    /// # Errors
    /// The timeout is too short, or another detector has the name.
    pub fn silence<K: ObjectType, O: Owner>(
        &self,
        name: &str,
        objects: &Objects<K>,
        awaiting: Awaiting<K, O>,
        timeout: Duration,
    ) -> Result<SilenceDetector<K, O>, Error> {
        let detector = SilenceDetector::new(objects.informer(), awaiting, timeout)?;
        self.registry().silence(name, &detector)?;
        Ok(detector)
    }
}
