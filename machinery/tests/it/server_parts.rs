//! The embedded server's own settings, one named object, and passwords.

use crate::hosts::{Host, host, until};
use http_body_util::BodyExt as _;
use machinery::apiserver::{Audit, AuditPolicy, Identity};
use machinery::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinery::kube_core::ObjectMeta;
use machinery::objects::{ListError, SourceError, WriteError};
use machinery::serde_json::{Value, from_slice, json, to_string};
use std::io;
use std::sync::{Arc, Mutex};
use tower::ServiceExt as _;

mod keys {
    machinery::kinds! {
        #[kube(
            group = "example.com", version = "v1", kind = "Vpn", namespaced,
            printcolumn = r#"{"name":"Key","type":"string","jsonPath":".spec.key"}"#
        )]
        pub struct VpnSpec {
            #[schemars(schema_with = "super::password")]
            pub key: String,
        }
    }
}
use keys::Vpn;

fn password(_: &mut machinery::schemars::SchemaGenerator) -> machinery::schemars::Schema {
    json!({ "type": "string", "format": "password", "minLength": 12 }).try_into().unwrap()
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn p17_the_embedded_server_is_configured_and_the_plane_has_its_own_identity() {
    let nobody = Identity::new("controllers");
    let plane = machinery::embedded()
        .server(|server| server.rbac())
        .identity(nobody.clone())
        .kinds::<(Host,)>()
        .start()
        .await
        .unwrap();
    let refused = plane.writer::<Host>().unwrap().create(&host("a", 1), None).await.unwrap_err();
    assert!(matches!(refused, WriteError::Source(SourceError::Forbidden { .. })), "{refused}");
    assert!(refused.to_string().contains("controllers"), "{refused}");
    let refused = plane.read_object::<Host>(&"default/a".parse().unwrap()).await.unwrap_err();
    assert!(matches!(refused, ListError::Source(SourceError::Forbidden { .. })), "{refused}");
    plane.stop().await;

    let plane = machinery::embedded()
        .server(|server| server.rbac())
        .identity(nobody.in_group("system:masters"))
        .kinds::<(Host,)>()
        .start()
        .await
        .unwrap();
    plane.writer::<Host>().unwrap().create(&host("a", 1), None).await.unwrap();
    plane.stop().await;
}

#[tokio::test]
async fn p17_one_named_object_is_read_and_watched_without_an_informer_of_its_kind() {
    let plane = machinery::embedded().start().await.unwrap();
    let secret = |name: &str, text: &str| Secret {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        string_data: Some([("password".to_owned(), text.to_owned())].into()),
        ..Secret::default()
    };
    let key = "default/one".parse().unwrap();
    let writes = plane.writer::<Secret>().unwrap();
    assert!(plane.read_object::<Secret>(&key).await.unwrap().is_none());
    let one = plane.named_object::<Secret>(&key).unwrap();
    one.synced().await.unwrap();
    assert!(one.get().is_none());
    writes.create(&secret("other", "x"), None).await.unwrap();
    let written = writes.create(&secret("one", "planted"), None).await.unwrap();
    one.informer().wait_for(&written.token, std::time::Duration::from_secs(60)).await.unwrap();
    assert_eq!(one.informer().read().len(), 1, "no other Secret is cached");
    assert_eq!(one.get().unwrap().metadata.name.as_deref(), Some("one"));
    assert!(plane.read_object::<Secret>(&key).await.unwrap().is_some());
    assert!(!format!("{one:?}").contains("planted"));
    writes.delete(&key, &Default::default()).await.unwrap();
    until(|| one.get().is_none()).await;
    let informer = one.informer().clone();
    drop(one);
    until(|| informer.state().closed).await;
    assert!(plane.read_object::<ConfigMap>(&"default/none".parse().unwrap()).await.unwrap().is_none());
    plane.stop().await;
}

#[tokio::test]
async fn p17_a_password_of_any_kind_is_in_no_audit_line_table_or_error() {
    let (audited, marker) = (Lines::default(), "planted-password");
    let sink = audited.clone();
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";
    let plane = machinery::embedded()
        .server(move |server| server.audit(Audit::new(AuditPolicy::read(policy).unwrap(), sink)))
        .kinds::<(Vpn,)>()
        .start()
        .await
        .unwrap();
    let service = plane.server().unwrap().service(Identity::admin());
    let send = async |method: &str, path: &str, accept: &str, body: Value| {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/apis/example.com/v1/namespaces/default/vpns{path}"))
            .header("accept", accept)
            .header(
                "content-type",
                if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
            )
            .body(to_string(&body).unwrap())
            .unwrap();
        let (head, body) = service.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), from_slice::<Value>(&bytes).unwrap())
    };
    let vpn = |name: &str, key: &str| json!({ "apiVersion": "example.com/v1", "kind": "Vpn", "metadata": { "name": name }, "spec": { "key": key } });
    let json_type = "application/json";
    let (status, created) = send("POST", "", json_type, vpn("a", marker)).await;
    assert_eq!(status, 201, "{created}");
    assert_eq!(created["spec"]["key"], marker, "the client itself reads it");
    let (status, _) =
        send("PATCH", "/a", json_type, json!({ "spec": { "key": format!("{marker}-2") } })).await;
    assert_eq!(status, 200);
    // Too short for the schema: the error would quote it.
    let (status, refused) = send("POST", "", json_type, vpn("b", "planted")).await;
    assert_eq!(status, 422);
    assert!(!refused.to_string().contains("planted"), "{refused}");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let (status, rows) = send("GET", "", table, json!({})).await;
    assert_eq!(status, 200);
    assert!(rows.to_string().contains("<hidden>") && !rows.to_string().contains("planted"), "{rows}");
    plane.stop().await;
    let text = audited.text();
    assert!(text.contains("/vpns") && !text.contains("planted"), "{text}");
}
