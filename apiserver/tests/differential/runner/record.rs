//! Recorded answers: a file a theme.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Result;
use super::case::{Theme, home};

/// The answers of the genuine machinery to the cases of one theme.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The server that gave these answers.
    pub(crate) server: String,
    pub(crate) cases: BTreeMap<String, Recorded>,
}

/// The answers to one case.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recorded {
    /// The fingerprint of the recorded case.
    pub(crate) print: String,
    /// The answers of the compared steps, in order.
    pub(crate) answers: Vec<Value>,
}

impl Record {
    /// The file of a theme.
    pub(crate) fn path(theme: &str) -> PathBuf {
        home().join("recorded").join(format!("{theme}.json"))
    }

    /// Reads it.
    pub(crate) fn read(theme: &str) -> Result<Self> {
        let path = Self::path(theme);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// Cases that have no answers here, or answers to something else.
    pub(crate) fn stale<'a>(&self, theme: &'a Theme) -> Vec<&'a str> {
        let fresh = |name: &str, print: &str| self.cases.get(name).is_some_and(|it| it.print == print);
        theme
            .cases
            .iter()
            .filter(|case| !fresh(&case.name, &case.print))
            .map(|case| case.name.as_str())
            .collect()
    }
}
