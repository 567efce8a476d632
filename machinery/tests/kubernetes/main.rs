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
use samples::apps::{App, AppName};
use samples::gate::CrashPoint;
use samples::scenario::play;
use samples::servers::TestServer;
use samples::side_by_side::same_under;

/// Garbage collection runs in real time, so only a sample of the effects is tested.
const EVERY: usize = 5;

#[tokio::test]
async fn a_crash_at_a_sampled_effect_converges_to_the_same_state() {
    let client = client().await;
    let plane = machinery::kube_client(client.clone()).kinds::<(App, AppName)>().start().await.unwrap();
    let place = TestServer::There(client.clone(), ServerProfile::kubernetes());
    for nth in (1..).step_by(EVERY) {
        for side in [CrashPoint::Before, CrashPoint::After] {
            let namespace = namespace(&client, &format!("crash-{nth}-{side:?}").to_lowercase()).await;
            if play((&place, &namespace), Some((nth, side))).await != nth {
                assert!(nth > 30, "{nth}");
                plane.stop().await;
                return;
            }
        }
    }
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
