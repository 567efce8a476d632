//! Types of Secrets that require certain data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::invalid::{FieldError, Problem};
use crate::json::{self, MalformedJson, plain_type_name};

/// The account of a token of a ServiceAccount.
const ACCOUNT: &str = "kubernetes.io/service-account.name";
/// Shown in place of the content of a Secret.
const REDACTED: &str = "<secret contents redacted>";

/// Returns the errors of a Secret that lacks the data or metadata of its type.
pub(super) fn errors(secret: &Value, data: &Map<String, Value>) -> Vec<FieldError> {
    let required = |field: String| FieldError::new(field, Problem::Required, "");
    let missing = |key: &str| (!data.contains_key(key)).then(|| required(at(key)));
    match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            let account = secret["metadata"]["annotations"][ACCOUNT].as_str().unwrap_or_default();
            let absent = account.is_empty().then(|| required(format!("metadata.annotations[{ACCOUNT}]")));
            absent.into_iter().collect()
        }
        "kubernetes.io/dockercfg" => credentials(data, ".dockercfg").into_iter().collect(),
        "kubernetes.io/dockerconfigjson" => credentials(data, ".dockerconfigjson").into_iter().collect(),
        // One of the two is enough, and may be empty.
        "kubernetes.io/basic-auth" => match ["username", "password"].map(missing) {
            [Some(name), Some(password)] => vec![name, password],
            _ => Vec::new(),
        },
        "kubernetes.io/ssh-auth" => {
            let key = data.get("ssh-privatekey").and_then(Value::as_str).unwrap_or_default();
            key.is_empty().then(|| required(at("ssh-privatekey"))).into_iter().collect()
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter_map(missing).collect(),
        _ => Vec::new(),
    }
}

fn at(key: &str) -> String {
    format!("data[{key}]")
}

/// Returns the error of missing or malformed registry credentials, which are a JSON object.
fn credentials(data: &Map<String, Value>, key: &str) -> Option<FieldError> {
    let Some(text) = data.get(key) else { return Some(FieldError::new(at(key), Problem::Required, "")) };
    let bytes = STANDARD.decode(text.as_str().unwrap_or_default()).unwrap_or_default();
    let why = match json::read(&bytes) {
        Ok(read) if read.value.is_object() || read.value.is_null() => return None,
        Ok(read) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            plain_type_name(&read.value)
        ),
        Err(MalformedJson(why)) => why,
    };
    Some(FieldError::new(at(key), Problem::Invalid(REDACTED.into()), why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, data: Value, expected: &[&str]) {
        let secret = json!({"type": kind, "data": data});
        let data = secret["data"].as_object().unwrap();
        let found: Vec<String> = errors(&secret, data).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{kind}");
    }

    #[test]
    fn types_of_secrets_require_their_data() {
        check("Opaque", json!({}), &[]);
        check("example.com/any", json!({}), &[]);
        check("kubernetes.io/tls", json!({"tls.crt": ""}), &["data[tls.key]: Required value"]);
        check("kubernetes.io/basic-auth", json!({"password": ""}), &[]);
        check(
            "kubernetes.io/basic-auth",
            json!({}),
            &["data[username]: Required value", "data[password]: Required value"],
        );
        check(
            "kubernetes.io/ssh-auth",
            json!({"ssh-privatekey": ""}),
            &["data[ssh-privatekey]: Required value"],
        );
        check(
            "kubernetes.io/service-account-token",
            json!({}),
            &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        );
    }

    #[test]
    fn registry_credentials_are_a_json_object_and_never_shown() {
        let kind = "kubernetes.io/dockerconfigjson";
        let with = |text: &str| json!({".dockerconfigjson": STANDARD.encode(text)});
        let invalid = "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": ";
        check(kind, with("{\"auths\": {}}"), &[]);
        check(kind, json!({}), &["data[.dockerconfigjson]: Required value"]);
        check(
            kind,
            with("pass"),
            &[&format!("{invalid}invalid character 'p' looking for beginning of value")],
        );
        check(kind, with(""), &[&format!("{invalid}unexpected end of JSON input")]);
        check(
            kind,
            with("[]"),
            &[&format!(
                "{invalid}json: cannot unmarshal array into Go value of type map[string]interface {{}}"
            )],
        );
        check("kubernetes.io/dockercfg", json!({}), &["data[.dockercfg]: Required value"]);
    }
}
