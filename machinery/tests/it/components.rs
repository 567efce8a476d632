//! Promise 50: components in other processes, with an identity and a kubeconfig each.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use machinery::apiserver::{Identity, Listen};
use machinery::objects::{SourceError, WriteError};
use machinery::{Component, Plane, PlaneError};

use crate::hosts::{Host, Rack, RackSpec, host};

fn controllers() -> Component {
    const ALL: &[&str] = &["get", "list", "watch", "create"];
    Component::user("host-controllers").may(ALL, "example.com", &["hosts"])
}

fn rack(name: &str) -> Rack {
    let mut rack = Rack::new(name, RackSpec {});
    rack.metadata.namespace = Some("default".into());
    rack
}

fn listen(home: &Path) -> Listen {
    Listen {
        kubeconfig: Some(home.join("kubeconfig")),
        ..Listen::at("127.0.0.1:0".parse().unwrap(), home.join("tls"))
    }
}

async fn serve(home: &Path, controllers: Component) -> Result<Plane, PlaneError> {
    let client = (Identity::new("host-controllers"), home.join("controllers.kubeconfig"));
    let builder = machinery::embedded().data(home.join("store")).kinds::<(Host, Rack)>();
    builder.serve(listen(home)).component(controllers, [client]).start().await
}

#[tokio::test]
async fn p50_a_component_has_the_permissions_of_its_role_only() {
    let home = tempfile::tempdir().unwrap();
    let plane = serve(home.path(), controllers()).await.unwrap();
    assert!(plane.access().unwrap().url.starts_with("https://127.0.0.1:"));
    let component = machinery::kubeconfig(home.path().join("controllers.kubeconfig")).start().await.unwrap();
    let hosts = component.writer::<Host>().unwrap();
    hosts.create(&host("a", 7), None).await.unwrap();
    let racks = component.writer::<Rack>().unwrap();
    let denied = racks.create(&rack("7"), None).await.unwrap_err();
    assert!(matches!(denied, WriteError::Source(SourceError::Forbidden { .. })), "{denied:?}");
    let admin = machinery::kubeconfig(home.path().join("kubeconfig")).start().await.unwrap();
    admin.writer::<Rack>().unwrap().create(&rack("7"), None).await.unwrap();
    for plane in [component, admin, plane] {
        assert!(plane.stop().await.unfinished.is_empty());
    }

    // A restart with another role updates it; the kubeconfig stays valid.
    let plane = serve(home.path(), controllers().may(&["create"], "example.com", &["racks"])).await.unwrap();
    let component = machinery::kubeconfig(home.path().join("controllers.kubeconfig")).start().await.unwrap();
    component.writer::<Rack>().unwrap().create(&rack("8"), None).await.unwrap();
    component.stop().await;
    plane.stop().await;
}

#[tokio::test]
async fn p50_mistakes_are_errors_before_anything_is_created() {
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("controllers.kubeconfig");
    let client = || (Identity::new("host-controllers"), kubeconfig.clone());
    let builder = machinery::embedded().kinds::<(Host,)>().component(controllers(), [client()]);
    let error = builder.start().await.unwrap_err();
    assert!(error.to_string().contains("add PlaneBuilder::serve"), "{error}");

    let directory = Listen { kubeconfig: Some(home.path().to_owned()), ..listen(home.path()) };
    let builder = machinery::embedded().data(home.path().join("store")).kinds::<(Host,)>().serve(directory);
    assert!(matches!(builder.start().await, Err(PlaneError::Listen(_))));
    assert!(!home.path().join("store").exists() && !kubeconfig.exists());

    // An address in use stops the server that has just started.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = Listen { address: taken.local_addr().unwrap(), ..listen(home.path()) };
    let error = machinery::embedded().kinds::<(Host,)>().serve(listen).start().await.unwrap_err();
    assert!(error.to_string().contains("cannot listen on"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p50_a_removed_token_is_noticed_and_messages_reach_the_operator() {
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_types, reason = "a test without a loom model")]
    let notices = Arc::new(Mutex::new(Vec::new()));
    let sink = notices.clone();
    let builder = machinery::embedded().kinds::<(Host,)>().serve(listen(home.path()));
    let plane =
        builder.on_notice(move |text| sink.lock().unwrap().push(text.to_owned())).start().await.unwrap();
    let tokens = home.path().join("tls/tokens.csv");
    let valid = std::fs::read(&tokens).unwrap();
    std::fs::write(&tokens, "no token file\n").unwrap();
    // The interval of checks, times ten.
    let refused = async {
        while !notices.lock().unwrap().iter().any(|text: &String| text.contains("not reloaded")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(50), refused).await.unwrap();
    std::fs::write(&tokens, valid).unwrap();
    plane.stop().await;
}
