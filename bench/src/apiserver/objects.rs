//! What is written: a kind with a schema, and objects of 1 KiB of it, which are texts from the beginning.

use crate::chance::Chance;
use bytes::Bytes;
use serde_json::{Value, json};
use std::fmt::Write;

/// Where the objects are.
pub(super) const PATH: &str = "/apis/bench.machinery.dev/v1/namespaces/default/gadgets";

pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Bytes of an object as it is sent.
pub(super) const BYTES: usize = 1024;

/// The kind.
pub(super) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.bench.machinery.dev"},
        "spec": {
            "group": "bench.machinery.dev",
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {
                        "type": "object",
                        "required": ["replicas", "text"],
                        "properties": {
                            "replicas": {"type": "integer", "minimum": 0},
                            "paused": {"type": "boolean"},
                            "tier": {"type": "string", "enum": ["low", "high"]},
                            "ports": {"type": "array", "items": {
                                "type": "object",
                                "required": ["name", "port"],
                                "properties": {
                                    "name": {"type": "string", "maxLength": 15},
                                    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                                },
                            }},
                            "text": {"type": "string", "maxLength": 2000},
                        },
                    }},
                }},
            }],
        },
    })
}

pub(super) fn name(client: usize, i: usize) -> String {
    format!("gadget-{client:02}-{i:07}")
}

/// Writes objects; their long text differs from client to client.
pub(super) struct Writer {
    text: String,
    count: usize,
}

impl Writer {
    pub(super) fn new(client: usize) -> Self {
        let mut chance = Chance(client as u64);
        let text = std::iter::repeat_with(|| char::from(b'a' + (chance.next() % 26) as u8)).take(BYTES);
        Self { text: text.collect(), count: 0 }
    }

    /// How many it has written.
    pub(super) fn turn(&self) -> usize {
        self.count
    }

    /// An object to create, of [`BYTES`].
    pub(super) fn new_object(&mut self, name: &str) -> Bytes {
        self.object(name, None)
    }

    /// An object to replace the one of this revision with.
    pub(super) fn replacement(&mut self, name: &str, revision: &str) -> Bytes {
        self.object(name, Some(revision))
    }

    fn object(&mut self, name: &str, revision: Option<&str>) -> Bytes {
        self.count += 1;
        let mut text = String::with_capacity(BYTES + 64);
        text.push_str(r#"{"apiVersion":"bench.machinery.dev/v1","kind":"Gadget","metadata":{"name":""#);
        text.push_str(name);
        text.push_str(r#"","namespace":"default","labels":{"app":"bench","tier":"high"}"#);
        if let Some(revision) = revision {
            let _ = write!(text, r#","resourceVersion":"{revision}""#);
        }
        let _ = write!(
            text,
            r#"}},"spec":{{"replicas":{},"paused":false,"tier":"high","ports":[{{"name":"http","port":80}},{{"name":"https","port":443}}],"text":""#,
            self.count,
        );
        let left = BYTES.saturating_sub(text.len() + r#""}}"#.len());
        text.push_str(&self.text[..left]);
        text.push_str(r#""}}"#);
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_json_of_its_size() {
        let mut writer = Writer::new(3);
        let new = writer.new_object(&name(3, 14));
        assert_eq!(new.len(), BYTES);
        let read: Value = serde_json::from_slice(&new).expect("JSON");
        assert_eq!(read["metadata"]["name"], "gadget-03-0000014");
        let next = writer.replacement("gadget-03-0000014", "77");
        assert_eq!(next.len(), BYTES);
        let next: Value = serde_json::from_slice(&next).expect("JSON");
        assert_eq!(next["metadata"]["resourceVersion"], "77");
        assert_ne!(read["spec"], next["spec"]);
    }
}
