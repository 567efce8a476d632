//! Promise 28 on a server: in-process, over the wire, and with the capabilities of plain
//! Kubernetes.

use crate::fixture::{Fixture, controlled, next};
use crate::spans::{noted, noting};
use bytes::Bytes;
use http_body_util::Full;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ObjectMeta;
use machinery_apiserver::{ApiServer, Identity};
use machinery_controllers::{Controller, Next, Run};
use machinery_informers::Informer;
use machinery_kube::kube_client::Client;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{
    Kind, ListWatch, Object, ObjectKey, Preconditions, SpanIds, Traceparent, WriteError, Writer, traced,
};
use machinery_store::{Memory, Options};
use std::sync::Arc;
use tower_service::Service;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Transport {
    InProcess,
    Wire,
    AnyKubernetes,
}

const ROADS: [Transport; 3] = [Transport::InProcess, Transport::Wire, Transport::AnyKubernetes];

struct TraceFixture {
    stage: Fixture,
    server: ApiServer,
    maps: Informer<ConfigMap>,
    writer: Arc<dyn Writer<ConfigMap>>,
}

impl TraceFixture {
    async fn on(road: Transport) -> Self {
        let (stage, server) =
            (Fixture::new(), ApiServer::builder(Memory::new(Options::default())).start().await.unwrap());
        let kind = Kind::of::<ConfigMap>().unwrap();
        let (maps, writer): (_, Arc<dyn Writer<ConfigMap>>) = match road {
            Transport::InProcess => {
                let handle = server.handle::<ConfigMap>(Identity::admin());
                let source: Arc<dyn ListWatch<Arc<ConfigMap>>> = Arc::new(handle.clone());
                (Informer::builder(source).build(), Arc::new(handle))
            }
            _ => {
                let client = Client::new(server.service(Identity::admin()), "default");
                let machinery = road == Transport::Wire;
                let remote = Remote::<ConfigMap>::new(
                    client,
                    kind,
                    ServerProfile { machinery, ..ServerProfile::kubernetes() },
                );
                let source: Arc<dyn ListWatch<ConfigMap>> = Arc::new(remote.clone());
                (Informer::builder(source).build(), Arc::new(remote))
            }
        };
        stage.tasks.spawn(maps.run(stage.stopping.clone()));
        Self { stage, server, maps, writer }
    }

    /// Creates an object by a raw request with a traceparent header.
    async fn post(&self, name: &str, trace: Traceparent) {
        let body = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"x": "0"}}}}"#
        );
        let request = http::Request::post("/api/v1/namespaces/default/configmaps")
            .header("content-type", "application/json")
            .header("traceparent", trace.to_string())
            .body(Full::<Bytes>::from(body))
            .unwrap();
        let answer = self.server.service(Identity::admin()).call(request).await.unwrap();
        assert_eq!(answer.status(), 201);
    }
}

fn map(name: &str) -> ConfigMap {
    let metadata =
        ObjectMeta { namespace: Some("default".into()), name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

#[tokio::test]
async fn p28_a_write_its_run_and_the_writes_of_that_run_share_one_trace() {
    noting();
    for road in ROADS {
        let rig = TraceFixture::on(road).await;
        let (says, mut runs) = tokio::sync::mpsc::unbounded_channel();
        let writer = rig.writer.clone();
        let reconcile = move |of: Arc<ConfigMap>, run: Run| {
            let (says, writer) = (says.clone(), writer.clone());
            async move {
                if of.key() == key("a") {
                    let made = writer.create(&map("child"), None).await?.object;
                    says.send((run.traceparent().unwrap(), made)).unwrap();
                }
                Ok::<_, WriteError>(Next::Done)
            }
        };
        let controller = Controller::of("maps", &rig.maps).build().unwrap();
        rig.stage.run(&controller, reconcile, &rig.stage.stopping);

        let client = SpanIds::seeded(1).root();
        noted();
        rig.post("a", client).await;
        let (run, child) = runs.recv().await.unwrap();
        assert_eq!((run.trace(), run == client), (client.trace(), false), "{road:?}");
        assert_eq!(child.traceparent(), Some(run), "{road:?}");
        let said = noted();
        assert!(said.contains(&format!("then trace_id={}", client.trace())), "{road:?}: {said:?}");
        assert!(said.contains(&format!("then span_id={}", run.span())), "{road:?}: {said:?}");
        assert!(said.contains(&format!("then parent_id={}", client.span())), "{road:?}: {said:?}");
        rig.stage.stopping.cancel();
        rig.server.stop().await;
    }
}

#[tokio::test]
async fn p28_converged_controllers_stop_writing() {
    noting();
    for road in ROADS {
        let rig = TraceFixture::on(road).await;
        let mut all = Vec::new();
        for name in ["one", "other"] {
            let (reconcile, started) = controlled::<Arc<ConfigMap>>();
            let controller = Controller::of(name, &rig.maps).build().unwrap();
            rig.stage.run(&controller, reconcile, &rig.stage.stopping);
            all.push((controller, started));
        }
        rig.post("a", SpanIds::seeded(1).root()).await;
        let mut settled = None;
        for round in 0..5 {
            for (controller, started) in &mut all {
                // Each controller always writes its desired state, each time in another trace.
                let run = next(started).await;
                let wanted = ConfigMap { data: Some([("x".into(), "1".into())].into()), ..map("a") };
                let only_if = Preconditions::default();
                let wrote = traced(run.run.traceparent(), rig.writer.update(&wanted, &only_if));
                let written = wrote.await.unwrap();
                assert!(run.run.traceparent().is_some());
                let version = settled.get_or_insert_with(|| written.object.version());
                assert_eq!(written.object.version(), *version, "{road:?}, round {round}");
                rig.maps.wait_for(&written.token, std::time::Duration::from_secs(60)).await.unwrap();
                run.done();
                while !controller.request(key("a"), &"again").await {
                    tokio::task::yield_now().await;
                }
            }
        }
        rig.stage.stopping.cancel();
        rig.server.stop().await;
    }
}
