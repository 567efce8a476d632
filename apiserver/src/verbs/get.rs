//! Get.

use http::Response;

use super::Job;
use super::output::Output;
use crate::accept::EndpointKind;
use crate::http::Body;
use crate::refusal::Refusal;
use crate::request::GetOptions;
use crate::storage::Moment;
use crate::strategy::not_found;

pub(super) async fn get(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, EndpointKind::Object)?;
    let moment = Moment::of_get(&GetOptions::parse(&job.asked.query)?);
    let entry = job.shared.objects.get(&job.key(), moment).await?;
    let entry = entry.ok_or_else(|| not_found(job.kind, job.name()))?;
    output.entry(200, job, &entry)
}
