//! The samples: a CNF, and rules for it.

use machinery::objects::{Kind, KindError, Scope};
use serde_json::{Value, json};
use thiserror::Error;

use crate::cnf::CnfAuthority;
use crate::model::SdewanKind;

/// The name of the Secret with the password of the samples' CNF.
const ACCOUNT_SECRET: &str = "cnf-account";
/// The name of the Secret with the authority of the samples' CNF.
const AUTHORITY_SECRET: &str = "cnf-authority";
/// Letters of the password in the samples' Secret.
const PASSWORD_LETTERS: usize = 24;

/// The files of the samples, in the order in which they are created.
pub const SAMPLE_FILES: &[(&str, &str)] = &[
    ("cnf", include_str!("../../samples/cnf.yaml")),
    ("mwan3", include_str!("../../samples/mwan3.yaml")),
    ("firewall", include_str!("../../samples/firewall.yaml")),
    ("ipsec", include_str!("../../samples/ipsec.yaml")),
    ("routes", include_str!("../../samples/routes.yaml")),
];

/// Samples that cannot be made.
#[derive(Debug, Error)]
pub enum SampleError {
    /// A file of this program is not YAML.
    #[error("the sample {0} cannot be read: {1}")]
    Unreadable(&'static str, String),
    /// No key or password can be made.
    #[error("no key for the samples: {0}")]
    Key(String),
    /// The kind is not of the samples.
    #[error("{0} is not a kind of the samples")]
    Kind(String),
    /// A kind is malformed.
    #[error(transparent)]
    Malformed(#[from] KindError),
}

/// Returns all samples: the Secrets of the CNF with a new password and authority, then the objects
/// of the files. The Deployment has `replicas` pods.
///
/// # Errors
/// No key can be made.
pub fn samples(replicas: u32) -> Result<Vec<Value>, SampleError> {
    let mut all = secrets()?.to_vec();
    for (name, text) in SAMPLE_FILES {
        let documents: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
        all.extend(documents.map_err(|error| SampleError::Unreadable(name, error.to_string()))?);
    }
    for sample in all.iter_mut().filter(|sample| sample["kind"] == "Deployment") {
        sample["spec"]["replicas"] = replicas.into();
    }
    Ok(all)
}

/// Returns the Secrets that the labels of the CNF's pods name.
fn secrets() -> Result<[Value; 2], SampleError> {
    let authority = CnfAuthority::new().map_err(|error| SampleError::Key(error.to_string()))?;
    let mut bytes = [0_u8; PASSWORD_LETTERS / 2];
    getrandom::fill(&mut bytes).map_err(|error| SampleError::Key(error.to_string()))?;
    let password: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let secret = |name: &str, data: Value| {
        let metadata = json!({"name": name, "namespace": "default"});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data})
    };
    Ok([
        secret(ACCOUNT_SECRET, json!({ "password": password })),
        secret(AUTHORITY_SECRET, json!({ "ca.crt": authority.certificate(), "ca.key": authority.key() })),
    ])
}

/// Returns the kind of a sample.
///
/// # Errors
/// It is none of those in the samples.
pub fn kind_of(sample: &Value) -> Result<Kind, SampleError> {
    let [version, kind] = ["apiVersion", "kind"].map(|field| sample[field].as_str().unwrap_or_default());
    let (plural, scope) = match kind {
        "Node" => ("nodes", Scope::Cluster),
        "Secret" => ("secrets", Scope::Namespaced),
        "Deployment" => ("deployments", Scope::Namespaced),
        _ => {
            let row = SdewanKind::named(kind).ok_or_else(|| SampleError::Kind(kind.to_owned()))?;
            (row.plural, Scope::Namespaced)
        }
    };
    Ok(Kind::new(version, kind, plural, scope)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_has_a_known_kind_and_the_purpose_of_its_cnf() {
        let samples = samples(3).unwrap();
        assert!(samples.len() > 15);
        for sample in &samples {
            kind_of(sample).unwrap();
            if SdewanKind::named(sample["kind"].as_str().unwrap()).is_some() {
                assert_eq!(sample["metadata"]["labels"]["sdewanPurpose"], "cnf-1", "{sample}");
            }
        }
        let deployment = samples.iter().find(|sample| sample["kind"] == "Deployment").unwrap();
        assert_eq!(deployment["spec"]["replicas"], 3);
    }

    #[test]
    fn each_call_makes_another_password() {
        let password =
            |samples: Vec<Value>| samples[0]["stringData"]["password"].as_str().unwrap().to_owned();
        let first = password(samples(1).unwrap());
        assert_eq!(first.len(), PASSWORD_LETTERS);
        assert_ne!(first, password(samples(1).unwrap()));
    }
}
