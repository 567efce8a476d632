//! Faults, each followed by equality with the API's state, with the isolation probe running.
//!
//! The fallback timer of the agents never fires: each repair follows a notification.

mod agents;
mod api;
mod by_hand;
mod daemons;

use std::time::Duration;

use super::cloud::Cloud;

/// Promised time until the state is as desired again, after changes of the switch by hand.
const BY_HAND: Duration = Duration::from_secs(2);
/// Promised time after a killed daemon is back.
const DAEMON: Duration = Duration::from_secs(10);
/// A loaded test machine may take longer than promised.
const ALLOWANCE: u32 = 10;

/// Whether a fault itself opens the switch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SwitchState {
    Opened,
    Closed,
}

impl Cloud {
    /// Asserts that the network is as desired within the promised time after a fault, that nothing
    /// leaked, and that the network is steady afterwards.
    async fn assert_repaired(&mut self, fault: &str, promise: Duration, switch: SwitchState) {
        let limit = promise * ALLOWANCE;
        let repaired = self.wait_until_as_desired(fault, limit).await;
        self.probe.wait_for_all_pairs(limit);
        let leaks = self.probe.take_leaks();
        println!("{fault}: as desired after {repaired:.2?} (promised: {promise:?}); {} leaks", leaks.len());
        if switch == SwitchState::Closed {
            assert!(
                leaks.is_empty(),
                "{fault}: frames arrived that must not: {:#?}",
                &leaks[..leaks.len().min(10)]
            );
        }
        self.probe.assert_steady(Duration::from_millis(1500));
        self.probe.assert_isolated(&format!("after the repair of: {fault}"));
    }
}
