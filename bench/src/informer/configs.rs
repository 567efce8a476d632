//! The objects on the wire: ConfigMaps of 1 KiB as texts, and their types.

use crate::random::SplitMix;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery_kube::{KeyMetadata, PartialMetadata};
use machinery_objects::{Labels, Object, ObjectKey, ResourceVersion};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// The label with keys of interest as values.
pub(super) const KEY: &str = "net";

/// Approximate size of an object as sent by a server.
pub(super) const BYTES: usize = 1024;

pub(crate) fn name(i: usize) -> String {
    format!("config-{i:07}")
}

pub(super) fn key(i: usize) -> String {
    format!("n{i:06}")
}

/// Returns an object as sent by a client; the server's additions bring it to its size.
pub(crate) fn sent(i: usize, turn: usize) -> String {
    written(i, turn, "", BYTES - 150)
}

/// Returns an object as sent by a server.
pub(super) fn stored(i: usize, turn: usize, revision: usize) -> String {
    let more = format!(
        r#","uid":"0b6d2d6e-6a39-4f6c-9d0f-{i:012x}","resourceVersion":"{revision}","creationTimestamp":"2026-11-22T10:00:00Z""#
    );
    written(i, turn, &more, BYTES)
}

fn written(i: usize, turn: usize, more: &str, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let (name, key, node) = (name(i), key(i), i % 1000);
    let _ = write!(
        text,
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"default","labels":{{"app":"bench","{KEY}":"{key}"}},"annotations":{{"example.com/owner":"team-{}"}}{more}}},"data":{{"node":"node-{node:04}","address":"10.{}.{}.{}","turn":"{turn}","text":""#,
        i % 16,
        i >> 16 & 255,
        i >> 8 & 255,
        i & 255,
    );
    let mut chance = SplitMix(i as u64);
    let left = bytes.saturating_sub(text.len() + r#""}}"#.len());
    text.extend(std::iter::repeat_with(|| char::from(b'a' + (chance.next() % 26) as u8)).take(left));
    text.push_str(r#""}}"#);
    text
}

/// Returns an object's key of interest.
pub(super) fn key_of(config: &Config) -> Option<String> {
    config.metadata.labels.get(KEY).map(str::to_owned)
}

/// A whole ConfigMap in a type of ours.
#[derive(Deserialize)]
pub(super) struct Config {
    metadata: PartialMetadata,
    #[serde(default)]
    pub(super) data: BTreeMap<Box<str>, Box<str>>,
}

impl Object for Config {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        self.metadata.labels.clone()
    }
}

/// Five fields, as with our traits.
#[derive(Deserialize)]
pub(super) struct Five {
    metadata: KeyMetadata,
    data: Place,
}

#[derive(Deserialize)]
struct Place {
    node: Box<str>,
    address: Box<str>,
}

impl Five {
    pub(super) fn touch(&self) -> usize {
        self.data.node.len() + self.data.address.len()
    }
}

impl Object for Five {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

/// Five fields as with kube: a partial type with kube's metadata, which its traits need.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FiveOfKube {
    pub(super) metadata: ObjectMeta,
    data: PlaceOfKube,
}

#[derive(Clone, Debug, Deserialize)]
struct PlaceOfKube {
    node: String,
    address: String,
}

impl FiveOfKube {
    pub(super) fn touch(&self) -> usize {
        self.data.node.len() + self.data.address.len()
    }

    /// Drops the unneeded metadata.
    pub(super) fn strip(&mut self) {
        let ObjectMeta { name, namespace, resource_version, .. } = std::mem::take(&mut self.metadata);
        self.metadata = ObjectMeta { name, namespace, resource_version, ..ObjectMeta::default() };
    }
}

impl kube_core::Resource for FiveOfKube {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "ConfigMap".into()
    }
    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "configmaps".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn stored_objects_decode_as_every_type() {
        let text = stored(4711, 3, 99);
        assert_eq!(text.len(), BYTES);
        let whole: ConfigMap = serde_json::from_str(&text).expect("a ConfigMap");
        let lean: Config = serde_json::from_str(&text).expect("a ConfigMap");
        let five: Five = serde_json::from_str(&text).expect("a ConfigMap");
        let mut kube: FiveOfKube = serde_json::from_str(&text).expect("a ConfigMap");
        kube.strip();
        let key = whole.key();
        assert_eq!((lean.key(), five.key(), kube.key()), (key.clone(), key.clone(), key));
        assert_eq!(lean.data.len(), whole.data.map_or(0, |data| data.len()));
        assert_eq!(five.touch(), "node-0711".len() + "10.0.18.103".len());
        assert_eq!(five.touch(), kube.touch());
        assert_eq!(key_of(&lean), Some(super::key(4711)));
    }
}
