//! The flows that the data path caches.

use crate::drive::FabricRepairs;
use crate::drive::ovs::control::Control;

/// Empties the cache of the data path after a repair of flows.
///
/// Open vSwitch 3.1 modifies cached flows in place, and can leave one that drops the frames of a
/// tunnel although the flows of the bridge are back: as long as frames arrive, it stays. An empty
/// cache is filled by the next frames.
pub(super) async fn purge_after(repairs: &FabricRepairs, control: &dyn Control) {
    if repairs.missing_flows + repairs.foreign_flows == 0 {
        return;
    }
    if let Err(error) = control.call("revalidator/purge", &[]).await {
        tracing::debug!(%error, "the cache of the data path was not emptied");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ovs::control::FakeControl;
    use machinery::tokio;

    #[tokio::test(crate = "machinery::tokio")]
    async fn the_cache_is_emptied_after_repairs_of_flows_only() {
        let control = FakeControl::new();
        purge_after(&FabricRepairs { links: 1, ..FabricRepairs::default() }, &control).await;
        assert!(control.calls().is_empty());
        purge_after(&FabricRepairs { missing_flows: 1, ..FabricRepairs::default() }, &control).await;
        assert_eq!(control.calls(), [vec!["revalidator/purge"]]);
    }
}
