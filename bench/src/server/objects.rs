//! The objects written: a kind with a schema, and prepared texts of 1 KiB.

use crate::random::SplitMix;
use anyhow::{Context, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use std::fmt::Write;

/// Path of the collection.
pub(crate) const PATH: &str = "/apis/bench.machinery.dev/v1/namespaces/default/gadgets";

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Size of an object as sent.
pub(crate) const BYTES: usize = 1024;

/// Returns the CustomResourceDefinition.
pub(crate) fn definition() -> Value {
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

/// The label that watches select by.
pub(crate) const SHARD: &str = "shard";

pub(crate) fn name(client: usize, i: usize) -> String {
    format!("gadget-{client:02}-{i:07}")
}

/// Generates objects; their long text differs between clients.
pub(crate) struct Writer {
    text: String,
    count: usize,
}

impl Writer {
    pub(crate) fn new(client: usize) -> Self {
        let mut chance = SplitMix(client as u64);
        let text = std::iter::repeat_with(|| char::from(b'a' + (chance.next() % 26) as u8)).take(BYTES);
        Self { text: text.collect(), count: 0 }
    }

    /// Returns the number of objects generated.
    pub(crate) fn turn(&self) -> usize {
        self.count
    }

    /// Returns an object to create, of [`BYTES`].
    pub(crate) fn new_object(&mut self, name: &str) -> Bytes {
        self.object(name, "0", None)
    }

    /// Returns a replacement of the object at `revision`.
    pub(crate) fn replacement(&mut self, name: &str, revision: &str) -> Bytes {
        self.object(name, "0", Some(revision))
    }

    /// Returns an object to create, or to replace one at `revision`. It has a shard label and a
    /// sequence number.
    pub(crate) fn object(&mut self, name: &str, shard: &str, revision: Option<&str>) -> Bytes {
        self.count += 1;
        let mut text = String::with_capacity(BYTES + 64);
        text.push_str(r#"{"apiVersion":"bench.machinery.dev/v1","kind":"Gadget","metadata":{"name":""#);
        text.push_str(name);
        let _ = write!(text, r#"","namespace":"default","labels":{{"app":"bench","{SHARD}":"{shard}"}}"#);
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

/// Extracts the revision of an answer without parsing it whole.
pub(crate) fn revision(answer: &[u8]) -> anyhow::Result<&str> {
    field(std::str::from_utf8(answer)?, r#""resourceVersion":""#, '"')
}

/// Extracts shard and sequence number of a watch event.
pub(crate) fn event(line: &str) -> anyhow::Result<(&str, u64)> {
    const KINDS: [&str; 2] = [r#"{"type":"ADDED","#, r#"{"type":"MODIFIED","#];
    ensure!(KINDS.iter().any(|kind| line.starts_with(kind)), "an event is not as expected: {line}");
    Ok((field(line, r#""shard":""#, '"')?, field(line, r#""replicas":"#, ',')?.parse()?))
}

/// Returns the text between a prefix and a character.
fn field<'a>(text: &'a str, begin: &str, end: char) -> anyhow::Result<&'a str> {
    let (_, rest) = text.split_once(begin).with_context(|| format!("there is no {begin} in {text}"))?;
    Ok(rest.split([end, '}']).next().unwrap_or_default())
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

    #[test]
    fn a_revision_is_found_in_an_answer() {
        let answer = br#"{"metadata":{"name":"a","resourceVersion":"42","uid":"b"}}"#;
        assert_eq!(revision(answer).expect("it has one"), "42");
        assert!(revision(b"{}").is_err());
    }

    #[test]
    fn events_have_their_shard_and_number() {
        #[track_caller]
        fn check(line: &str, expected: Option<(&str, u64)>) {
            assert_eq!(event(line).ok(), expected);
        }
        let fields =
            r#""metadata":{"labels":{"shard":"s7"},"managedFields":[{"f:shard":{},"f:replicas":{}}]}"#;
        for spec in [r#"{"replicas":42,"text":""}"#, r#"{"text":"","replicas":42}"#] {
            for kind in ["ADDED", "MODIFIED"] {
                check(
                    &format!(r#"{{"type":"{kind}","object":{{{fields},"spec":{spec}}}}}"#),
                    Some(("s7", 42)),
                );
            }
        }
        check(&format!(r#"{{"type":"DELETED","object":{{{fields},"spec":{{"replicas":42}}}}}}"#), None);
        check(r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#, None);
        check(r#"{"type":"ADDED","object":{"metadata":{}}}"#, None);
    }
}
