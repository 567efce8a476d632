//! Changes of the API's state that reuse addresses and names.

use super::{BY_HAND, SwitchState};
use crate::ovs::cloud::Cloud;
use crate::ovs::requirements::can_run;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_and_nodes_of_attachments_may_change() {
    let Some(_turn) = can_run("networks_and_nodes_of_attachments_may_change") else { return };
    let mut cloud = Cloud::with_attachments().await;
    cloud.delete_subnet("red").await;
    cloud.subnet("red", 73).await;
    cloud.until_all(|status| status.address_vni != 71).await;
    cloud.assert_repaired("a subnet recreated with another VNI", BY_HAND, SwitchState::Closed).await;
    for node in [3, 1] {
        cloud.detach("b2").await;
        cloud.until_gone("b2").await;
        cloud.attach("b2", node, "blue").await;
        cloud.assert_repaired("an attachment recreated on another node", BY_HAND, SwitchState::Closed).await;
    }
    // The addresses of both networks are swapped between names.
    for name in ["r1", "b1"] {
        cloud.detach(name).await;
    }
    for name in ["r1", "b1"] {
        cloud.until_gone(name).await;
    }
    for (name, subnet) in [("r1", "blue"), ("b1", "red")] {
        cloud.attach(name, 1, subnet).await;
    }
    cloud
        .assert_repaired("two attachments recreated in each other's network", BY_HAND, SwitchState::Closed)
        .await;
    cloud.stop().await;
}
