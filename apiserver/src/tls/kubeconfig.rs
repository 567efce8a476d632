//! The kubeconfig for clients: the server's address, its certificate authority, and the client's
//! credentials.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A kubeconfig with one cluster, one user and one context, all named `machinery`. It is a secret:
/// [`crate::auth::private::write`] it.
///
/// `server` is a URL. `ca` is the authority of the server, in PEM; without it, clients use the
/// system's.
pub(crate) fn kubeconfig(server: &str, ca: Option<&str>, token: &str) -> String {
    let mut text = String::from("apiVersion: v1\nkind: Config\ncurrent-context: machinery\nclusters:\n");
    let _ = write!(text, "- name: machinery\n  cluster:\n    server: {}\n", quoted(server));
    if let Some(ca) = ca {
        let _ = writeln!(text, "    certificate-authority-data: {}", STANDARD.encode(ca));
    }
    text += "users:\n- name: machinery\n  user:\n";
    let _ = writeln!(text, "    token: {}", quoted(token));
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

    fn check(server: &str, ca: Option<&str>, token: &str, cluster: Value, user: Value) {
        let text = kubeconfig(server, ca, token);
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
    fn clients_can_read_the_kubeconfig() {
        let cluster = json!({"server": "https://127.0.0.1:6443", "certificate-authority-data": "Q0E="});
        check("https://127.0.0.1:6443", Some("CA"), "T", cluster, json!({"token": "T"}));
        let cluster = json!({"server": "http://[::1]:80/\": x"});
        check("http://[::1]:80/\": x", None, "123e4", cluster, json!({"token": "123e4"}));
    }
}
