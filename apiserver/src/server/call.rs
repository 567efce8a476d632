//! The path of a request: parse, authenticate, authorize, dispatch, answer.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use http::header::ACCEPT;
use http::{HeaderMap, Method, Response, Uri};
use machinery_objects::FieldSelector;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{RequestBody, Shared, capacity, trace};
use crate::accept::for_refusals;
use crate::audit::{self, Annotations, Trail};
use crate::auth::Identity;
use crate::auth::impersonate::Impersonated;
use crate::auth::rbac::{RequestAttributes, RequestTarget, ResourceAttributes};
use crate::fence::Fence;
use crate::flowcontrol::{PriorityLevel, with_level_headers};
use crate::http::{Body, answer};
use crate::metrics::Event;
use crate::metrics::RequestLabels;
use crate::refusal::Refusal;
use crate::request::{Query, Resource, Target, Verb, field_selector, not_allowed, time_limit};
use crate::{documents, verbs};

/// A request before authentication and parsing.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
    /// The user, if the connection is authenticated.
    pub(crate) identity: Option<Arc<Identity>>,
    /// The client's address, if there is a socket.
    pub(crate) peer: Option<IpAddr>,
}

/// A request for objects, parsed and authorized: Kubernetes' `RequestInfo` with headers and body.
pub(crate) struct WireRequest {
    pub(crate) verb: Verb,
    pub(crate) resource: Resource,
    pub(crate) query: Query,
    pub(crate) identity: Arc<Identity>,
    /// The fence that a write requires.
    pub(crate) fence: Option<Box<Fence>>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Annotations of the request's audit event, if audited.
    pub(crate) annotations: Option<Arc<Annotations>>,
}

/// A request for a document such as discovery. Its body is ignored.
pub(crate) struct DocumentRequest {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
}

impl DocumentRequest {
    pub(crate) fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl WireRequest {
    pub(crate) fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Shared {
    /// Answers a request. Errors and panics become error responses.
    pub(crate) async fn answer(self: Arc<Self>, call: Call) -> Response<Body> {
        let began = Instant::now();
        let form = for_refusals(call.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()));
        let (mut about, mut level) = (RequestLabels::default(), None);
        let span = trace::span(&call, &self.environment);
        let mut trail = None;
        let id = audit::audit_id(&call.headers, &self.environment);
        let answer = async {
            if let Some(log) = &self.audit {
                trail = Some(Trail::begin(&self, log, &id, (&call.uri, &call.headers, call.peer)).await?);
            }
            self.clone().route(call, &mut about, &mut level, &mut trail).await
        };
        let answer = AssertUnwindSafe(answer).catch_unwind().instrument(span.clone()).await;
        let answer = answer.unwrap_or_else(|_| {
            // The panic message is on standard error. No lock of this request is held by others.
            self.metrics.counted.add(Event::Panic);
            if let Some(trail) = &mut trail {
                trail.panicked();
            }
            let message = "this request made the server panic: its log says where";
            Err(Refusal::new(500, "InternalError", message))
        });
        let answer = answer.unwrap_or_else(|refusal| {
            if let Some(trail) = &mut trail {
                trail.refused(&refusal);
            }
            answer::refused(&refusal, form)
        });
        let mut answer = match trail {
            Some(trail) => trail.answered(answer).await,
            None => answer,
        };
        answer.headers_mut().insert(audit::AUDIT_ID, id);
        span.record("status", answer.status().as_u16());
        let answer = with_level_headers(answer, level);
        let bytes = self.metrics.answered(about, answer.status().as_u16(), began.elapsed());
        answer.map(|body| body.counted(bytes))
    }

    /// Authenticates, authorizes and dispatches a request. Sets `about`, the metric labels, once
    /// known.
    ///
    /// An unauthenticated client learns nothing, not even whether the path exists, and its body is
    /// discarded.
    async fn route(
        self: Arc<Self>,
        call: Call,
        about: &mut RequestLabels,
        level: &mut Option<PriorityLevel>,
        trail: &mut Option<Trail>,
    ) -> Result<Response<Body>, Refusal> {
        let Call { method, uri, headers, body, identity, .. } = call;
        let identified = self.authenticator.load().identify(&headers, identity.as_ref());
        let parsed = ParsedRequest::read(&method, &uri, &headers);
        if let Some(trail) = trail {
            let audited = parsed
                .as_ref()
                .ok()
                .and_then(ParsedRequest::audited)
                .unwrap_or(audit::AuditTarget::Path(&method));
            trail.received(identified.as_deref().ok(), audited, uri.path()).await?;
        }
        // After the audit event: unauthenticated requests are logged, too.
        let identity = identified?;
        let admitted = self.impersonate(identity, &headers, trail).and_then(|identity| {
            let (target, query) = self.admit(parsed?, (&method, &uri), &identity, about, trail)?;
            Ok((identity, target, query))
        });
        let (identity, target, query) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                body.discard(&self, &headers).await;
                return Err(refusal);
            }
        };
        match target {
            Route::Resource(verb, resource, fence) => {
                let flow = self.capacity.flow(&identity, verb, &resource);
                *level = Some(flow.level);
                let received = body.read(&self, &headers, flow).await?;
                let body = received.bytes.clone();
                if let Some(trail) = trail {
                    trail.body(&body, &headers);
                }
                let annotations = trail.as_ref().map(Trail::annotations);
                let wire = WireRequest { verb, resource, query, identity, fence, headers, body, annotations };
                if verb == Verb::Watch {
                    let full = |_: &Refusal| self.metrics.counted.add(Event::TooManyWatches);
                    let place = self.capacity.watch(flow).inspect_err(full)?;
                    return Ok(verbs::serve(&self, wire).await?.map(|body| body.holding(place)));
                }
                let full = |_: &Refusal| self.metrics.counted.add(Event::TooManyRequests);
                let seat = self.capacity.requests.enter(flow).await;
                let seat = seat.map_err(capacity::rejected).inspect_err(full)?;
                let _worked_on = self.metrics.worked_on(verb.reads());
                let answer = seat.run(verbs::serve(&self, wire)).await?;
                if !answer.body().is_in_parts() {
                    return Ok(answer);
                }
                // Held by the body: a slow reader keeps the objects of its list in memory.
                let place = self.capacity.list(flow).inspect_err(full)?;
                Ok(answer.map(|body| body.holding(place)))
            }
            Route::Other(parts) => {
                body.discard(&self, &headers).await;
                documents::serve(&self, &DocumentRequest { method, headers }, &parts, &query).await
            }
            Route::Nothing => {
                body.discard(&self, &headers).await;
                Ok(answer::nothing_there())
            }
        }
    }

    /// Returns the user that a request acts as: the sender or, with impersonation headers, the
    /// impersonated user. Impersonation requires RBAC permission for each impersonated attribute;
    /// from there on only the rights of the impersonated user count.
    fn impersonate(
        &self,
        sender: Arc<Identity>,
        headers: &HeaderMap,
        trail: &mut Option<Trail>,
    ) -> Result<Arc<Identity>, Refusal> {
        let Some(other) = Impersonated::of(headers)? else { return Ok(sender) };
        for needed in other.required_permissions() {
            self.authorize_audited(&sender, &needed, trail)?;
        }
        let other = other.identity();
        if let Some(trail) = trail {
            trail.impersonates(&other);
        }
        Ok(Arc::new(other))
    }

    /// Authorizes a request and returns its route.
    fn admit(
        &self,
        parsed: ParsedRequest,
        (method, uri): (&Method, &Uri),
        identity: &Identity,
        about: &mut RequestLabels,
        trail: &mut Option<Trail>,
    ) -> Result<(Route, Query), Refusal> {
        let ParsedRequest { target, query, fence, verb, fields } = parsed;
        if verb != Some(Verb::Watch) {
            // Also of documents, and of paths that do not exist.
            time_limit(&query)?;
        }
        match target {
            Target::Resource(resource) => {
                let verb = verb.ok_or_else(|| not_allowed(&resource, ""))?;
                if fence.is_some() && verb.reads() {
                    return Err(fence_not_allowed());
                }
                // Label values of served kinds only: clients must not create time series.
                *about = self.metrics.about(&self.kinds(), verb, &resource);
                let asks = ResourceAttributes {
                    group: &resource.group,
                    resource: &resource.plural,
                    subresource: resource.subresource.as_deref().unwrap_or_default(),
                    namespace: resource.authorized_in().unwrap_or_default(),
                    name: resource.name.as_deref().unwrap_or_default(),
                };
                self.authorize_audited(
                    identity,
                    &RequestAttributes::of(verb.name(), asks).selecting(&fields),
                    trail,
                )?;
                fence.as_ref().map_or(Ok(()), |fence| fence.may_be_named(self, identity))?;
                if verb == Verb::Watch && self.stopping.is_cancelled() {
                    // The watch would end at once, which makes clients relist.
                    return Err(stopping());
                }
                Ok((Route::Resource(verb, resource, fence.map(Box::new)), query))
            }
            _ if fence.is_some() => Err(fence_not_allowed()),
            Target::Nothing => Ok((Route::Nothing, query)),
            Target::Other(parts) => {
                *about = RequestLabels::document(&parts);
                let verb = method.as_str().to_lowercase();
                if !documents::is_open(&parts) {
                    self.authorize_audited(
                        identity,
                        &RequestAttributes { verb: &verb, on: RequestTarget::Path(uri.path()) },
                        trail,
                    )?;
                }
                Ok((Route::Other(parts), query))
            }
        }
    }

    /// [`Self::authorize`], with the decision in the audit event.
    fn authorize_audited(
        &self,
        identity: &Identity,
        attributes: &RequestAttributes<'_>,
        trail: &mut Option<Trail>,
    ) -> Result<(), Refusal> {
        let Some(trail) = trail else { return self.authorize(identity, attributes) };
        let Some(rules) = &self.rules else {
            trail.decided(true, String::new);
            return Ok(());
        };
        let decision = rules.load().allows(identity, attributes);
        trail.decided(decision.allowed, || decision.reason());
        if decision.allowed { Ok(()) } else { Err(attributes.refusal(identity, &decision.reason())) }
    }

    /// Returns an error unless RBAC allows the request.
    pub(crate) fn authorize(
        &self,
        identity: &Identity,
        attributes: &RequestAttributes<'_>,
    ) -> Result<(), Refusal> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let decision = rules.load().allows(identity, attributes);
        if decision.allowed { Ok(()) } else { Err(attributes.refusal(identity, &decision.reason())) }
    }
}

/// A request's head, parsed once for routing, authorization and audit.
struct ParsedRequest {
    target: Target,
    query: Query,
    fence: Option<Fence>,
    /// Of a request for objects.
    verb: Option<Verb>,
    /// The field selector; empty if it cannot be parsed.
    fields: FieldSelector,
}

impl ParsedRequest {
    fn read(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Self, Refusal> {
        let target = Target::parse(uri.path())?;
        let query = Query::parse(uri.query())?;
        let fence = Fence::of_headers(headers)?;
        let verb = match &target {
            Target::Resource(resource) => Some(Verb::of(method, resource, &query)?),
            Target::Other(_) | Target::Nothing => None,
        };
        let fields = query.first("fieldSelector").filter(|text| !text.is_empty());
        let fields = fields.and_then(|text| field_selector(text).ok()).unwrap_or_default();
        Ok(Self { target, query, fence, verb, fields })
    }

    /// Returns the target for the audit policy.
    const fn audited(&self) -> Option<audit::AuditTarget<'_>> {
        match (&self.target, self.verb) {
            (Target::Resource(resource), Some(verb)) => {
                Some(audit::AuditTarget::Objects(verb, resource, &self.fields))
            }
            _ => None,
        }
    }
}

/// An authorized request by the type of its target.
enum Route {
    Resource(Verb, Resource, Option<Box<Fence>>),
    Other(Vec<String>),
    Nothing,
}

/// 400: a fence on a read would guarantee nothing.
pub(crate) fn fence_not_allowed() -> Refusal {
    Refusal::bad_request("only writes of objects have fences: leave out the Machinery-Fence header")
}

/// 429: the client's watch resumes from its resourceVersion after the restart.
fn stopping() -> Refusal {
    let message = "The apiserver is shutting down, please try again later.";
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
