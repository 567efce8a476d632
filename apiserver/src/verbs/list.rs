//! The verb `list`: selected objects at one revision, in pages or as one streamed response.

mod messages;
mod parts;

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use http::Response;
use machinery_objects::Revision;
use machinery_store::{Entry, Range};
use serde_json::{Value, json};

use super::output::Output;
use super::{ObjectRequest, VerbRequest};
use crate::accept::{EndpointKind, Media};
use crate::cache::{self, ObjectFilter};
use crate::http::{Body, answer};
use crate::refusal::Refusal;
use crate::request::{ContinueAt, ContinueToken, FieldLabels, ListAt, ListOptions, check_fields};
use crate::select::Selection;
use crate::storage::{Moment, expired};

/// Size of a chunk of a streamed list.
const PART: usize = 64 << 10;
/// Entries per read if a selector skips most of them.
const STRIDE: usize = 4096;

pub(super) async fn list(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, EndpointKind::Object)?;
    let options = ListOptions::parse(&request.wire.query, false)?;
    let selection = selection(request, &options)?;
    let found = list_page(request, &options.at, options.limit, &selection).await?;
    let metadata = found.metadata(request.kind.built_in);
    if output.form.media == Media::Protobuf
        && let Some(answer) = messages::answer(&output, request.kind, &metadata, &found.entries).await?
    {
        return Ok(answer);
    }
    let outer = json!({
        "apiVersion": request.kind.api_version, "kind": request.kind.names.list_kind, "metadata": metadata, "items": [],
    });
    let outer = output.shaped(request, outer)?;
    let (form, include) = (output.form, output.include);
    if form.media == Media::Protobuf {
        return Ok(answer::value(200, form, &outer)); // not a list format: refused there
    }
    let items =
        parts::Items { kind: request.kind.clone(), form, include, now: request.shared.environment.now() };
    Ok(answer::bytes(200, form.content_type(), parts::body(items, outer, found.entries)?))
}

/// Returns the selection of a list, watch or deletion of a collection.
pub(super) fn selection(request: &VerbRequest<'_>, options: &ListOptions) -> Result<Selection, Refusal> {
    let fields: Vec<String> =
        request.kind.selectable.iter().map(|selectable| selectable.field.clone()).collect();
    let labels = match request.kind.built_in && fields.is_empty() {
        true => FieldLabels::Names,
        false => FieldLabels::These { namespaced: request.kind.namespaced, fields: &fields },
    };
    check_fields(&options.fields, labels)?;
    let kind = request.kind.clone();
    Ok(Selection { kind, labels: options.labels.clone(), fields: options.fields.clone() })
}

/// Returns the metadata of a complete list.
pub(super) fn metadata(built_in: bool, at: Revision) -> Value {
    let mut metadata = json!({"resourceVersion": at.to_string()});
    if !built_in {
        metadata["continue"] = "".into(); // as in lists of custom resources
    }
    metadata
}

/// A page of a list.
pub(crate) struct ListPage {
    pub(crate) at: Revision,
    pub(crate) entries: Vec<Arc<Entry>>,
    /// The continue token.
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<u64>,
}

impl ListPage {
    fn metadata(&self, built_in: bool) -> Value {
        let mut metadata = metadata(built_in, self.at);
        if let Some(next) = &self.next {
            metadata["continue"] = next.as_str().into();
        }
        if let Some(remaining) = self.remaining.filter(|_| self.next.is_some()) {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// Returns a page in key order: current objects from the cache, older revisions from the store.
pub(crate) async fn list_page(
    request: &ObjectRequest<'_>,
    at: &ListAt,
    limit: Option<NonZeroU64>,
    selection: &Selection,
) -> Result<ListPage, Refusal> {
    let limit = limit.and_then(|limit| NonZeroUsize::try_from(limit).ok());
    match at {
        ListAt::Newest | ListAt::Any => list_from_cache(request, None, limit, selection).await,
        ListAt::NotOlderThan(least) => {
            list_from_cache(request, Some(Revision(*least)), limit, selection).await
        }
        // The cache has the newest state only.
        ListAt::Exact(_) | ListAt::After(_) => list_from_store(request, at, limit, selection).await,
    }
}

async fn list_from_cache(
    request: &ObjectRequest<'_>,
    least: Option<Revision>,
    limit: Option<NonZeroUsize>,
    selection: &Selection,
) -> Result<ListPage, Refusal> {
    let view = request.shared.view(request.kind, least).await?;
    let filter = ObjectFilter { selection: selection.clone(), namespace: request.namespace().map(Arc::from) };
    let cache::SelectedObjects { entries, more } = view.select(&filter, limit.map(NonZeroUsize::get));
    let start = request.kind.place.start(request.namespace());
    let next =
        entries.last().filter(|_| more > 0).map(|last| continue_token(&start, last, view.at)).transpose()?;
    // After a scan the remaining count is unknown.
    let remaining = (selection.is_everything() && limit.is_some()).then_some(more as u64);
    Ok(ListPage { at: view.at, entries, next, remaining })
}

/// Returns the continue token after an entry. Fails if it cannot be encoded: without a token the
/// client would take the page for the last one.
fn continue_token(start: &str, last: &Entry, at: Revision) -> Result<String, Refusal> {
    let below = last.key.strip_prefix(start).unwrap_or_default();
    let token = ContinueToken::new(ContinueAt::Revision(at.0), format!("{below}\0"));
    let lost = || Refusal::new(500, "InternalError", format!("a list cannot go on after {:?}", last.key));
    Ok(token.ok_or_else(lost)?.encode())
}

async fn list_from_store(
    request: &ObjectRequest<'_>,
    at: &ListAt,
    limit: Option<NonZeroUsize>,
    selection: &Selection,
) -> Result<ListPage, Refusal> {
    let start = request.kind.place.start(request.namespace());
    let mut range = Range::of(selection.span(request.namespace()));
    let moment = match at {
        ListAt::Exact(at) => Moment::Exactly(Revision(*at)),
        ListAt::After(token) => {
            // A page continues with the first key after its last one.
            range.after = Some(format!("{start}{}", token.start().trim_end_matches('\0')).into());
            match token.at {
                ContinueAt::Revision(at) => Moment::Exactly(Revision(at)),
                ContinueAt::Newest => Moment::Newest,
            }
        }
        ListAt::Newest | ListAt::Any | ListAt::NotOlderThan(_) => Moment::Newest,
    };
    let everything = selection.is_everything();
    range.limit = match limit {
        Some(limit) if everything => Some(limit),
        Some(_) => NonZeroUsize::new(STRIDE),
        None => None,
    };
    range.count = everything && limit.is_some();
    let mut listed = read_page(request, range.clone(), moment, at).await?;
    let (revision, remaining) = (listed.at, listed.remaining);
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    loop {
        let mut rest = listed.entries.into_iter();
        entries.extend(
            rest.by_ref()
                .filter(|entry| selection.sees(entry))
                .take(limit.map_or(usize::MAX, |limit| limit.get() - entries.len())),
        );
        let full = limit.is_some_and(|limit| entries.len() >= limit.get());
        let more = rest.len() > 0 || listed.next.is_some();
        match listed.next {
            Some(next) if !full => {
                listed = read_page(request, range.clone().resume(next), Moment::Newest, at).await?
            }
            _ => {
                let last = entries.last().filter(|_| full && more);
                let next = last.map(|last| continue_token(&start, last, revision)).transpose()?;
                return Ok(ListPage { at: revision, entries, next, remaining });
            }
        }
    }
}

async fn read_page(
    request: &ObjectRequest<'_>,
    range: Range,
    moment: Moment,
    at: &ListAt,
) -> Result<crate::storage::Listed, Refusal> {
    let page = request.shared.objects.list(range, moment).await;
    page.map_err(|refusal| match at {
        ListAt::After(token) if refusal.reason == "Expired" => {
            let again = ContinueToken::new(ContinueAt::Newest, token.start());
            let mut refusal = expired(TOO_OLD);
            refusal.next = again.map(|token| token.encode());
            refusal
        }
        _ => refusal,
    })
}

const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new \
     list without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
     results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
     deleted between the time the first chunk was returned and now may show up in the list.";
