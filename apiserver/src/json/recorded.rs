//! The output of Go for characters, strings and floats, recorded by `record/text`.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct GoRecording {
    pub(crate) printable: Vec<(u32, u32)>,
    pub(crate) unassigned: Vec<(u32, u32)>,
    /// A string and its `%q`.
    pub(crate) quotes: Vec<(String, String)>,
    /// A string, its JSON, and its path elements as an item and as a key.
    pub(crate) strings: Vec<(String, String, String, String)>,
    floats: Vec<(String, String, String, String)>,
}

pub(crate) struct GoFloat {
    pub(crate) value: f64,
    pub(crate) json: String,
    pub(crate) path_element: String,
    /// Its `%v`.
    pub(crate) plain: String,
}

impl GoRecording {
    pub(crate) fn load() -> Self {
        serde_json::from_str(include_str!("recorded.json")).unwrap()
    }

    pub(crate) fn floats(&self) -> impl Iterator<Item = GoFloat> {
        self.floats.iter().cloned().map(|(bits, json, path_element, plain)| GoFloat {
            value: f64::from_bits(u64::from_str_radix(&bits, 16).unwrap()),
            json,
            path_element,
            plain,
        })
    }
}
