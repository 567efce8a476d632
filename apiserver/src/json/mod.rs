//! JSON as Kubernetes reads it: what it forgives, how it says what is wrong, and which keys were there twice.

mod character;
mod depth;
mod go;
mod names;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use character::is_printable;
pub(crate) use depth::{OBJECT_DEPTH, depth, shallow};
pub(crate) use go::go_json;
pub(crate) use names::{plain_type_name, type_name};
pub(crate) use read::{MAX_DEPTH, MAX_VALUES, Malformed, Read, number, read};
