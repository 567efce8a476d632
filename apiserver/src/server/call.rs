//! The way of one request: read once, known who it is from, allowed, done, answered.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};
use tokio::time::Instant;

use super::Shared;
use crate::auth::Identity;
use crate::auth::rbac::{Attributes, On, Resource as Asks};
use crate::http::{Body, answer};
use crate::metrics::About;
use crate::refusal::Refusal;
use crate::request::{Query, Resource, Target, Verb, field_selector};
use crate::{documents, verbs};

/// A request as it came.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Who it is from, if the connection says so.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// A request for objects, read and allowed.
pub(crate) struct Asked {
    pub(crate) verb: Verb,
    pub(crate) resource: Resource,
    pub(crate) query: Query,
    pub(crate) identity: Arc<Identity>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Asked {
    pub(crate) fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Shared {
    /// Answers a request. Never fails: what goes wrong is an answer, too.
    pub(crate) async fn answer(self: Arc<Self>, call: Call) -> Response<Body> {
        let began = Instant::now();
        let mut about = About::default();
        let answer = self.clone().route(call, &mut about).await;
        let answer = answer.unwrap_or_else(|refusal| answer::refused(&refusal));
        let bytes = self.metrics.answered(about, answer.status().as_u16(), began.elapsed());
        answer.map(|body| body.counted(bytes))
    }

    /// Carries it out. `about` is what it is counted under, once that is known.
    async fn route(self: Arc<Self>, call: Call, about: &mut About) -> Result<Response<Body>, Refusal> {
        let target = Target::parse(call.uri.path())?;
        let query = Query::parse(call.uri.query())?;
        let identity = self.authenticator.load().identify(&call.headers, call.identity.as_ref())?;
        if call.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            // As long as nobody can, nobody is taken for whom they say.
            let message = "this server cannot be asked for somebody else: leave out the Impersonate headers";
            return Err(Refusal::new(403, "Forbidden", message));
        }
        match target {
            Target::Resource(resource) => {
                let verb = Verb::of(&call.method, &resource, &query)?;
                *about = self.metrics.about(&self.kinds(), verb, &resource);
                let fields = query.first("fieldSelector").filter(|text| !text.is_empty());
                let fields = fields.and_then(|text| field_selector(text).ok()).unwrap_or_default();
                let asks = Asks {
                    group: &resource.group,
                    resource: &resource.plural,
                    subresource: resource.subresource.as_deref().unwrap_or_default(),
                    namespace: resource.authorized_in().unwrap_or_default(),
                    name: resource.name.as_deref().unwrap_or_default(),
                };
                self.allow(&identity, &Attributes::of(verb.name(), asks).selecting(&fields))?;
                let _place = match verb {
                    Verb::Watch => None,
                    _ => {
                        let place = self.places.try_acquire().map_err(|_| too_many())?;
                        Some((place, self.metrics.worked_on(verb.reads())))
                    }
                };
                let Call { headers, body, .. } = call;
                let asked = Asked { verb, resource, query, identity, headers, body };
                verbs::serve(&self, asked).await
            }
            Target::Other(parts) => {
                *about = About::document(&parts);
                let verb = call.method.as_str().to_lowercase();
                let path = call.uri.path();
                if !documents::is_open(&parts) {
                    self.allow(&identity, &Attributes { verb: &verb, on: On::Path(path) })?;
                }
                documents::serve(&self, &call, &parts, &query).await
            }
        }
    }

    /// Whether roles and bindings let somebody do that.
    pub(crate) fn allow(&self, identity: &Identity, attributes: &Attributes<'_>) -> Result<(), Refusal> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let decision = rules.load().allows(identity, attributes);
        if decision.allowed { Ok(()) } else { Err(attributes.refusal(identity, &decision.reason())) }
    }
}

/// 429: as many are worked on as may. Clients wait and ask again.
fn too_many() -> Refusal {
    let message = "the server works on as many requests as it may: ask again";
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
