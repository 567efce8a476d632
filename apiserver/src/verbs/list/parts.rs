//! A list in JSON or YAML, streamed so that it is never in memory as a whole.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use machinery_store::Entry;
use serde_json::{Value, json};

use super::PART;
use crate::accept::{Media, Representation, ResponseFormat};
use crate::http::Body;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::table::{Include, Tables, cut};
use crate::verbs::output::{item, omitted_head, read, write_item};
use crate::yaml;

/// The format of the items.
pub(super) struct Items {
    pub(super) kind: Arc<Kind>,
    pub(super) form: ResponseFormat,
    pub(super) include: Include,
    pub(super) now: Timestamp,
}

/// Returns the body of a list. `outer` is the list without its items.
pub(super) fn body(items: Items, mut outer: Value, entries: Vec<Arc<Entry>>) -> Result<Body, Refusal> {
    let field = if outer.get("rows").is_some() { "rows" } else { "items" };
    if let Some(outer) = outer.as_object_mut() {
        outer.remove(field);
    }
    let text = ListFrame::of(items.form, &outer, field, entries.is_empty());
    let omitted_head = omitted_head(&items.kind);
    let mut making =
        TextList { items, omitted_head, text, entries: entries.into_iter(), first: true, ended: false };
    let first = making.part(Vec::with_capacity(PART))?;
    if making.ended {
        return Ok(Body::whole(first));
    }
    let rest = stream::iter(std::iter::from_fn(move || {
        (!making.ended).then(|| making.part(Vec::with_capacity(PART + 4096)))?.ok().map(Bytes::from)
    }));
    Ok(Body::parts(stream::iter([Bytes::from(first)]).chain(rest)))
}

/// The text around the items.
struct ListFrame {
    before: String,
    between: &'static str,
    after: &'static str,
}

impl ListFrame {
    fn of(form: ResponseFormat, outer: &Value, field: &str, is_empty: bool) -> Self {
        let open = |text: String, end: &str| text.strip_suffix(end).map(str::to_owned).unwrap_or(text);
        match (form.media, form.pretty) {
            (Media::Yaml, _) => {
                let none = if is_empty { " []" } else { "" };
                Self { before: format!("{}{field}:{none}\n", yaml::write(outer)), between: "", after: "" }
            }
            (_, true) => {
                let outer = serde_json::to_string_pretty(outer).expect("a value is JSON");
                let (first, after) = if is_empty { ("", "]\n}\n") } else { ("\n    ", "\n  ]\n}\n") };
                let before = format!("{},\n  \"{field}\": [{first}", open(outer, "\n}"));
                Self { before, between: ",\n    ", after }
            }
            (_, false) => {
                let before = format!("{},\"{field}\":[", open(outer.to_string(), "}"));
                Self { before, between: ",", after: "]}\n" }
            }
        }
    }
}

struct TextList {
    items: Items,
    omitted_head: String,
    text: ListFrame,
    entries: std::vec::IntoIter<Arc<Entry>>,
    first: bool,
    ended: bool,
}

impl TextList {
    fn part(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        bytes.extend(std::mem::take(&mut self.text.before).into_bytes());
        while bytes.len() < PART {
            let Some(entry) = self.entries.next() else {
                bytes.extend_from_slice(self.text.after.as_bytes());
                self.ended = true;
                break;
            };
            if !std::mem::take(&mut self.first) {
                bytes.extend_from_slice(self.text.between.as_bytes());
            }
            self.item(&entry, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn item(&self, entry: &Entry, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let Items { kind, form, .. } = &self.items;
        if form.media == Media::Json && form.shape == Representation::Whole && !form.pretty {
            return write_item(kind, &self.omitted_head, entry, bytes);
        }
        let item = self.items.shaped(read(kind, entry, entry.modified)?);
        match (form.media, form.pretty) {
            (Media::Yaml, _) => bytes.extend(yaml::write(&json!([item])).into_bytes()),
            (_, true) => {
                let text = serde_json::to_string_pretty(&item).expect("a value is JSON");
                bytes.extend(text.replace('\n', "\n    ").into_bytes());
            }
            (_, false) => serde_json::to_writer(bytes, &item).expect("a value is JSON"),
        }
        Ok(())
    }
}

impl Items {
    fn shaped(&self, mut object: Value) -> Value {
        match self.form.shape {
            Representation::Table(version) => {
                let (columns, include, now) = (&self.kind.columns, self.include, self.now);
                let secret_fields = self.kind.secret_fields();
                Tables { columns, secret_fields, version, include, now }.row(object)
            }
            Representation::MetadataList(version) => cut(&mut object, version),
            Representation::Whole | Representation::Metadata(_) | Representation::Discovery(_) => {
                item(&self.kind, object)
            }
        }
    }
}
