//! Removes duplicate owner references.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::bounded::BoundedTexts;

/// Drops owners that are there more than once, and gives the warning for it.
pub(crate) fn dedup_owners(meta: &mut Map<String, Value>) -> Option<String> {
    let owners = meta.get_mut("ownerReferences")?.as_array_mut()?;
    let mut known = BTreeSet::new();
    let mut twice = BoundedTexts::default();
    // Compared as texts: their keys are sorted, and there may be very many.
    owners.retain(|owner| {
        let new = known.insert(owner.to_string());
        if !new {
            twice.push(owner["uid"].as_str().unwrap_or_default());
        }
        new
    });
    (!twice.kept().is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", "),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(owners: Value, expected: Value, uids: Option<&str>) {
        let mut meta = Map::from_iter([("ownerReferences".to_owned(), owners)]);
        let warning = dedup_owners(&mut meta);
        assert_eq!(meta["ownerReferences"], expected);
        assert_eq!(warning.as_deref().map(|warning| warning.rsplit_once(": ").unwrap().1), uids);
    }

    #[test]
    fn owners() {
        assert_eq!(dedup_owners(&mut Map::new()), None);
        let (a, b, c) = (json!({"uid": "1"}), json!({"uid": "2"}), json!({"uid": "1", "name": "x"}));
        check(json!([a, b, c]), json!([a, b, c]), None);
        check(json!([a, b, a, c, a, b]), json!([a, b, c]), Some("1, 1, 2"));
    }
}
