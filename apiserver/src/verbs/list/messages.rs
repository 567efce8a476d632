//! A list in protobuf. Its length precedes its items, so the items are encoded once to measure
//! them.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::Response;
use machinery_store::Entry;
use serde_json::Value;
use tokio::task::yield_now;

use super::PART;
use crate::accept::{MetaVersion, Representation};
use crate::http::{Body, answer};
use crate::kind::Kind;
use crate::protobuf::ListWriter;
use crate::refusal::Refusal;
use crate::table::list_metadata;
use crate::verbs::output::{Output, read};

/// Encodings up to this size are kept while measuring. Later items are encoded again when sent: a
/// long list costs twice the processor time and no memory.
const KEPT: usize = 1 << 20;
/// Items measured before the task yields.
const TURN: usize = 256;

/// Returns the response, if this list has a protobuf form.
pub(super) async fn answer(
    output: &Output,
    kind: &Arc<Kind>,
    metadata: &Value,
    entries: &[Arc<Entry>],
) -> Result<Option<Response<Body>>, Refusal> {
    let (lists, metadata) = match output.form.shape {
        Representation::Whole => {
            (ListWriter::of(&kind.api_version, &kind.names.list_kind)?, metadata.clone())
        }
        Representation::MetadataList(version) => (of_metadata(version)?, list_metadata(metadata.clone())),
        Representation::Metadata(_) | Representation::Table(_) | Representation::Discovery(_) => {
            return Ok(None);
        }
    };
    let making = ProtobufList { lists, kind: kind.clone() };
    let (mut kept, mut sent, mut length, mut item) = (Vec::new(), 0, 0, Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        item.clear();
        making.item(entry, &mut item)?;
        length += item.len();
        if sent == at && kept.len() < KEPT {
            kept.extend_from_slice(&item);
            sent += 1;
        }
        if at % TURN == TURN - 1 {
            yield_now().await;
        }
    }
    let mut first = making.lists.head(&metadata, length)?;
    first.append(&mut kept);
    let content_type = output.form.content_type();
    if sent == entries.len() {
        first.extend_from_slice(ListWriter::END);
        return Ok(Some(answer::bytes(200, content_type, Body::whole(first))));
    }
    let rest = making.rest(entries[sent..].to_vec());
    let parts = stream::iter([Bytes::from(first)]).chain(rest);
    Ok(Some(answer::bytes(200, content_type, Body::parts(parts))))
}

fn of_metadata(version: MetaVersion) -> Result<ListWriter, Refusal> {
    ListWriter::of(version.api_version(), "PartialObjectMetadataList")
}

struct ProtobufList {
    lists: ListWriter,
    kind: Arc<Kind>,
}

impl ProtobufList {
    fn item(&self, entry: &Entry, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.lists.item(out, &read(&self.kind, entry, entry.modified)?)
    }

    /// Streams the items and the end. An item that fails was already reported while measuring.
    fn rest(self, entries: Vec<Arc<Entry>>) -> impl futures::Stream<Item = Bytes> + Send + 'static {
        let mut entries = entries.into_iter();
        let mut ended = false;
        stream::iter(std::iter::from_fn(move || {
            let mut part = Vec::with_capacity(PART + 4096);
            while part.len() < PART && !ended {
                match entries.next() {
                    Some(entry) => self.item(&entry, &mut part).ok()?,
                    None => {
                        part.extend_from_slice(ListWriter::END);
                        ended = true;
                    }
                }
            }
            (!part.is_empty()).then(|| part.into())
        }))
    }
}
