//! A controller is crashed before and after each of its effects and restarted: it converges to the
//! same state, and then stops writing.

use crate::samples::apps::{Adopts, App, AppName};
use crate::samples::scenario::{STEPS, ScenarioRun, play};
use crate::samples::servers::TestServer;
use machinery::apiserver::{ApiServer, Identity, KindOf};
use machinery::kube::ServerProfile;
use machinery::kube::kube_client::Client;
use machinery::objects::Object;
use machinery::store::{Memory, Options};
use machinery::testing::{CrashGate, CrashPoints};
use std::sync::Arc;

async fn server() -> Arc<ApiServer> {
    let server = ApiServer::builder(Memory::new(Options::default()));
    let server = server.kind(KindOf::<App>::new()).kind(KindOf::<AppName>::new());
    Arc::new(server.start().await.unwrap())
}

async fn play_here(gate: Arc<CrashGate>) -> machinery::Result {
    let server = server().await;
    play((&TestServer::Here(server.clone()), "default"), gate).await;
    server.stop().await;
    Ok(())
}

async fn play_over_the_wire(gate: Arc<CrashGate>) -> machinery::Result {
    let server = server().await;
    let client = Client::new(server.service(Identity::admin()), "default");
    play((&TestServer::There(client, ServerProfile::machinery()), "default"), gate).await;
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_effect_converges_to_the_same_state() {
    let report = CrashPoints::all().run(play_here).await.unwrap();
    assert!(report.effects.len() > 30 && report.crashes >= 2 * 30, "{report:?}");
}

/// Checks the test itself: it detects a controller that adopts foreign objects.
#[tokio::test]
async fn the_scenario_detects_adoption_by_name() {
    let by_its_name: Adopts = |app, map| map.key().name().starts_with(&format!("{}-", app.key().name()));
    let by_its_owners_name: Adopts =
        |app, map| map.owners().iter().any(|owner| owner.controller && *owner.name == *app.key().name());
    for (adopts, step, comes_to) in [
        (by_its_name, 6, "a is x with 1; a-0 of a is x; outside a is x; x of a"),
        (
            by_its_owners_name,
            10,
            "a is y with 2; a-0 of a stranger is y; a-1 of a is y; outside a is y; y of a",
        ),
    ] {
        let server = server().await;
        let on = (&TestServer::Here(server.clone()), "default");
        let mut world = ScenarioRun::new(on, adopts, CrashGate::open()).await;
        for (acts, expected) in &STEPS[..step] {
            world.does(acts, expected, "it is right until then").await;
        }
        assert_ne!(comes_to, STEPS[step].1);
        world.does(STEPS[step].0, comes_to, "it is wrong").await;
        world.stop().await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_crash_over_the_wire_converges_to_the_same_state() {
    let report = CrashPoints::one_in(10, 3).run(play_over_the_wire).await.unwrap();
    assert!(report.effects.len() > 30 && report.crashes >= 3, "{report:?}");
}
