//! The texts of keys, by which they are selected. A program brings them with it, and they may panic: then the key is as one that
//! the source finds wrong, so it holds up no others and is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use machinery_objects::{InterestEdit, SourceError};

use super::interest_counts::Tenure;
use machinery_sync::contained;

pub(super) fn text_of(key: &impl Display) -> Result<String, SourceError> {
    contained(|| key.to_string()).map_err(|_| SourceError::Invalid {
        reason: "a key panics when it is asked for its text".into(),
        causes: Vec::new(),
    })
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
    // One that cannot be taken back is left out of another stream, and that is no fault of those that are wanted.
    let is_gone =
        |error: SourceError| SourceError::Unavailable { reason: error.to_string(), retry_after: None };
    Ok(InterestEdit { remove: texts_of(remove.iter()).map_err(is_gone)?, add: texts_of(add.keys())? })
}
