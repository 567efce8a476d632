//! Regression: with `--insecure-http`, every web page that a developer visited was an
//! administrator, by DNS rebinding or a form.

use machinery_apiserver::{ApiServer, Listen};
use machinery_store::{Memory, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn an_insecure_server_refuses_foreign_origins() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
    listen.insecure = true;
    listen.hosts = vec!["plane.example.com".into()];
    let address = server.listen(listen).await.unwrap().address;
    let own = format!("http://{address}");
    for (host, origin, expected) in [
        (address.to_string().as_str(), "", 201),
        ("localhost", "", 201),
        ("plane.example.com", "", 201),
        (&address.to_string(), &own, 201),
        ("rebound.example.com", "", 403),
        ("rebound.example.com", "http://rebound.example.com", 403),
        (&address.to_string(), "http://evil.example.com", 403),
        (&address.to_string(), "null", 403),
        ("10.0.0.1", "", 403),
    ] {
        let origin = if origin.is_empty() { String::new() } else { format!("origin: {origin}\r\n") };
        // A form of a page cannot set another type.
        let body = r#"{"metadata":{"generateName":"a"}}"#;
        let request = format!(
            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: {host}\r\n{origin}connection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap();
        assert_eq!(code, expected.to_string(), "{request}\n{answer}");
        assert!(code == "201" || answer.contains("--host"), "the remedy is named: {answer}");
    }
    server.stop().await;
}
