//! Guard keys, and the store keys of their records.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Guard;
use crate::kind::Kind;

/// Prefix of all records. No key of an object begins with a slash.
const RECORDS: &str = "/guards/";
/// Maximum length in bytes of a key in a record's name; longer ones are hashed.
const PLAIN: usize = 200;

/// The guard keys of an object.
pub(crate) struct ObjectKeys {
    /// Prefixed with the guard's prefix, sorted and distinct. Without those of `panicked`.
    pub(crate) keys: Vec<String>,
    /// The name of a guard whose key function panicked.
    pub(crate) panicked: Option<String>,
}

/// Returns the keys of an object for all guards.
pub(crate) fn keys(guards: &[Arc<dyn Guard>], object: &Value) -> ObjectKeys {
    let (mut all, mut panicked) = (Vec::new(), None);
    for guard in guards {
        match catch_unwind(AssertUnwindSafe(|| guard.keys(object))) {
            Ok(keys) => all.extend(keys.iter().map(|key| format!("{}/{key}", guard.prefix()))),
            Err(_) => panicked = Some(guard.name().to_owned()),
        }
    }
    all.sort_unstable();
    all.dedup();
    ObjectKeys { keys: all, panicked }
}

/// The store key of a record: `/guards/GROUP/PLURAL/GUARD/=KEY`, or `…/#HASH`; for a guard over
/// several kinds `/guards/*GUARD/=KEY`.
pub(super) fn record(kind: &Kind, key: &str) -> Arc<str> {
    let (guard, text) = key.split_once('/').unwrap_or((key, ""));
    let kind = if guard.starts_with('*') { "".into() } else { kind.place.start(None) };
    let start = format!("{RECORDS}{kind}{guard}/");
    if text.len() <= PLAIN {
        // `=` and `#` keep texts apart from hashes: a short key may look like a hash.
        return format!("{start}={text}").into();
    }
    let mut record = format!("{start}#");
    for byte in Sha256::digest(text) {
        let _ = write!(record, "{byte:02x}");
    }
    record.into()
}

/// Returns whether the key belongs to the guard with this prefix.
pub(super) fn is_of(key: &str, prefix: &str) -> bool {
    key.split_once('/').is_some_and(|(start, _)| start == prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{GuardedObject, GuardedWrite};
    use crate::invalid::FieldError;
    use crate::native;

    struct KeyedGuard(&'static str, &'static [&'static str]);

    impl Guard for KeyedGuard {
        fn name(&self) -> &str {
            self.0
        }

        fn keys(&self, _: &Value) -> Vec<String> {
            assert_ne!(self.1, ["panic"]);
            self.1.iter().map(ToString::to_string).collect()
        }

        fn check(&self, _: &GuardedWrite, _: &[GuardedObject]) -> Vec<FieldError> {
            Vec::new()
        }
    }

    #[test]
    fn guard_keys_are_distinct_and_prefixed() {
        let all = |guards: &[Arc<dyn Guard>]| {
            let ObjectKeys { keys, panicked } = keys(guards, &Value::Null);
            (keys, panicked)
        };
        let guards: [Arc<dyn Guard>; 2] =
            [Arc::new(KeyedGuard("b", &["y", "x", "y"])), Arc::new(KeyedGuard("a", &["x", ""]))];
        assert_eq!(all(&guards), (["a/", "a/x", "b/x", "b/y"].map(String::from).to_vec(), None));
        let panics: [Arc<dyn Guard>; 2] =
            [Arc::new(KeyedGuard("b", &["y"])), Arc::new(KeyedGuard("a", &["panic"]))];
        assert_eq!(all(&panics), (vec!["b/y".into()], Some("a".into())));
    }

    #[test]
    fn each_guard_key_has_a_distinct_record() {
        let kind = native::namespace();
        let at = |key: &str| record(&kind, key).to_string();
        assert_eq!(at("disjoint/vni/17"), "/guards/core/namespaces/disjoint/=vni/17");
        assert_eq!(at("*disjoint/vni/17"), "/guards/*disjoint/=vni/17");
        let hashed = at(&format!("disjoint/{}", "x".repeat(PLAIN + 1)));
        assert!(hashed.starts_with("/guards/core/namespaces/disjoint/#") && hashed.len() < 110, "{hashed}");
        let different = [
            at("disjoint/"),
            at("disjoint/="),
            at("other/"),
            at(&format!("disjoint/{}", "x".repeat(PLAIN))),
            at(&format!("disjoint/{}", "x".repeat(PLAIN + 2))),
            // A key that equals a hash must not collide with the record of that hash.
            at(&format!("disjoint/{}", hashed.rsplit_once('/').map_or("", |(_, hash)| hash))),
            hashed,
        ];
        let mut apart = different.to_vec();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), different.len(), "{different:?}");
    }
}
