//! Certificates and authorities that are replaced while the server runs.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use machinery_apiserver::{AdmissionHooks, KindOf, WebhookLimits, WebhookServer};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::fixture::{Files, RunningWebhook, WebhookAuthority, review, run};
use crate::tls::Shown;
use crate::typed::Widget;

fn hooks() -> AdmissionHooks {
    AdmissionHooks::new("widgets.example.com").kind(KindOf::<Widget>::new())
}

fn limits() -> WebhookLimits {
    WebhookLimits { reload: Duration::from_millis(5), ..WebhookLimits::default() }
}

/// The status of a review; none if the connection fails.
async fn status(webhook: &RunningWebhook, ca: &str, shown: Option<Shown>) -> Option<u16> {
    let body = Full::from(review("a", &json!({})).to_string());
    let request = Request::post("/validate").header("host", "localhost").body(body).unwrap();
    webhook.send((ca, shown), "h2", request).await.ok().map(|(code, _)| code)
}

/// Waits for a status of a new connection.
async fn until(webhook: &RunningWebhook, ca: &str, shown: impl Fn() -> Option<Shown>, expected: Option<u16>) {
    let wait = async {
        while status(webhook, ca, shown()).await != expected {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), wait).await.unwrap();
}

#[tokio::test]
async fn the_certificate_and_its_authority_are_replaced_while_it_runs() {
    let (first, second) = (WebhookAuthority::new("first"), WebhookAuthority::new("second"));
    let files = Files::new(&first);
    let webhook = run(hooks(), files.tls(), limits()).await;
    assert_eq!(status(&webhook, &first.pem, None).await, Some(200));
    assert_eq!(status(&webhook, &second.pem, None).await, None);
    files.put(&second);
    until(&webhook, &second.pem, || None, Some(200)).await;
    assert_eq!(status(&webhook, &first.pem, None).await, None);

    // An invalid file changes nothing, and is counted.
    files.write("tls.crt", "no certificate");
    let failed = "machinery_webhook_certificate_reloads_total{result=\"failure\"} 1";
    let counted = async {
        while !webhook.metrics.page().contains(failed) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), counted).await.unwrap();
    assert_eq!(status(&webhook, &second.pem, None).await, Some(200));
    files.put(&first);
    until(&webhook, &first.pem, || None, Some(200)).await;
    webhook.stop().await;
}

#[tokio::test]
async fn reviews_need_a_client_certificate_of_the_current_authority() {
    let (server, first, second) =
        (WebhookAuthority::new("server"), WebhookAuthority::new("first"), WebhookAuthority::new("second"));
    let files = Files::new(&server);
    files.write("ca.crt", &first.pem);
    let webhook = run(hooks(), files.tls().client_ca(files.path("ca.crt")), limits()).await;
    assert_eq!(status(&webhook, &server.pem, None).await, Some(401));
    assert_eq!(webhook.get(&server.pem, "/readyz").await.0, 200, "health checks need none");
    assert_eq!(status(&webhook, &server.pem, Some(first.client())).await, Some(200));
    assert_eq!(status(&webhook, &server.pem, Some(second.client())).await, None);
    files.write("ca.crt", &second.pem);
    until(&webhook, &server.pem, || Some(second.client()), Some(200)).await;
    assert_eq!(status(&webhook, &server.pem, Some(first.client())).await, None);
    webhook.stop().await;
}

#[tokio::test]
async fn unusable_files_keep_it_from_starting() {
    let authority = WebhookAuthority::new("a");
    let files = Files::new(&authority);
    let bind = async || WebhookServer::bind(hooks(), "127.0.0.1:0".parse().unwrap(), files.tls()).await;
    bind().await.unwrap();
    files.write("tls.key", &authority.issue().1);
    let error = bind().await.err().unwrap().to_string();
    assert!(error.contains("put a certificate and its key there"), "{error}");
    std::fs::remove_file(files.path("tls.key")).unwrap();
    let error = bind().await.err().unwrap().to_string();
    assert!(error.contains("tls.key: there is no such file; check the path"), "{error}");
}
