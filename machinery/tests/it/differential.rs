//! The same reconciler under kube-runtime and under this crate, side by side on one server: both
//! converge to the same state.

use crate::samples::apps::App;
use crate::samples::servers::TestServer;
use crate::samples::side_by_side::same_under;
use machinery::apiserver::{ApiServer, Identity, KindOf};
use machinery::kube::kube_client::Client;
use machinery::store::{Memory, Options};
use std::sync::Arc;

const SEEDS: std::ops::Range<u64> = 1..9;

#[tokio::test]
async fn a_controller_and_kube_runtime_converge_to_the_same_state() {
    for seed in SEEDS {
        let server = ApiServer::builder(Memory::new(Options::default()));
        let server = Arc::new(server.kind(KindOf::<App>::new()).start().await.unwrap());
        let client = Client::new(server.service(Identity::admin()), "default");
        same_under(seed, client, &TestServer::Here(server.clone())).await;
        server.stop().await;
    }
}
