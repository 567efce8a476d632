//! The verb `get`: reads one object, current or at least as new as requested.

use http::Response;

use super::VerbRequest;
use super::output::Output;
use crate::accept::EndpointKind;
use crate::http::Body;
use crate::refusal::Refusal;
use crate::request::GetOptions;
use crate::storage::Moment;
use crate::strategy::not_found;

pub(super) async fn get(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, EndpointKind::Object)?;
    let moment = Moment::of_get(&GetOptions::parse(&request.wire.query)?);
    let entry = request.shared.objects.get(&request.key(), moment).await?;
    let entry = entry.ok_or_else(|| not_found(request.kind, request.name()))?;
    output.entry(200, request, &entry)
}
