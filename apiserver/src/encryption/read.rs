//! Parses encryption configurations. Errors never quote values, which may be keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery_store::sealed::{KeyRing, KeyRingError, Provider, SealingKey};
use serde_json::{Map, Value};
use thiserror::Error;
use zeroize::Zeroizing;

use super::config::Encryption;
use super::resource::Resources;
use crate::yaml;

/// The reason why a configuration was rejected. Nothing of a rejected configuration applies.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}")]
pub struct EncryptionError {
    /// Path of the invalid value: `resources[0].providers[1].aesgcm.keys[0].secret`.
    pub place: String,
    /// The error, and a valid replacement.
    pub why: String,
}

impl Encryption {
    /// Parses an `EncryptionConfiguration` of `apiserver.config.k8s.io/v1`, in YAML or JSON.
    ///
    /// # Errors
    /// The text is not such a configuration, or holds a field or value that the server would not
    /// apply.
    pub fn read(text: &str) -> Result<Self, EncryptionError> {
        const WHOLE: &str = "the configuration";
        let read = yaml::read(text.as_bytes()).map_err(|error| wrong(WHOLE, &error.0))?;
        if let Some(twice) = read.duplicates.first() {
            return Err(wrong(twice, "is there twice: leave one of them out"));
        }
        let mut file = object(WHOLE, Some(read.value), &["apiVersion", "kind", "metadata", "resources"])?;
        let (version, kind) = (file.remove("apiVersion"), file.remove("kind"));
        if version != Some("apiserver.config.k8s.io/v1".into())
            || kind != Some("EncryptionConfiguration".into())
        {
            let why = "it is of another kind: write kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1";
            return Err(wrong(WHOLE, why));
        }
        let mut all: Vec<(Resources, KeyRing, String)> = Vec::new();
        for (at, rule) in list("resources", file.remove("resources"))?.into_iter().enumerate() {
            let place = format!("resources[{at}]");
            let mut rule = object(&place, Some(rule), &["resources", "providers"])?;
            let ring = read_ring(&format!("{place}.providers"), rule.remove("providers"))?;
            let place = format!("{place}.resources");
            for (at, text) in list(&place, rule.remove("resources"))?.into_iter().enumerate() {
                let place = format!("{place}[{at}]");
                let text = words(&place, Some(text), "a resource")?;
                let resources = Resources::read(&text).map_err(|why| wrong(&place, &why))?;
                // Refused, since the first match decides: the later keys would never be used.
                if let Some((first, _, there)) = all.iter().find(|(first, ..)| first.mask(&resources)) {
                    let why = format!(
                        "{resources} are among {first} in {there} already, and the first counts: put these before those, or leave them out"
                    );
                    return Err(wrong(&place, &why));
                }
                all.push((resources, ring.clone(), place));
            }
        }
        Ok(Self { rules: all.into_iter().map(|(resources, ring, _)| (resources, ring)).collect() })
    }
}

fn read_ring(place: &str, providers: Option<Value>) -> Result<KeyRing, EncryptionError> {
    let mut all = Vec::new();
    for (at, provider) in list(place, providers)?.into_iter().enumerate() {
        all.extend(read_provider(&format!("{place}[{at}]"), provider)?);
    }
    KeyRing::new(all).map_err(|error| wrong(place, &error.to_string()))
}

fn read_provider(place: &str, provider: Value) -> Result<Vec<Provider>, EncryptionError> {
    let provider = object(place, Some(provider), &["aesgcm", "identity", "aescbc", "secretbox", "kms"])?;
    let mut named = provider.into_iter();
    let (Some((name, value)), None) = (named.next(), named.next()) else {
        return Err(wrong(
            place,
            "one provider is one name: write `- aesgcm: {keys: […]}` or `- identity: {}`",
        ));
    };
    let place = format!("{place}.{name}");
    let why = match &*name {
        "aesgcm" => return read_keys(&place, value),
        "identity" => return object(&place, Some(value), &[]).map(|_| vec![Provider::Identity]),
        "aescbc" => "it does not authenticate values: write aesgcm, with a new key",
        "secretbox" => "it is not supported: write aesgcm, with a key of 32 bytes",
        _ => "external key services are not supported: write aesgcm, and keep this file apart from the store",
    };
    Err(wrong(&place, why))
}

fn read_keys(place: &str, provider: Value) -> Result<Vec<Provider>, EncryptionError> {
    let mut provider = object(place, Some(provider), &["keys"])?;
    let place = format!("{place}.keys");
    let keys = list(&place, provider.remove("keys"))?.into_iter().enumerate();
    keys.map(|(at, key)| read_key(&format!("{place}[{at}]"), key).map(Provider::Key)).collect()
}

fn read_key(place: &str, key: Value) -> Result<SealingKey, EncryptionError> {
    let mut key = object(place, Some(key), &["name", "secret"])?;
    let name = words(&format!("{place}.name"), key.remove("name"), "a name")?;
    let place = format!("{place}.secret");
    let encoded = Zeroizing::new(words(&place, key.remove("secret"), "32 random bytes in base64")?);
    let encoded = Zeroizing::new(encoded.replace(['\n', '\r'], ""));
    let secret = STANDARD.decode(encoded.as_bytes()).map(Zeroizing::new).map_err(|_| {
        wrong(&place, "it is no base64: write what `head -c 32 /dev/urandom | base64` prints")
    })?;
    SealingKey::new(&name, &secret).map_err(|error| match error {
        KeyRingError::Length { bytes, .. } => {
            let why = format!("it has {bytes} bytes: write what `head -c 32 /dev/urandom | base64` prints");
            wrong(&place, &why)
        }
        other => wrong(&place.replace(".secret", ".name"), &other.to_string()),
    })
}

fn object(place: &str, value: Option<Value>, known: &[&str]) -> Result<Map<String, Value>, EncryptionError> {
    let Some(Value::Object(fields)) = value else {
        let fields =
            if known.is_empty() { "{}".to_owned() } else { format!("fields, of {}", known.join(", ")) };
        return Err(wrong(place, &format!("it is {}: write {fields}", what(value.as_ref()))));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) if known.is_empty() => {
            Err(wrong(place, &format!("{name:?} is no field of it: write {{}}")))
        }
        Some(name) => {
            Err(wrong(place, &format!("{name:?} is no field of it: there are {}", known.join(", "))))
        }
        None => Ok(fields),
    }
}

/// A non-empty list.
fn list(place: &str, value: Option<Value>) -> Result<Vec<Value>, EncryptionError> {
    match value {
        Some(Value::Array(items)) if !items.is_empty() => Ok(items),
        Some(Value::Array(_)) => Err(wrong(place, "the list is empty: add an item, or omit the field")),
        other => Err(wrong(place, &format!("it is {}: write a list", what(other.as_ref())))),
    }
}

fn words(place: &str, value: Option<Value>, of: &str) -> Result<String, EncryptionError> {
    match value {
        Some(Value::String(text)) => Ok(text),
        other => Err(wrong(place, &format!("it is {}: write {of}, in quotes", what(other.as_ref())))),
    }
}

fn what(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "not there",
        Some(Value::Bool(_)) => "yes or no",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "a map",
    }
}

fn wrong(place: &str, why: &str) -> EncryptionError {
    EncryptionError { place: place.into(), why: why.into() }
}

#[cfg(test)]
mod tests;
