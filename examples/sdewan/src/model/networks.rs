//! The networks of a CNF and their NICs, from the annotation of its pod template.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::names::NETWORKS_ANNOTATION;

/// The networks of a CNF by name, with the NIC of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    nics: BTreeMap<String, String>,
    /// The reason why the annotation cannot be read.
    error: Option<String>,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    interface: Vec<Interface>,
}

#[derive(Deserialize)]
struct Interface {
    name: String,
    #[serde(default)]
    interface: String,
}

impl Networks {
    /// Reads the annotation of a pod template. Every network of a malformed one is missing, with
    /// the reason.
    #[must_use]
    pub fn read(annotation: Option<&str>) -> Self {
        let Some(text) = annotation else {
            let error = format!("the CNF has no annotation {NETWORKS_ANNOTATION}");
            return Self { nics: BTreeMap::new(), error: Some(error) };
        };
        // By way of an object: a list would do for a struct.
        let read = serde_json::from_str::<serde_json::Map<String, Value>>(text)
            .and_then(|object| serde_json::from_value::<Annotation>(Value::Object(object)));
        match read {
            Ok(annotation) => {
                let named = annotation.interface.into_iter().filter(|one| !one.interface.is_empty());
                Self { nics: named.map(|one| (one.name, one.interface)).collect(), error: None }
            }
            Err(error) => {
                let error =
                    format!("the annotation {NETWORKS_ANNOTATION} of the CNF cannot be read: {error}");
                Self { nics: BTreeMap::new(), error: Some(error) }
            }
        }
    }

    /// Returns the NIC of a network.
    #[must_use]
    pub fn nic_of(&self, network: &str) -> Option<&str> {
        self.nics.get(network).map(String::as_str)
    }

    /// Returns whether a NIC has the name.
    #[must_use]
    pub fn has_nic(&self, nic: &str) -> bool {
        self.nics.values().any(|known| known == nic)
    }

    /// Returns all NICs.
    pub fn nics(&self) -> impl Iterator<Item = &str> {
        self.nics.values().map(String::as_str)
    }

    /// Returns the reason why a network is missing.
    #[must_use]
    pub fn missing(&self, network: &str) -> String {
        match &self.error {
            Some(error) => error.clone(),
            None => format!("network {network:?} is not in the annotation {NETWORKS_ANNOTATION} of the CNF"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_nics_of_the_annotation() {
        let text = r#"{"type":"ovn4nfv","interface":[{"defaultGateway":"false","interface":"net0","name":"ovn-priv-net"},{"name":"ovn-provider-net1","interface":"net1"}]}"#;
        let networks = Networks::read(Some(text));
        assert_eq!(networks.nic_of("ovn-provider-net1"), Some("net1"));
        assert!(networks.has_nic("net0") && !networks.has_nic("ovn-priv-net"));
        assert!(networks.missing("x").contains("\"x\" is not in the annotation"));
    }

    #[test]
    fn malformed_annotations_name_their_defect() {
        for text in ["", "x", "[]", "{\"interface\": 7}"] {
            assert!(Networks::read(Some(text)).missing("x").contains("cannot be read"), "{text}");
        }
        assert!(Networks::read(None).missing("x").contains("has no annotation"));
    }
}
