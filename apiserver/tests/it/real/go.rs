//! client-go, in typical use by controllers.

use std::path::Path;

use super::{Plane, script, tools};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/go");

#[tokio::test(flavor = "multi_thread")]
async fn client_go_works_unmodified() {
    let program = tokio::task::spawn_blocking(|| tools::go(Path::new(SOURCE))).await.unwrap();
    if let Some(program) = program {
        script::run(Plane::start().await, &program, &[], &[]).await;
    }
}
