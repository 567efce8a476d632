//! The storage encoding: JSON that is sent to clients without being decoded.
//!
//! ```text
//! 1 byte: format, 1 │ 4 bytes: offset of the revision │ 8 bytes: schema fingerprint │ JSON
//! ```
//! Numbers are little-endian. The JSON begins with its `apiVersion` and `kind`, so that a list can
//! omit them. It has no `resourceVersion`: that is the revision of its last write, inserted as the
//! first field of the metadata.

use std::io::Write;

use machinery_objects::Revision;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use thiserror::Error;

const FORMAT: u8 = 1;
const HEADER: usize = 13;
const FIRST: [&str; 2] = ["apiVersion", "kind"];

/// A stored object.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    /// Which schema it was written under.
    pub(crate) print: u64,
    splice: usize,
    json: &'a [u8],
}

/// Bytes that are no stored object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("what is stored is no object of this server: {why}")]
pub(crate) struct NotStored {
    why: String,
}

impl NotStored {
    pub(super) const fn because(why: String) -> Self {
        Self { why }
    }
}

/// An object in its stored form. Its metadata must be an object; its revision is left out.
pub(crate) fn encode(object: &Map<String, Value>, print: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2048);
    bytes.resize(HEADER, 0);
    let mut splice = 0;
    bytes.push(b'{');
    let (first, rest): (Vec<_>, Vec<_>) = object.iter().partition(|(key, _)| FIRST.contains(&key.as_str()));
    for (at, (key, value)) in first.into_iter().chain(rest).enumerate() {
        field(&mut bytes, at, key);
        match value {
            Value::Object(metadata) if key == "metadata" => {
                bytes.push(b'{');
                splice = bytes.len() - HEADER;
                // Unknown until the commit: the revision is inserted when the object is read.
                let kept = metadata.iter().filter(|(key, _)| *key != "resourceVersion");
                for (at, (key, value)) in kept.enumerate() {
                    field(&mut bytes, at, key);
                    json(&mut bytes, value);
                }
                bytes.push(b'}');
            }
            _ => json(&mut bytes, value),
        }
    }
    bytes.push(b'}');
    bytes[0] = FORMAT;
    let splice = u32::try_from(splice).expect("an object is smaller than the store's largest value");
    bytes[1..5].copy_from_slice(&splice.to_le_bytes());
    bytes[5..HEADER].copy_from_slice(&print.to_le_bytes());
    bytes
}

impl<'a> Stored<'a> {
    /// Parses the header only.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, NotStored> {
        let not = |why: &str| NotStored { why: why.into() };
        let (header, json) = bytes.split_at_checked(HEADER).ok_or_else(|| not("it is too short"))?;
        if header[0] != FORMAT {
            return Err(not(&format!("its format is {}, and {FORMAT} is known", header[0])));
        }
        let splice = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if splice >= json.len() || json[..splice].last() != Some(&b'{') {
            return Err(not("the revision has no place in it"));
        }
        let print = header[5..].iter().rev().fold(0, |print, byte| print << 8 | u64::from(*byte));
        Ok(Self { print, splice, json })
    }

    /// Appends its JSON, with the revision.
    pub(crate) fn write(&self, revision: Revision, out: &mut Vec<u8>) {
        self.write_without("", revision, out);
    }

    /// Appends its JSON, with the revision, and without the [`head`] that all items of a list have
    /// in common.
    pub(crate) fn write_without(&self, head: &str, revision: Revision, out: &mut Vec<u8>) {
        out.reserve(self.json.len() + 48);
        let mut cut = 0;
        if !head.is_empty() && self.splice > head.len() && self.json.starts_with(head.as_bytes()) {
            cut = head.len();
            out.push(b'{');
        }
        let (before, after) = self.json[cut..].split_at(self.splice - cut);
        out.extend_from_slice(before);
        let comma = if after.first() == Some(&b'}') { "" } else { "," };
        write!(out, r#""resourceVersion":"{revision}"{comma}"#).expect("a vector takes all");
        out.extend_from_slice(after);
    }

    /// Reads it, with the revision.
    pub(crate) fn read(&self, revision: Revision) -> Result<Value, NotStored> {
        let mut object: Value =
            serde_json::from_slice(self.json).map_err(|error| NotStored { why: error.to_string() })?;
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        Ok(object)
    }

    /// Returns whether the metadata has a deletionTimestamp. Most objects do not contain the word,
    /// and are not parsed.
    pub(crate) fn is_deleting(&self) -> bool {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            deletion_timestamp: Option<IgnoredAny>,
        }
        let may = std::str::from_utf8(self.json).is_ok_and(|text| text.contains("deletionTimestamp"));
        let object = may.then(|| serde_json::from_slice::<Object>(self.json).ok()).flatten();
        object.is_some_and(|object| object.metadata.deletion_timestamp.is_some())
    }

    /// The JSON without a revision.
    pub(crate) const fn json(&self) -> &'a [u8] {
        self.json
    }
}

/// How the JSON of all objects of a kind begins.
pub(crate) fn head(api_version: &str, kind: &str) -> String {
    let text = |text: &str| Value::from(text).to_string();
    format!(r#"{{"apiVersion":{},"kind":{},"#, text(api_version), text(kind))
}

fn field(bytes: &mut Vec<u8>, at: usize, key: &str) {
    if at > 0 {
        bytes.push(b',');
    }
    serde_json::to_writer(&mut *bytes, key).expect("a text is JSON");
    bytes.push(b':');
}

fn json(bytes: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(&mut *bytes, value).expect("a value is JSON");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(object: Value) {
        let bytes = encode(object.as_object().expect("an object"), 0x0102_0304_0506_0708);
        let stored = Stored::of(&bytes).expect("it is one");
        assert_eq!(stored.print, 0x0102_0304_0506_0708);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = "42".into();
        assert_eq!(stored.read(Revision(42)).expect("it is JSON"), expected);
        let mut written = Vec::new();
        stored.write(Revision(42), &mut written);
        assert_eq!(serde_json::from_slice::<Value>(&written).expect("it is JSON"), expected);
    }

    #[test]
    fn an_object_comes_back_with_its_revision() {
        check(json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "resourceVersion": "7"}}));
        check(json!({"metadata": {}, "spec": {"metadata": {"a": 1}}}));
        check(json!({"apiVersion": "v1", "data": {"kind": "Y"}, "kind": "X", "metadata": {"name": "a"}}));
        check(json!({"a\"b": [1, {"x": null}], "metadata": {"labels": {"ä": "\u{0}"}}, "zz": "}{"}));
    }

    #[test]
    fn the_head_of_a_kind_can_be_left_out() {
        let owner = json!([{"apiVersion": "v1", "kind": "X", "name": "a"}]);
        let rest =
            json!({"data": {"kind": "X"}, "metadata": {"ownerReferences": owner, "resourceVersion": "42"}});
        let mut whole = rest.clone();
        whole["apiVersion"] = "v1".into();
        whole["kind"] = "X".into();
        let bytes = encode(whole.as_object().expect("an object"), 1);
        for (kind, expected) in [("X", &rest), ("Y", &whole)] {
            let mut written = Vec::new();
            let stored = Stored::of(&bytes).expect("it is one");
            stored.write_without(&head("v1", kind), Revision(42), &mut written);
            assert_eq!(&serde_json::from_slice::<Value>(&written).expect("it is JSON"), expected);
        }
    }

    #[test]
    fn an_object_is_deleted_if_its_metadata_says_so() {
        fn check(object: Value, expected: bool) {
            let bytes = encode(object.as_object().expect("an object"), 0);
            assert_eq!(Stored::of(&bytes).expect("it is one").is_deleting(), expected, "{object}");
        }
        check(json!({"metadata": {"deletionTimestamp": "2026-11-21T09:30:38Z"}}), true);
        check(json!({"metadata": {"deletionTimestamp": null}}), false);
        check(json!({"metadata": {"name": "a"}, "spec": {"deletionTimestamp": "x"}}), false);
        check(json!({"metadata": {"name": "deletionTimestamp"}}), false);
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in
            [&b""[..], b"\x01", b"\x02\0\0\0\0\0\0\0\0\0\0\0\0{}", b"\x01\x09\0\0\0\0\0\0\0\0\0\0\0{}"]
        {
            assert!(Stored::of(bytes).is_err(), "{bytes:?}");
        }
    }
}
