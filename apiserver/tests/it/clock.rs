//! A wrong clock: one that jumps for seconds, and one before 1970.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use machinery_apiserver::{Access, ApiServer, Listen, ListenError};
use machinery_store::{Memory, Options};
use serde_json::json;

use crate::client::{Client, definition};
use crate::tls;

const YEAR: i64 = 365 * 24 * 3600;

/// A wall clock that a test moves: seconds ahead of the real one.
#[derive(Clone, Default)]
struct TestWallClock(Arc<AtomicI64>);

impl TestWallClock {
    fn jump(&self, seconds: i64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    async fn server(&self) -> ApiServer {
        let ahead = self.0.clone();
        let now = move || {
            let seconds = Timestamp::now().as_second() + ahead.load(Ordering::Relaxed);
            Timestamp::from_second(seconds).unwrap()
        };
        ApiServer::builder(Memory::new(Options::default())).rbac().clock(now).start().await.unwrap()
    }
}

fn at(home: &Path) -> Listen {
    Listen::at("127.0.0.1:0".parse().unwrap(), home.join("pki"))
}

/// Whether a client with a kubeconfig of this authority can connect, by the real clock.
async fn connects(access: &Access, ca: &str) {
    tls::connect(access.address, ca, "h2", None).await.unwrap_or_else(|error| panic!("locked out: {error}"));
}

/// Story: a time source was wrong for seconds. The server renewed its certificates for the year
/// after, and kubectl was locked out, also after a restart.
#[tokio::test]
async fn a_clock_that_jumps_a_year_ahead_for_seconds_renews_no_certificate() {
    let (home, clock) = (tempfile::tempdir().unwrap(), TestWallClock::default());
    let server = clock.server().await;
    let access = server.listen(at(home.path())).await.unwrap();
    let ca = access.ca.clone().unwrap();
    connects(&access, &ca).await;
    clock.jump(YEAR);
    assert!(!access.is_outdated(), "no day has passed");
    let reloaded = access.reload();
    assert_eq!((reloaded.notes, reloaded.refused), (vec![], vec![]));
    connects(&access, &ca).await;
    clock.jump(0);
    assert!(!access.is_outdated());
    connects(&access, &ca).await;
    server.stop().await;

    for ahead in [0, YEAR, 0] {
        clock.jump(ahead);
        let server = clock.server().await;
        let access = server.listen(at(home.path())).await.unwrap();
        connects(&access, &ca).await;
        connects(&access, access.ca.as_ref().unwrap()).await;
        server.stop().await;
    }
}

/// Certificates of an earlier version, which were issued in the future, and a server with a clock
/// that is right again.
#[tokio::test]
async fn certificates_of_the_future_are_replaced_at_the_start() {
    let (home, clock) = (tempfile::tempdir().unwrap(), TestWallClock::default());
    clock.jump(3 * YEAR);
    let server = clock.server().await;
    let ca = server.listen(at(home.path())).await.unwrap().ca.unwrap();
    server.stop().await;
    clock.jump(0);
    let server = clock.server().await;
    let access = server.listen(at(home.path())).await.unwrap();
    assert_ne!(access.ca.as_ref(), Some(&ca));
    connects(&access, access.ca.as_ref().unwrap()).await;
    server.stop().await;
}

#[tokio::test]
async fn a_clock_before_1970_is_refused_and_does_not_panic() {
    let (home, clock) = (tempfile::tempdir().unwrap(), TestWallClock::default());
    clock.jump(-60 * YEAR - Timestamp::now().as_second() % YEAR);
    let server = clock.server().await;
    // Without a socket it works: objects have times before 1970.
    let client = Client::of(&server);
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "early"}})).await.fine();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(crds, &definition()).await.fine();
    let made = client.get("/api/v1/namespaces/early").await.fine();
    assert!(made["metadata"]["creationTimestamp"].as_str().unwrap().starts_with("19"), "{made}");
    let error = server.listen(at(home.path())).await.unwrap_err();
    assert!(matches!(error, ListenError::Clock { .. }), "{error}");
    assert!(error.to_string().contains("before 1970; set it"), "{error}");
    assert!(!home.path().join("pki").exists());
    server.stop().await;
}
