//! Streaming encoder of lists: items are encoded one by one, and only their total length is needed
//! in advance.

use serde_json::{Map, Value};

use super::envelope::{END, begun, cannot_be_encoded, no_messages, type_of};
use super::message;
use super::wire::{write_length, write_message};
use crate::builtin::{Base, Type, table};
use crate::refusal::Refusal;

/// Writes the parts of a list of one kind, which together are the bytes that Go writes for the
/// whole.
#[derive(Clone, Debug)]
pub(crate) struct ListWriter {
    api_version: String,
    kind: String,
    list: &'static Type,
    item: &'static Type,
    /// The field number of the items.
    number: u32,
}

impl ListWriter {
    /// The end of every list.
    pub(crate) const END: &'static [u8] = END;

    /// Creates an encoder for lists of a kind: `v1`, `PodList`.
    ///
    /// # Errors
    /// 406 if there are no messages of it.
    pub(crate) fn of(api_version: &str, kind: &str) -> Result<Self, Refusal> {
        let found = type_of(api_version, kind).and_then(|list| {
            let items = table().field(list, "items")?;
            let Base::Message(item) = items.base else { return None };
            Some((list, table().get(item), items.number))
        });
        let (list, item, number) = found.ok_or_else(|| no_messages(api_version, kind))?;
        Ok(Self { api_version: api_version.to_owned(), kind: kind.to_owned(), list, item, number })
    }

    /// Returns the bytes before the items. `items` is their total length.
    pub(crate) fn head(&self, metadata: &Value, items: usize) -> Result<Vec<u8>, Refusal> {
        let mut list = Vec::new();
        let fields = Map::from_iter([("metadata".to_owned(), metadata.clone())]);
        message(&mut list, self.list, &fields).map_err(|wrong| self.cannot(&wrong))?;
        let mut head = begun(&self.api_version, &self.kind);
        write_length(&mut head, 2, list.len() + items);
        head.append(&mut list);
        Ok(head)
    }

    /// Appends an item. Of an object it encodes the fields of items: in a list of metadata, the
    /// metadata only.
    pub(crate) fn item(&self, out: &mut Vec<u8>, object: &Value) -> Result<(), Refusal> {
        let empty = Map::new();
        let object = object.as_object().unwrap_or(&empty);
        write_message(out, self.number, |out| message(out, self.item, object))
            .map_err(|wrong| self.cannot(&wrong))
    }

    fn cannot(&self, wrong: &super::WrongType) -> Refusal {
        cannot_be_encoded(&self.api_version, &self.kind, wrong)
    }
}
