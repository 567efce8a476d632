//! JSON as Kubernetes decodes it: its tolerance, its error texts and its reports of duplicate keys.

mod character;
mod depth;
mod go;
mod memory;
mod names;
mod order;
mod read;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

pub(crate) use character::is_printable;
pub(crate) use depth::{OBJECT_DEPTH, depth, shallow};
pub(crate) use go::{format_float, go_json, json_iterator, json_iterator_name};
pub(crate) use memory::DocumentMemory;
pub(crate) use names::{plain_type_name, type_name};
pub(crate) use order::in_order;
pub(crate) use read::{MAX_DEPTH, MAX_VALUES, MalformedJson, ParsedJson, number, read};
#[cfg(test)]
pub(crate) use recorded::GoRecording;
