//! The texts of keys in selectors. A `Display` that panics makes its key like one that the source
//! refuses: it delays no others and is retried.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use machinery_objects::{InterestEdit, SourceError};

use super::interest_counts::Tenure;
use machinery_sync::contained;

pub(super) fn text_of(key: &impl Display) -> Result<String, SourceError> {
    contained(|| key.to_string())
        .map_err(|_| SourceError::Invalid { reason: "formatting the key panics".into(), causes: Vec::new() })
}

pub(super) fn texts_of<'k, F: Display + 'k>(
    keys: impl Iterator<Item = &'k F>,
) -> Result<BTreeSet<Arc<str>>, SourceError> {
    keys.map(|key| text_of(key).map(Into::into)).collect()
}

pub(super) fn edit_of<F: Display>(
    remove: &BTreeSet<F>,
    add: &BTreeMap<F, Tenure>,
) -> Result<InterestEdit, SourceError> {
    // Removing a key whose text panics reopens the stream without it; other keys are not at fault.
    let is_gone =
        |error: SourceError| SourceError::Unavailable { reason: error.to_string(), retry_after: None };
    Ok(InterestEdit { remove: texts_of(remove.iter()).map_err(is_gone)?, add: texts_of(add.keys())? })
}
