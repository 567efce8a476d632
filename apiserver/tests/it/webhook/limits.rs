//! Limits of time and concurrency, health and shutdown.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machinery_apiserver::{Admission, AdmissionHooks, AdmissionRule, Attributes, Denied, WebhookLimits};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::fixture::{Files, RunningWebhook, WebhookAuthority, review, run};
use crate::tls::connect;
use crate::typed::Widget;

/// Waits at `waits` until released.
#[derive(Clone, Default)]
struct Waits {
    entered: Arc<Notify>,
    release: Arc<Notify>,
}

#[async_trait]
impl Admission for Waits {
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        if attributes.name == "waits" {
            self.entered.notify_one();
            self.release.notified().await;
        }
        Ok(())
    }
}

async fn start(limits: WebhookLimits) -> (Arc<RunningWebhook>, Waits, WebhookAuthority, Files) {
    let (authority, plugin) = (WebhookAuthority::new("a"), Waits::default());
    let files = Files::new(&authority);
    let hooks =
        AdmissionHooks::new("widgets.example.com").admission(plugin.clone(), [AdmissionRule::of::<Widget>()]);
    (Arc::new(run(hooks, files.tls(), limits).await), plugin, authority, files)
}

/// Does something on another task.
fn beside<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    TaskTracker::new().spawn(task)
}

fn body(name: &str) -> String {
    review(name, &json!({})).to_string()
}

#[tokio::test]
async fn slow_hooks_and_busy_servers_are_answered_with_an_error() {
    let limits = WebhookLimits { reviews: 1, review: Duration::from_millis(200), ..WebhookLimits::default() };
    let (webhook, plugin, authority, _files) = start(limits).await;
    let (other, ca) = (webhook.clone(), authority.pem.clone());
    let first = beside(async move { other.post(&ca, "/validate", body("waits")).await });
    plugin.entered.notified().await;
    let (busy, slow) = (webhook.post(&authority.pem, "/validate", body("a")).await, first.await.unwrap());
    assert_eq!(slow, (504, "the hooks did not decide in time\n".into()));
    // Of the two timeouts either may end first.
    assert!(busy.0 == 200 || busy == (503, "1 reviews are in progress: try again\n".into()), "{busy:?}");
    assert_eq!(webhook.post(&authority.pem, "/validate", body("a")).await.0, 200);
    Arc::into_inner(webhook).unwrap().stop().await;
}

#[tokio::test]
async fn a_slow_body_is_refused() {
    let limits = WebhookLimits { receive: Duration::from_millis(300), ..WebhookLimits::default() };
    let (webhook, _, authority, _files) = start(limits).await;
    let mut stream = connect(webhook.address, &authority.pem, "http/1.1", None).await.unwrap();
    let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("not received in time"), "{answer}");
    // A head that never ends: the connection is closed.
    let mut stream = connect(webhook.address, &authority.pem, "http/1.1", None).await.unwrap();
    stream.write_all(b"POST /validate HTTP/1.1\r\nx: ").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{answer:?}");
    Arc::into_inner(webhook).unwrap().stop().await;
}

#[tokio::test]
async fn a_stopping_server_completes_reviews_in_flight() {
    let (webhook, plugin, authority, _files) = start(WebhookLimits::default()).await;
    for path in ["/livez", "/healthz", "/readyz"] {
        assert_eq!(webhook.get(&authority.pem, path).await, (200, "ok\n".into()));
    }
    for protocol in ["http/1.1", "h2"] {
        let request =
            http::Request::get("/livez").header("host", "localhost").body(Default::default()).unwrap();
        let answer = webhook.send((&authority.pem, None), protocol, request).await.unwrap();
        assert_eq!(answer.0, 200, "{protocol}");
    }
    let (other, ca) = (webhook.clone(), authority.pem.clone());
    let first = beside(async move { other.post(&ca, "/validate", body("waits")).await });
    plugin.entered.notified().await;
    webhook.stopping.cancel();
    // The socket is closed before the last review is answered.
    while tokio::net::TcpStream::connect(webhook.address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    plugin.release.notify_one();
    let (code, text) = first.await.unwrap();
    assert!(code == 200 && text.contains("\"allowed\":true"), "{code} {text}");
    Arc::into_inner(webhook).unwrap().stop().await;
}
