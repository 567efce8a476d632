//! The file that clients are given: where the server is, how to know it, and who they are.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What a client shows the server.
#[derive(Clone, Copy)]
pub(crate) enum Credential<'a> {
    Token(&'a str),
    /// Both in PEM.
    Certificate {
        certificate: &'a str,
        key: &'a str,
    },
}

/// A kubeconfig with one cluster, one user and one context, all named `machinery`. It is a secret:
/// [`crate::auth::private::write`] it.
///
/// `server` is a URL. `ca` is what verifies the server, in PEM; without it, the system's certificates do.
pub(crate) fn kubeconfig(server: &str, ca: Option<&str>, credential: Credential<'_>) -> String {
    let mut text = String::from("apiVersion: v1\nkind: Config\ncurrent-context: machinery\nclusters:\n");
    let _ = write!(text, "- name: machinery\n  cluster:\n    server: {}\n", quoted(server));
    if let Some(ca) = ca {
        let _ = writeln!(text, "    certificate-authority-data: {}", STANDARD.encode(ca));
    }
    text += "users:\n- name: machinery\n  user:\n";
    let _ = match credential {
        Credential::Token(token) => writeln!(text, "    token: {}", quoted(token)),
        Credential::Certificate { certificate, key } => {
            let [certificate, key] = [certificate, key].map(|pem| STANDARD.encode(pem));
            write!(text, "    client-certificate-data: {certificate}\n    client-key-data: {key}\n")
        }
    };
    text + "contexts:\n- name: machinery\n  context:\n    cluster: machinery\n    user: machinery\n"
}

/// A text of JSON is one of YAML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(server: &str, ca: Option<&str>, credential: Credential<'_>, cluster: Value, user: Value) {
        let text = kubeconfig(server, ca, credential);
        let read: Value = serde_saphyr::from_str(&text).expect("YAML");
        let expected = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "machinery",
            "clusters": [{"name": "machinery", "cluster": cluster}],
            "users": [{"name": "machinery", "user": user}],
            "contexts": [{"name": "machinery", "context": {"cluster": "machinery", "user": "machinery"}}],
        });
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn it_is_what_clients_read() {
        let cluster = json!({"server": "https://127.0.0.1:6443", "certificate-authority-data": "Q0E="});
        let certificate = Credential::Certificate { certificate: "C", key: "K" };
        let user = json!({"client-certificate-data": "Qw==", "client-key-data": "Sw=="});
        check("https://127.0.0.1:6443", Some("CA"), certificate, cluster, user);
        let cluster = json!({"server": "http://[::1]:80/\": x"});
        check("http://[::1]:80/\": x", None, Credential::Token("123e4"), cluster, json!({"token": "123e4"}));
    }
}
