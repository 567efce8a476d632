//! The audit record of a request, from its arrival to the last byte of the response.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Response, Uri};
use machinery_objects::FieldSelector;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::Annotations;
use super::event::{AuditEvent, BODY_BYTES};
use super::policy::{AuditAttributes, AuditDecision, AuditLevel, AuditStage, holds_secrets};
use super::writer::Log;
use crate::auth::Identity;
use crate::auth::rbac::{RequestAttributes, RequestTarget, ResourceAttributes};
use crate::http::Body;
use crate::refusal::Refusal;
use crate::request::{Resource, Verb};
use crate::server::{Environment, Shared};
use crate::{json, protobuf, yaml};

pub(crate) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// Maximum length of an audit ID in the log; longer ones are truncated there.
const ID_CHARS: usize = 64;

/// Returns the audit ID of a request: the client's own, or a new one. Every response has it.
pub(crate) fn audit_id(headers: &HeaderMap, environment: &Environment) -> HeaderValue {
    let own = headers.get(&AUDIT_ID).filter(|id| !id.is_empty());
    let mut id = own.cloned().unwrap_or_else(|| {
        HeaderValue::try_from(environment.uid()).expect("hexadecimal digits and hyphens are visible ASCII")
    });
    // Not a secret, but never repeated: kept out of HPACK's table, where it would displace others.
    id.set_sensitive(true);
    id
}

/// The audit record of one request. Dropping it logs a request that gets no response.
pub(crate) struct Trail {
    record: Box<AuditRecord>,
}

struct AuditRecord {
    shared: Arc<Shared>,
    log: Arc<Log>,
    slot: Option<OwnedSemaphorePermit>,
    event: AuditEvent,
    decision: AuditDecision,
    verb: Option<Verb>,
    resource: Option<Resource>,
    body: Option<(Bytes, Option<HeaderValue>)>,
    /// Annotations added by admission.
    annotations: Arc<Annotations>,
    panicked: bool,
    refused: bool,
}

/// The target of a request, as far as it could be parsed.
pub(crate) enum AuditTarget<'a> {
    /// The objects that a selector selects.
    Objects(Verb, &'a Resource, &'a FieldSelector),
    Path(&'a Method),
}

impl Trail {
    /// Begins the record of a request.
    ///
    /// # Errors
    /// 429 if the log accepts no more requests.
    pub(crate) async fn begin(
        shared: &Arc<Shared>,
        log: &Arc<Log>,
        id: &HeaderValue,
        (uri, headers, peer): (&Uri, &HeaderMap, Option<IpAddr>),
    ) -> Result<Self, Refusal> {
        let now = shared.environment.now();
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let id: String = String::from_utf8_lossy(id.as_bytes()).chars().take(ID_CHARS).collect();
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut event = AuditEvent::new(&id, target, text(&USER_AGENT), now);
        if let Some(peer) = peer {
            event.set("sourceIPs", json!([peer.to_string()]));
        }
        let record = AuditRecord {
            shared: shared.clone(),
            log: log.clone(),
            // Acquired first: the end of a watch is queued in a drop, which cannot wait.
            slot: Some(log.slot().await?),
            event,
            decision: AuditDecision::default(),
            verb: None,
            resource: None,
            body: None,
            annotations: Arc::default(),
            panicked: false,
            refused: false,
        };
        Ok(Self { record: record.into() })
    }

    /// Records the result of authentication, and selects the audit level of the request.
    ///
    /// # Errors
    /// 500 if the event must be written and could not be.
    pub(crate) async fn received(
        &mut self,
        user: Option<&Identity>,
        target: AuditTarget<'_>,
        path: &str,
    ) -> Result<(), Refusal> {
        let small: String;
        let (verb, on) = match &target {
            AuditTarget::Objects(verb, resource, fields) => (
                verb.name(),
                RequestAttributes::of(verb.name(), resource_attributes(resource)).selecting(fields).on,
            ),
            AuditTarget::Path(method) => {
                small = method.as_str().to_lowercase();
                (small.as_str(), RequestTarget::Path(path))
            }
        };
        // By the authenticated user, as in Kubernetes: impersonation does not change the level.
        let has_passwords = match &on {
            RequestTarget::Resource(target) => {
                self.record.shared.kinds().has_passwords(target.group, target.resource)
            }
            RequestTarget::Path(_) => false,
        };
        let AuditRecord { event, log, .. } = &mut *self.record;
        let decision = log.policy.decide(&AuditAttributes { has_passwords, user, verb, on });
        log.decided(decision.level);
        event.level(decision.level);
        event.set("verb", verb.into());
        event.user(user);
        if let (AuditTarget::Objects(verb, resource, _), RequestTarget::Resource(target)) = (target, &on) {
            event.hides |= has_passwords || holds_secrets(target);
            event.object(resource, target.name);
            (self.record.verb, self.record.resource) = (Some(verb), Some(resource.clone()));
        }
        self.record.decision = decision;
        // An unauthenticated request is rejected at once, so it has one event.
        if user.is_none() || !self.record.logs(AuditStage::RequestReceived) {
            return Ok(());
        }
        let line = self.record.event.line(AuditStage::RequestReceived, self.record.shared.environment.now());
        if self.record.log.write(line, None).await || !self.record.log.strict {
            return Ok(());
        }
        self.record.log.rejected();
        let message =
            "the request could not be logged, and so was not done: see what is wrong with the audit log";
        Err(Refusal::new(500, "InternalError", message))
    }

    /// Records the impersonated user.
    pub(crate) fn impersonates(&mut self, other: &Identity) {
        self.record.event.set("impersonatedUser", other.user_info());
    }

    /// Records the authorization decision.
    pub(crate) fn decided(&mut self, allowed: bool, reason: impl FnOnce() -> String) {
        if self.record.decision.level > AuditLevel::None {
            let decision = if allowed { "allow" } else { "forbid" };
            self.record.event.annotate("authorization.k8s.io/decision", decision);
            self.record.event.annotate("authorization.k8s.io/reason", reason());
        }
    }

    /// Records the request body.
    pub(crate) fn body(&mut self, bytes: &Bytes, headers: &HeaderMap) {
        if self.record.decision.level > AuditLevel::None && !bytes.is_empty() {
            self.record.body = Some((bytes.clone(), headers.get(CONTENT_TYPE).cloned()));
        }
    }

    /// Returns the annotations, for admission to add to.
    pub(crate) fn annotations(&self) -> Arc<Annotations> {
        self.record.annotations.clone()
    }

    /// Records a refusal.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        self.record.event.refused(refusal);
        self.record.refused = true;
    }

    /// Records a panic of the handler.
    pub(crate) fn panicked(&mut self) {
        self.record.panicked = true;
    }

    /// Completes the record; returns the response once its events are written. The record of a
    /// streamed response is completed at the end of the stream.
    pub(crate) async fn answered(self, answer: Response<Body>) -> Response<Body> {
        let Self { mut record } = self;
        if record.decision.level == AuditLevel::None {
            record.slot = None;
            return answer;
        }
        let code = answer.status().as_u16();
        if !record.refused {
            record.event.answered(code);
        }
        let content_type = answer.headers().get(CONTENT_TYPE).cloned();
        if let Some(bytes) = answer.body().whole_bytes() {
            record.request();
            record.event.add_annotations(&record.annotations, record.decision.level);
            record.response(Ok(&bytes), content_type.as_ref());
            let stage = if record.panicked { AuditStage::Panic } else { AuditStage::ResponseComplete };
            let slot = record.slot.take();
            if record.logs(stage) {
                let line = record.event.line(stage, record.shared.environment.now());
                // Before the response: a client with a response finds the event in the log.
                record.log.write(line, slot).await;
            }
            return answer;
        }
        let is_watch = answer.body().is_watch();
        if is_watch && record.logs(AuditStage::ResponseStarted) {
            let line = record.event.line(AuditStage::ResponseStarted, record.shared.environment.now());
            record.log.write(line, None).await;
        }
        let keeps = !is_watch && record.decision.level == AuditLevel::RequestResponse;
        let tail = Tail { record, content_type, sent: keeps.then(Vec::new), ended: is_watch };
        answer.map(|body| body.with_tail(tail))
    }
}

/// Completes the record of a streamed response when dropped.
pub(crate) struct Tail {
    record: Box<AuditRecord>,
    content_type: Option<HeaderValue>,
    /// The bytes sent, if they are logged and within the size limit.
    sent: Option<Vec<u8>>,
    /// Whether the whole response was sent.
    ended: bool,
}

impl Tail {
    pub(crate) fn part(&mut self, bytes: &Bytes) {
        // One byte beyond the limit, which marks the body as too long.
        if let Some(sent) = self.sent.as_mut().filter(|sent| sent.len() <= BODY_BYTES) {
            sent.extend_from_slice(bytes);
        }
    }

    pub(crate) fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let Self { record, content_type, sent, ended } = self;
        match sent {
            Some(sent) if *ended => record.response(Ok(sent), content_type.as_ref()),
            Some(_) => record.response(Err("the client did not take all of it"), None),
            None => {}
        }
        record.complete();
    }
}

impl AuditRecord {
    fn logs(&self, stage: AuditStage) -> bool {
        self.decision.level > AuditLevel::None && !self.decision.omit_stages.has(stage)
    }

    /// Queues the final event, unless it was written before.
    fn complete(&mut self) {
        let Some(slot) = self.slot.take().filter(|_| self.logs(AuditStage::ResponseComplete)) else {
            return;
        };
        self.request();
        self.event.add_annotations(&self.annotations, self.decision.level);
        self.log.leave(self.event.line(AuditStage::ResponseComplete, self.shared.environment.now()), slot);
    }

    /// Adds the request body to the event.
    fn request(&mut self) {
        let Some((bytes, content_type)) = self.body.take() else { return };
        let logs_body = self.decision.level >= AuditLevel::Request;
        let names = matches!(self.verb, Some(Verb::Create | Verb::Update));
        if !logs_body && !names {
            return;
        }
        let body = self.read(&bytes, content_type.as_ref());
        if let Some(object) = body.as_ref().ok().filter(|_| names) {
            self.event.complete_object_ref(object);
        }
        if logs_body {
            self.event.body("requestObject", body, self.decision.omit_managed_fields);
        }
    }

    /// Adds the response body to the event.
    fn response(&mut self, bytes: Result<&[u8], &str>, content_type: Option<&HeaderValue>) {
        let logs_body = self.decision.level == AuditLevel::RequestResponse;
        let is_new = self.verb == Some(Verb::Create) && !self.refused;
        if !logs_body && !is_new {
            return;
        }
        let body = match bytes {
            Ok([]) => return,
            Ok(bytes) if self.resource.is_some() => self.read(bytes, content_type),
            // Documents are long, and identical for all clients.
            Ok(_) => Err("a document"),
            Err(why) => Err(why),
        };
        if let Some(object) = body.as_ref().ok().filter(|_| is_new) {
            self.event.created(object);
        }
        if logs_body {
            self.event.body("responseObject", body, self.decision.omit_managed_fields);
        }
    }

    /// Decodes a body.
    fn read(&self, bytes: &[u8], content_type: Option<&HeaderValue>) -> Result<Value, &'static str> {
        if bytes.len() > BODY_BYTES {
            return Err("it is too long");
        }
        let is = |what: &str| {
            content_type.and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains(what))
        };
        if is("protobuf") {
            return self.decoded(bytes).ok_or("its protobuf is of no kind that is known here");
        }
        let read = if is("yaml") { yaml::read(bytes) } else { json::read(bytes) };
        read.map(|read| read.value).map_err(|_| "it cannot be read")
    }

    fn decoded(&self, bytes: &[u8]) -> Option<Value> {
        let resource = self.resource.as_ref()?;
        let kinds = self.shared.kinds();
        let kind = kinds.find(&resource.group, &resource.version, &resource.plural)?;
        let (api_version, kind) = match self.verb? {
            Verb::Delete | Verb::DeleteCollection => ("v1", "DeleteOptions"),
            _ => (kind.api_version.as_ref(), kind.names.kind.as_ref()),
        };
        protobuf::decode(bytes, protobuf::ExpectedType { api_version, kind }).ok()
    }
}

impl Drop for AuditRecord {
    fn drop(&mut self) {
        // The slot is still held if the client disconnected or the response ended a moment ago.
        if self.slot.is_some() && self.logs(AuditStage::ResponseComplete) {
            let why = "the client went away before it was answered: what it asked for may have been done";
            self.event.refused(&Refusal::new(499, "ClientClosedRequest", why));
            self.complete();
        }
    }
}

fn resource_attributes(resource: &Resource) -> ResourceAttributes<'_> {
    ResourceAttributes {
        group: &resource.group,
        resource: &resource.plural,
        subresource: resource.subresource.as_deref().unwrap_or_default(),
        namespace: resource.authorized_in().unwrap_or_default(),
        name: resource.name.as_deref().unwrap_or_default(),
    }
}
