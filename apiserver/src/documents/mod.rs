//! Non-resource endpoints: discovery, OpenAPI, version, metrics and health.

mod health;
mod immutable;
mod index;
mod rendered;

pub(crate) use rendered::Documents;

use std::sync::Arc;

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use http::{Method, Response};
use serde_json::json;

use crate::accept::{
    DiscoveryVersion, EndpointKind, OPENAPI_V2_TYPE, ProtobufSupport, Representation, ResponseFormat,
    accepts_json, negotiate, openapi_v2,
};
use crate::discovery::Page;
use crate::http::{Body, answer};
use crate::metrics::CONTENT_TYPE;
use crate::refusal::Refusal;
use crate::request::Query;
use crate::server::{DocumentRequest, Shared};

/// Returns whether every authenticated user may read the document: health checks need no
/// permissions.
pub(crate) fn is_open(parts: &[String]) -> bool {
    matches!(parts.first().map(String::as_str), Some("healthz" | "livez" | "readyz" | "version"))
        && parts.len() <= 2
}

/// Serves a document.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    call: &DocumentRequest,
    parts: &[String],
    query: &Query,
) -> Result<Response<Body>, Refusal> {
    if call.method != Method::GET && call.method != Method::HEAD {
        let message = "the server does not allow this method on the requested resource";
        return Err(Refusal::new(405, "MethodNotAllowed", message));
    }
    let registry = shared.kinds();
    let documents = registry.documents();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts[..] {
        [] | ["index.html"] => Ok(index(shared, documents)),
        ["api"] => roots(call, documents, true),
        ["apis"] => roots(call, documents, false),
        ["api", version] => plain(call, documents.discovery.resources("", version)),
        ["apis", group] => plain(call, documents.discovery.group(group)),
        ["apis", group, version] => plain(call, documents.discovery.resources(group, version)),
        ["openapi", "v2"] => swagger(call, documents),
        ["openapi", "v3"] => {
            // Before the index is rendered, with every document: that takes megabytes.
            accepts_json(call.header(ACCEPT))?;
            known(call, ResponseFormat::default(), documents.openapi().index())
        }
        ["openapi", "v3", ref path @ ..] => {
            let path = path.join("/");
            let Some(document) = documents.openapi().document(&path) else {
                return Ok(answer::nothing_there());
            };
            let now = shared.environment.now();
            Ok(immutable::answered(
                page(call, document)?,
                query.first("hash"),
                document,
                (path.as_str(), now),
            ))
        }
        ["version"] => plain(call, Some(version())),
        ["metrics"] => Ok(metrics(shared).await),
        ["healthz" | "livez" | "readyz", ..] => health::answer(shared, &parts, query).await,
        _ => Ok(answer::nothing_there()),
    }
}

/// Returns the list of paths, indented as in Kubernetes.
fn index(shared: &Shared, documents: &Documents) -> Response<Body> {
    let paths = index::paths(&documents.discovery, &health::CheckNames::new(shared));
    answer::value(200, ResponseFormat { pretty: true, ..ResponseFormat::default() }, &paths)
}

/// Renders the metrics. If the store does not respond, they keep its last revision.
async fn metrics(shared: &Arc<Shared>) -> Response<Body> {
    let revision = shared.objects.revision().await.ok().map(|revision| revision.0);
    shared.capacity.export();
    let page = shared.metrics.page(revision, shared.kinds().kinds().count());
    answer::bytes(200, CONTENT_TYPE, Body::whole(page))
}

fn roots(call: &DocumentRequest, documents: &Documents, core: bool) -> Result<Response<Body>, Refusal> {
    let form = negotiate(call.header(ACCEPT), EndpointKind::Roots, ProtobufSupport::None)?;
    let discovery = &documents.discovery;
    let aggregated = |version: DiscoveryVersion| match core {
        true => discovery.aggregated_api(version),
        false => discovery.aggregated_apis(version),
    };
    match form.shape {
        Representation::Discovery(version) => {
            let answer = known(call, form, aggregated(version))?;
            // The response depends on `Accept`, which shared caches must know.
            Ok(answer::with(answer::with(answer, VARY, "Accept"), CACHE_CONTROL, "public"))
        }
        _ if core => Ok(answer::value(200, form, &discovery.api_versions("127.0.0.1"))),
        _ => known(call, form, discovery.groups()),
    }
}

fn plain(call: &DocumentRequest, document: Option<serde_json::Value>) -> Result<Response<Body>, Refusal> {
    let form = negotiate(call.header(ACCEPT), EndpointKind::Plain, ProtobufSupport::None)?;
    Ok(document.map_or_else(answer::nothing_there, |document| answer::value(200, form, &document)))
}

/// The OpenAPI v2 document, as JSON or protobuf.
fn swagger(call: &DocumentRequest, documents: &Documents) -> Result<Response<Body>, Refusal> {
    let json = ResponseFormat::default().content_type();
    let answer = match openapi_v2(call.header(ACCEPT))? {
        true => known_as(call, OPENAPI_V2_TYPE, documents.openapi().binary()),
        false => known_as(call, json, documents.openapi().swagger()),
    };
    Ok(answer::with(answer, VARY, "Accept"))
}

fn page(call: &DocumentRequest, page: &Page) -> Result<Response<Body>, Refusal> {
    accepts_json(call.header(ACCEPT))?;
    known(call, ResponseFormat::default(), page)
}

/// The document, or 304 if the client has it.
fn known(call: &DocumentRequest, form: ResponseFormat, page: &Page) -> Result<Response<Body>, Refusal> {
    Ok(known_as(call, form.content_type(), page))
}

fn known_as(call: &DocumentRequest, content_type: &'static str, page: &Page) -> Response<Body> {
    let (code, body) = match page.is_known(call.header(IF_NONE_MATCH)) {
        true => (304, Body::whole("")),
        false => (200, Body::whole(page.json.clone())),
    };
    answer::with(answer::bytes(code, content_type, body), ETAG, &page.etag())
}

/// The emulated version of Kubernetes, by which clients choose API features.
fn version() -> serde_json::Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": concat!("v1.37.2+machinery-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none",
        "compiler": "rustc", "platform": platform(), "emulationMajor": "1", "emulationMinor": "37",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "36",
    })
}

/// The platform by Go's names.
fn platform() -> String {
    use std::env::consts::{ARCH, OS};
    let system = if OS == "macos" { "darwin" } else { OS };
    let processor = match ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        "loongarch64" => "loong64",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        "powerpc64" => "ppc64",
        other => other,
    };
    format!("{system}/{processor}")
}
