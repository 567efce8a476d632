//! The admission chain of one write: in-process plugins, mutating webhooks with reinvocation,
//! validating webhooks.

mod convert;
mod select;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use super::matching::ReviewVersion;
use super::reads::ConsistentReads;
use super::reinvocation::Reinvocation;
use super::review::{self, ReviewResponse, internal};
use super::webhook::{Webhook, Webhooks};
use super::{Attributes, Denied, GROUP, Operation};
use crate::flowcontrol::without_seat;
use crate::kind::{Kind, Subresource};
use crate::managed;
use crate::metrics::Event;
use crate::refusal::Refusal;
use crate::strategy::{about, meta_text};
use crate::verbs::ObjectRequest;

/// Concurrent calls of validating webhooks for one request.
const AT_ONCE: usize = 16;

/// Suffix of the audit annotations about webhooks, as in Kubernetes.
const NOTES: &str = "webhook.admission.k8s.io";
/// Limit of a webhook's error message, in characters.
const SAID: usize = 1024;
/// Prefix of the error message for an invalid response.
const WRONG: &str = "received invalid webhook response";
const UNREADABLE: &str = ".metadata.managedFields was in an invalid state after admission; this could be caused by an \
                          outdated mutating admission controller; please fix your requests";

/// The admission chain of one write, with the webhook configurations of one moment.
pub(crate) struct AdmissionChain<'a> {
    request: &'a ObjectRequest<'a>,
    operation: Operation,
    dry_run: bool,
    webhooks: Arc<Webhooks>,
    /// The same objects in other versions.
    equivalents: Vec<Arc<Kind>>,
    reads: ConsistentReads<'a>,
}

/// The objects of an AdmissionReview; for the subresource `scale`, `Scale` objects.
#[derive(Clone, Copy)]
struct ReviewedObjects<'a> {
    object: Option<&'a Value>,
    old: Option<&'a Value>,
}

impl<'a> AdmissionChain<'a> {
    /// Returns none if there is nothing to call.
    pub(crate) fn of(request: &'a ObjectRequest<'a>, operation: Operation, dry_run: bool) -> Option<Self> {
        let registry = &request.shared.admission;
        let mut webhooks = registry.webhooks.load();
        // A server without admission pays one read of a pointer per write.
        if registry.own.is_empty() && webhooks.is_empty() {
            return None;
        }
        // Webhooks are not called for webhook configurations, whose deletion they could block.
        if &*request.kind.group == GROUP {
            webhooks = Arc::default();
            if registry.own.is_empty() {
                return None;
            }
        }
        let kind = request.kind;
        let kinds = request.shared.kinds();
        let is_other = |other: &&Arc<Kind>| {
            other.place == kind.place
                && (&other.group, &other.version) != (&kind.group, &kind.version)
                && match request.subresource {
                    Subresource::Status => other.has_status,
                    Subresource::Scale => other.scale.is_some(),
                    Subresource::Main | Subresource::Finalize | Subresource::Approval => true,
                }
        };
        let equivalents = kinds.kinds().filter(is_other).cloned().collect();
        let reads = ConsistentReads::new(request.shared);
        Some(Self { request, operation, dry_run, webhooks, equivalents, reads })
    }

    /// Runs the mutating phase on a new or changed object.
    pub(crate) async fn mutate(&self, object: Value, old: Option<&Value>) -> Result<Value, Refusal> {
        self.reads.restart();
        let (mut shown, old) = (self.reviewed(&object), old.map(|old| self.reviewed(old)));
        let old = old.as_ref();
        for admission in &self.request.shared.admission.own {
            let mut made = shown.clone();
            let objects = ReviewedObjects { object: None, old };
            let attributes = Attributes { name: name(&shown), ..self.attributes(&objects) };
            let attributes = self.with_services(attributes, &**admission);
            without_seat(catch_panic(admission.mutate(&attributes, &mut made), &attributes)).await?;
            if made != shown {
                shown = self.normalized(made, false)?;
            }
        }
        let mut reinvocation = Reinvocation::default();
        for (at, webhook) in self.webhooks.mutating.iter().enumerate() {
            if let Some(made) = self.call_mutating(webhook, (0, at), &shown, old).await? {
                let changed = made.as_ref().is_some_and(|made| *made != shown);
                reinvocation.called(at, changed, webhook.if_needed);
                shown = made.unwrap_or(shown);
            }
        }
        for at in reinvocation.again() {
            let webhook = &self.webhooks.mutating[*at];
            shown = self.call_mutating(webhook, (1, *at), &shown, old).await?.flatten().unwrap_or(shown);
        }
        if let (false, Some(notes)) = (managed::keep_readable(&object, &mut shown), self.request.notes) {
            notes.warn(UNREADABLE);
        }
        Ok(self.merge_back(object, shown))
    }

    /// Runs the validating phase.
    pub(crate) async fn validate(&self, object: Option<&Value>, old: Option<&Value>) -> Result<(), Refusal> {
        let (object, old) = (object.map(|object| self.reviewed(object)), old.map(|old| self.reviewed(old)));
        let objects = ReviewedObjects { object: object.as_ref(), old: old.as_ref() };
        for admission in &self.request.shared.admission.own {
            let attributes = self.with_services(self.attributes(&objects), &**admission);
            without_seat(catch_panic(admission.validate(&attributes), &attributes)).await?;
        }
        let call = |(at, webhook)| async move {
            let Some(version) = self.matches(webhook, &objects).await? else { return Ok(()) };
            if let CallOutcome::Ignored = self.call(webhook, &objects, &version, false).await? {
                self.note(
                    webhook,
                    format!("failed-open.validating.{NOTES}/round_0_index_{at}"),
                    webhook.name.clone(),
                );
            }
            Ok(())
        };
        let calls: Vec<_> = self.webhooks.validating.iter().enumerate().map(call).collect();
        // All webhooks are called; the first refusal in order is returned.
        let answers: Vec<Result<(), Refusal>> = stream::iter(calls).buffered(AT_ONCE).collect().await;
        answers.into_iter().collect()
    }

    /// Runs the chain for a deletion.
    pub(crate) async fn delete(&self, old: &Value) -> Result<(), Refusal> {
        self.reads.restart();
        let objects = ReviewedObjects { object: None, old: Some(old) };
        for webhook in &self.webhooks.mutating {
            let Some(version) = self.matches(webhook, &objects).await? else { continue };
            let answer = self.call(webhook, &objects, &version, true).await?;
            if let CallOutcome::Answered(ReviewResponse { patch: Some(_), .. }) = answer {
                let why = "attempted to modify the object, which is not supported for this operation";
                return Err(internal(&format!("admission webhook {:?} {why}", webhook.name)));
            }
        }
        self.validate(None, Some(old)).await
    }

    /// Calls a mutating webhook. Outer none: it was skipped. Inner none: it changed nothing.
    async fn call_mutating(
        &self,
        webhook: &Webhook,
        (round, at): (usize, usize),
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Option<Value>>, Refusal> {
        let objects = ReviewedObjects { object: Some(object), old };
        let Some(version) = self.matches(webhook, &objects).await? else { return Ok(None) };
        let outcome = self.call(webhook, &objects, &version, true).await?;
        if let CallOutcome::Skipped = outcome {
            return Ok(None);
        }
        let place = format!("{NOTES}/round_{round}_index_{at}");
        let made = self.patched_by(webhook, &outcome, &version, object, old);
        let changed = matches!(&made, Ok(Some(made)) if made != object);
        let said =
            json!({"configuration": webhook.configuration, "webhook": webhook.name, "mutated": changed});
        self.note(webhook, format!("mutation.{place}"), said.to_string());
        match &outcome {
            CallOutcome::Ignored => {
                self.note(webhook, format!("failed-open.mutation.{place}"), webhook.name.clone())
            }
            CallOutcome::Answered(answer) if answer.patch.is_some() && made.is_ok() => {
                self.note_patch(webhook, format!("patch.{place}"), answer);
            }
            CallOutcome::Answered(_) | CallOutcome::Skipped => {}
        }
        made.map(Some)
    }

    /// Adds an annotation about a webhook to the audit event.
    fn note(&self, webhook: &Webhook, key: String, value: String) {
        if let Some(notes) = self.request.notes {
            notes.note(&webhook.name, key, value, false);
        }
    }

    fn note_patch(&self, webhook: &Webhook, key: String, answer: &ReviewResponse) {
        let Some(notes) = self.request.notes else { return };
        let patch: Value = serde_json::from_slice(&answer.patch_bytes).unwrap_or_default();
        let (configuration, name) = (&webhook.configuration, &webhook.name);
        let said = json!({"configuration": configuration, "webhook": name, "patch": patch, "patchType": "JSONPatch"});
        notes.note(name, key, said.to_string(), true);
    }

    /// Calls a webhook that matches by rules and selectors.
    async fn call(
        &self,
        webhook: &Webhook,
        objects: &ReviewedObjects<'_>,
        version: &ReviewVersion,
        mutates: bool,
    ) -> Result<CallOutcome, Refusal> {
        let name = &webhook.name;
        let uid = self.request.shared.environment.uid();
        let review = self.review(&uid, objects, version);
        if !webhook.conditions.is_empty() {
            let authorizer = webhook.conditions.use_authorizer().then(|| self.condition_authorizer(objects));
            match webhook.conditions.hold(&review["request"], authorizer.as_ref()) {
                Ok(true) => {}
                Ok(false) => return Ok(CallOutcome::Skipped),
                Err(_) if webhook.fails_open => return Ok(CallOutcome::Skipped),
                Err(why) => {
                    let about = self.attributes(objects).name;
                    return Err(self.forbidden(about, &format!("admission webhook {name:?}: {why}")));
                }
            }
        }
        // Neither called, for its side effects, nor skipped, which would falsify the answer.
        if self.dry_run && !webhook.supports_dry_run {
            return Err(Refusal::bad_request(format!("admission webhook {name:?} does not support dry run")));
        }
        let answer = match &webhook.caller {
            Err(why) => Err(why.clone()),
            Ok(caller) => {
                let body = serde_json::to_vec(&review).unwrap_or_default();
                let bytes = without_seat(Box::pin(caller.call(body.into(), webhook.timeout))).await;
                bytes.map_err(|why| format!("failed to call webhook: {why}")).and_then(|bytes| {
                    let wrong = |why| format!("{WRONG}: {why}");
                    review::read(&bytes, &uid, mutates).map_err(wrong)
                })
            }
        };
        match answer {
            Ok(mut answer) => {
                if let Some(notes) = self.request.notes {
                    let (warnings, annotations) = (&mut answer.warnings, &mut answer.annotations);
                    notes.add(name, std::mem::take(warnings), std::mem::take(annotations));
                }
                if answer.allowed { Ok(CallOutcome::Answered(answer)) } else { Err(answer.refusal(name)) }
            }
            Err(mut why) => {
                self.request.shared.metrics.counted.add(Event::FailedWebhook);
                if let Some((end, _)) = why.char_indices().nth(SAID) {
                    why.truncate(end);
                }
                // The webhook has seen the secret and may quote it.
                let told = if is_secret(self.request.kind) && why.starts_with(WRONG) { WRONG } else { &why };
                tracing::warn!(webhook = %name, ignored = webhook.fails_open, why = %told, "a webhook failed");
                if webhook.fails_open {
                    Ok(CallOutcome::Ignored)
                } else {
                    Err(internal(&format!("failed calling webhook {name:?}: {why}")))
                }
            }
        }
    }

    fn review(&self, uid: &str, objects: &ReviewedObjects<'_>, version: &ReviewVersion) -> Value {
        let [object, old] =
            [objects.object, objects.old].map(|object| object.map(|object| self.converted(version, object)));
        let attributes =
            Attributes { object: object.as_ref(), old: old.as_ref(), ..self.attributes(objects) };
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        let options = self.request.notes.map(|notes| notes.options(kind));
        let options = options.unwrap_or_else(|| super::AdmissionNotes::default().options(kind));
        let other = if let ReviewVersion::Other(kind) = version { Some(&**kind) } else { None };
        review::request(uid, &attributes, other, &options)
    }

    /// 403: a match condition could not be evaluated.
    fn forbidden(&self, name: &str, why: &str) -> Refusal {
        let kind = self.request.kind;
        let message = format!("{} {name:?} is forbidden: {why}", kind.resource());
        Refusal { about: about(kind, name), ..Refusal::new(403, "Forbidden", message) }
    }
}

/// The outcome of a webhook call.
enum CallOutcome {
    /// Its match conditions do not hold.
    Skipped,
    /// The call failed, and its `failurePolicy` is `Ignore`.
    Ignored,
    /// It allows the request.
    Answered(ReviewResponse),
}

fn is_secret(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.names.plural == "secrets"
}

fn name(object: &Value) -> &str {
    meta_text(object, "name")
}

/// Awaits in-process admission, with a panic as an error.
async fn catch_panic(
    answer: impl Future<Output = Result<(), Denied>>,
    attributes: &Attributes<'_>,
) -> Result<(), Refusal> {
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(answer) => answer.map_err(|denied| denied.refusal(attributes)),
        Err(_) => Err(internal("the admission in the process panicked: the log of the server says where")),
    }
}
