//! Reports of repairs, and of interfaces that do not work.

use std::collections::BTreeMap;

use machinery::controllers::{Controller, ItemState};
use machinery::objects::ObjectKey;

use super::setup::{Agent, Inner};
use crate::plan::{AddressKey, Interface};

impl Agent {
    /// Reports each change of the actuator's status. Never returns.
    pub(super) async fn report_status(&self, controller: &Controller<ObjectKey, ObjectKey>) {
        let Inner { fabric, actuator, metrics, have, .. } = &*self.0;
        let (mut changes, mut broken, mut repairs) =
            (actuator.changes(), BTreeMap::<AddressKey, String>::new(), BTreeMap::new());
        loop {
            let status = actuator.status();
            self.set_trouble(status.failure.as_ref().map(ToString::to_string));
            metrics.fabric_repaired(&repairs, &status.repairs);
            metrics.fabric_status(&fabric.status().await, status.broken.len());
            metrics.orphans(status.orphans);
            repairs = status.repairs;
            let now = status.broken.into_iter().map(|(key, one)| (key, one.failure.to_string())).collect();
            let before = std::mem::replace(&mut broken, now);
            if before != broken {
                let is_changed = |interface: &Interface| {
                    let key = interface.key();
                    before.get(&key) != broken.get(&key)
                };
                let changed: Vec<_> = {
                    let have = have.lock();
                    have.iter().filter(|(_, one)| is_changed(one)).map(|(key, _)| key.clone()).collect()
                };
                for key in changed {
                    controller.request(key, &"its interface broke or was repaired").await;
                }
            }
            let _ = changes.changed().await;
        }
    }

    /// Returns the error of an interface that does not work.
    pub(super) fn error_of(&self, interface: &Interface) -> Option<String> {
        match self.0.actuator.state(&interface.key()) {
            Some(ItemState::Broken(failure)) => Some(failure.to_string()),
            _ => None,
        }
    }
}
