//! The client against a server that answers with nonsense, late, twice, half or not at all.

use std::time::Duration;

use machinery::tokio::time::Instant;
use serde_json::json;

use super::scripted::{Answer, http, json_answer, login, nonsense};
use crate::drive::{CnfError, CnfErrorClass, ConfigTag};
use crate::model::{CollectionId, Desired, RestObject};

fn rule() -> RestObject {
    let body = json!({"name": "r", "policy": "p"});
    RestObject::from_body(CollectionId::Mwan3Rules, body).unwrap()
}

fn remote() -> RestObject {
    let body = json!({"name": "r", "gateway": "1.1.1.1", "authentication_method": "psk", "pre_shared_key": "marker"});
    RestObject::from_body(CollectionId::Remotes, body).unwrap()
}

async fn delete_after(answer: Answer) -> Result<(), CnfError> {
    nonsense([answer]).await.client().delete(CollectionId::Mwan3Rules, "r").await
}

#[machinery::tokio::test]
async fn each_status_has_its_class() {
    for (status, class) in [
        ("500 Internal", CnfErrorClass::Server),
        ("404 Not Found", CnfErrorClass::NotFound),
        ("409 Conflict", CnfErrorClass::InUse),
        ("428 Required", CnfErrorClass::MissingDependency),
        ("400 Bad", CnfErrorClass::Refused),
        ("423 Locked", CnfErrorClass::Locked),
        ("301 Moved", CnfErrorClass::Malformed),
        ("307 Moved", CnfErrorClass::Malformed),
    ] {
        let body = r#"{"message":"a reason"}"#;
        let error =
            delete_after(Answer::Bytes(http(status, "location: /elsewhere\r\n", body))).await.unwrap_err();
        assert_eq!(error.class, class, "{status}");
        assert_eq!(error.code.map(|code| code.to_string()).as_deref(), status.split(' ').next());
    }
}

#[machinery::tokio::test]
async fn a_success_without_the_answer_of_the_api_is_none() {
    for body in ["", "<html>", "{}", r#"{"message":"failure"}"#, "[]", "\u{0}"] {
        let error = delete_after(Answer::Bytes(http("200 OK", "", body))).await.unwrap_err();
        assert_eq!(error.class, CnfErrorClass::Malformed, "{body:?}");
        let server = nonsense([Answer::Bytes(http("201 Created", "", body))]).await;
        let error = server.client().create(&rule()).await.unwrap_err();
        assert_eq!(error.class, CnfErrorClass::Malformed, "{body:?}");
        let server = nonsense([Answer::Bytes(http("200 OK", "", body))]).await;
        let error = server.client().list(CollectionId::Mwan3Rules).await.unwrap_err();
        assert_eq!(error.class, CnfErrorClass::Malformed, "{body:?}");
        let server = nonsense([Answer::Bytes(http("200 OK", "", body))]).await;
        assert_eq!(
            server.client().interface().await.unwrap_err().class,
            CnfErrorClass::Malformed,
            "{body:?}"
        );
        let server = nonsense([Answer::Bytes(http("200 OK", "", body))]).await;
        let written = server.client().write_config(&Desired::default(), &ConfigTag("\"x\"".into())).await;
        assert_eq!(written.unwrap_err().class, CnfErrorClass::Malformed, "{body:?}");
    }
    assert!(delete_after(json_answer(&json!({"message": "success"}))).await.is_ok());
}

#[machinery::tokio::test]
async fn a_configuration_without_a_tag_or_of_another_form_is_malformed() {
    for (headers, body) in [
        ("", "{}"),
        ("etag: \"x\"\r\n", "[]"),
        ("etag: \"x\"\r\n", "{}"),
        ("etag: \"x\"\r\n", r#"{"collections":{"mwan3/v1/rules":[{"object":{}}]}}"#),
        ("etag: \"x\"\r\n", ""),
    ] {
        let server = nonsense([Answer::Bytes(http("200 OK", headers, body))]).await;
        let error = server.client().read_config(None).await.unwrap_err();
        assert_eq!(error.class, CnfErrorClass::Malformed, "{body}");
    }
    let server = nonsense([Answer::Bytes(http("304 Not Modified", "etag: \"x\"\r\n", ""))]).await;
    assert_eq!(server.client().read_config(None).await.unwrap_err().class, CnfErrorClass::Malformed);
    let refusals = [
        r#"{"message":"m","refused":[]}"#,
        r#"{"message":"m","refused":[{"collection":"x","name":"n","code":400,"message":"m"}]}"#,
    ];
    for body in refusals {
        let server = nonsense([Answer::Bytes(http("422 Unprocessable", "", body))]).await;
        let written = server.client().write_config(&Desired::default(), &ConfigTag("\"x\"".into())).await;
        assert_eq!(written.unwrap_err().class, CnfErrorClass::Malformed, "{body}");
    }
}

#[machinery::tokio::test]
async fn a_second_403_is_an_error_and_never_a_success() {
    let forbidden = || Answer::Bytes(http("403 Forbidden", "", ""));
    let success = json_answer(&json!({"message": "success"}));
    let list = json_answer(&json!({"services": []}));
    // One: it logs in again and repeats the call.
    let server = nonsense([list, forbidden(), login(), success]).await;
    let client = server.client();
    let _ = client.list(CollectionId::Mwan3Rules).await;
    client.delete(CollectionId::Mwan3Rules, "r").await.unwrap();
    assert_eq!(server.requests.lock().len(), 5);
    // Two.
    let list = json_answer(&json!({"services": []}));
    let server = nonsense([list, forbidden(), login(), forbidden()]).await;
    let client = server.client();
    let _ = client.list(CollectionId::Mwan3Rules).await;
    let error = client.delete(CollectionId::Mwan3Rules, "r").await.unwrap_err();
    assert_eq!((error.class, error.code), (CnfErrorClass::Unauthorized, Some(403)));
    // At once after a login.
    let error = delete_after(forbidden()).await.unwrap_err();
    assert_eq!((error.class, error.code), (CnfErrorClass::Unauthorized, Some(403)));
    let error = delete_after(Answer::Bytes(http("401 Unauthorized", "", ""))).await.unwrap_err();
    assert_eq!((error.class, error.code), (CnfErrorClass::Unauthorized, Some(401)));
}

#[machinery::tokio::test]
async fn a_login_without_a_cookie_is_malformed() {
    let server = nonsense([]).await;
    *server.script.lock() = [Answer::Bytes(http("302 Found", "set-cookie: other=1\r\n", ""))].into();
    assert_eq!(server.client().interface().await.unwrap_err().class, CnfErrorClass::Malformed);
    *server.script.lock() = [Answer::Bytes(http("200 OK", "", "<html>"))].into();
    assert_eq!(server.client().interface().await.unwrap_err().class, CnfErrorClass::Unauthorized);
    *server.script.lock() = [Answer::Bytes(http("503 Busy", "", ""))].into();
    assert_eq!(server.client().interface().await.unwrap_err().class, CnfErrorClass::Server);
}

#[machinery::tokio::test]
async fn late_half_and_absent_answers_end_in_time() {
    let body = json!({"message": "success"}).to_string();
    let late = Answer::Late(Duration::from_secs(60), http("200 OK", "", &body));
    let half = Answer::Half(http("200 OK", "", &body).replace("content-length: ", "content-length: 9"));
    for answer in
        [late, half, Answer::Half("HTTP/1.1 20".into()), Answer::Half(String::new()), Answer::Nothing]
    {
        let began = Instant::now();
        let error = delete_after(answer).await.unwrap_err();
        assert_eq!(error.class, CnfErrorClass::Unreachable, "{error}");
        assert!(began.elapsed() < Duration::from_secs(4), "{error}");
    }
}

#[machinery::tokio::test]
async fn an_answer_that_comes_twice_is_not_taken_for_the_next() {
    let once = http("200 OK", "", &json!({"message": "success"}).to_string());
    let not_found = Answer::Bytes(http("404 Not Found", "", ""));
    let server = nonsense([Answer::Bytes(once.clone() + &once), not_found]).await;
    let client = server.client();
    client.delete(CollectionId::Mwan3Rules, "a").await.unwrap();
    let second = client.delete(CollectionId::Mwan3Rules, "b").await;
    assert!(second.is_err(), "the second answer to the first request was taken");
}

#[machinery::tokio::test]
async fn megabytes_are_cut_off() {
    let large = http("200 OK", "", &"x".repeat(4 << 20));
    let error = delete_after(Answer::Bytes(large)).await.unwrap_err();
    assert_eq!(error.class, CnfErrorClass::Malformed);
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}\r\n", "y".repeat(4 << 20));
    let error = delete_after(Answer::Bytes(endless)).await.unwrap_err();
    assert!(matches!(error.class, CnfErrorClass::Unreachable | CnfErrorClass::Malformed), "{error}");
}

#[machinery::tokio::test]
async fn a_secret_in_a_message_is_not_shown() {
    let body = r#"{"message":"the key marker is weak"}"#;
    let server = nonsense([Answer::Bytes(http("400 Bad", "", body))]).await;
    let error = server.client().create(&remote()).await.unwrap_err();
    assert!(error.message.contains("is weak") && !error.message.contains("marker"), "{error}");
    let body = r#"{"message":"m","refused":[{"collection":"ipsec/v1/remotes","name":"r","code":400,"message":"marker"}]}"#;
    let desired = Desired { owner: "a".into(), objects: [(CollectionId::Remotes, vec![remote()])].into() };
    for status in ["422 Unprocessable", "500 Internal"] {
        let server = nonsense([Answer::Bytes(http(status, "", body))]).await;
        let written = server.client().write_config(&desired, &ConfigTag("\"x\"".into())).await;
        assert!(!format!("{written:?}").contains("marker"), "{written:?}");
    }
}

#[machinery::tokio::test]
async fn a_message_is_cut_to_a_few_hundred_characters() {
    let body = json!({"message": "x\n".repeat(10_000)}).to_string();
    let error = delete_after(Answer::Bytes(http("400 Bad", "", &body))).await.unwrap_err();
    assert!(error.message.len() <= 512 && !error.message.contains('\n'), "{}", error.message.len());
}
