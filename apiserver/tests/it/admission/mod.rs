//! Admission: webhooks over TLS, and the program's own hooks.

mod answers;
mod attacks;
mod authorizer;
mod configurations;
mod failing;
pub(crate) mod hook;
mod kube_rs;
mod logged;
mod mutating;
mod own;
mod racing;
mod requests;
mod services;

use serde_json::{Value, json};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}
