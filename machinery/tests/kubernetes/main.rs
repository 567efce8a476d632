//! The same controllers on Kubernetes, which `cargo xtask kubernetes` starts.
#![cfg(all(feature = "diagnostics", feature = "embedded", feature = "kube", feature = "server"))]
#![allow(clippy::unwrap_used)]

mod cluster;
mod planes;
#[allow(dead_code, reason = "what is for a server in this process")]
#[path = "../samples/mod.rs"]
mod samples;

use cluster::{client, namespace};
use machinery::kube::ServerProfile;
use machinery::testing::CrashPoints;
use samples::apps::{App, AppName};
use samples::scenario::play;
use samples::servers::TestServer;
use samples::side_by_side::same_under;

/// Garbage collection runs in real time, so only a sample of the effects is tested.
const SHARE: u64 = 5;

#[tokio::test]
async fn a_crash_at_a_sampled_effect_converges_to_the_same_state() {
    let client = client().await;
    let plane = machinery::kube_client(client.clone()).kinds::<(App, AppName)>().start().await.unwrap();
    let place = TestServer::There(client.clone(), ServerProfile::kubernetes());
    let report = CrashPoints::one_in(SHARE, 1).run(async |gate| {
        let name = gate.point().map_or("no-crash".into(), |at| at.to_string().replace(' ', "-"));
        let namespace = namespace(&client, &name).await;
        play((&place, &namespace), gate).await;
        Ok(())
    });
    let report = report.await.unwrap();
    assert!(report.effects.len() > 30 && report.crashes >= 5, "{report:?}");
    plane.stop().await;
}

#[tokio::test]
async fn a_controller_and_kube_runtime_converge_to_the_same_state() {
    let client = client().await;
    let plane = machinery::kube_client(client.clone()).kinds::<(App,)>().start().await.unwrap();
    for seed in 1..3 {
        same_under(seed, client.clone(), &TestServer::There(client.clone(), ServerProfile::kubernetes()))
            .await;
    }
    plane.stop().await;
}
