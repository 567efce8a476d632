//! [`AdmissionHooks`]: the hooks of a webhook server, and their run for one review.

use std::fmt;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use jiff::Timestamp;
use machinery_objects::NameRule;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::kinds::HookedKind;
use super::remarks::{CollectedRemarks, ReviewRemarks};
use super::review::{self, ReviewOutcome, ReviewedRequest};
use super::rule::RunnableRule;
use super::{AdmissionRule, ReviewError, WebhookServerError, patch};
use crate::admission::{
    Admission, AdmissionReader, AdmissionReads, AdmissionServices, Attributes, Operation, RuleInput, internal,
};
use crate::auth::Identity;
use crate::own::{KindOf, Own};
use crate::refusal::Refusal;

/// The phase of admission that a review is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewPhase {
    /// A mutating webhook.
    Mutate,
    /// A validating webhook.
    Validate,
}

/// The hooks of a webhook server: [`Admission`] plugins, and the defaults, stamps and validation of
/// kinds.
///
/// In [`ReviewPhase::Mutate`] plugins mutate in order, and then kinds do; in
/// [`ReviewPhase::Validate`] kinds validate, and then plugins do. Guards, and the status of a kind
/// with that subresource, need our server: Kubernetes ignores changes of a webhook there. Writes of
/// subresources are reviewed by plugins with a rule for them. Deletions by a cluster's namespace
/// controller and garbage collector are allowed without a call, as in our server: they follow from
/// deletions that were admitted.
///
/// ```
/// # #[cfg(feature = "k8s")]
/// # mod example {
/// use machinery_apiserver::{AdmissionHooks, KindOf, WebhookEndpoint, WebhookServer, WebhookTls};
/// # pub async fn serve<K>(subnets: impl Fn() -> KindOf<K>, stop: impl Future<Output = ()> + Send)
/// # -> Result<(), Box<dyn std::error::Error>>
/// # where K: serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static {
///
/// let hooks = || AdmissionHooks::new("subnets.example.com").kind(subnets());
/// print!("{}", hooks().manifests(&WebhookEndpoint::service("net", "webhook"))?);
/// let tls = WebhookTls::files("tls.crt", "tls.key");
/// let server = WebhookServer::bind(hooks(), "0.0.0.0:9443".parse()?, tls).await?;
/// server.run(stop).await;
/// # Ok(()) }
/// # }
/// ```
#[must_use = "hooks are not called until a server has them"]
pub struct AdmissionHooks {
    pub(super) name: String,
    plugins: Vec<HookedPlugin>,
    kinds: Vec<Own>,
    reader: Option<Box<dyn AdmissionReader>>,
}

/// A plugin with its rules.
struct HookedPlugin {
    plugin: Box<dyn Admission>,
    rules: Vec<AdmissionRule>,
}

/// Hooks that were checked.
pub(super) struct RunnableHooks {
    pub(super) name: String,
    plugins: Vec<(HookedPlugin, Vec<RunnableRule>)>,
    kinds: Vec<HookedKind>,
    reader: Option<Box<dyn AdmissionReader>>,
}

impl AdmissionHooks {
    /// Begins with no hooks. The name is that of the webhook configurations, a DNS subdomain with
    /// at least two parts: `subnets.example.com`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), plugins: Vec::new(), kinds: Vec::new(), reader: None }
    }

    /// Adds a plugin for the requests of these rules, after those added before.
    pub fn admission(
        mut self,
        plugin: impl Admission,
        rules: impl IntoIterator<Item = AdmissionRule>,
    ) -> Self {
        let rules = rules.into_iter().collect();
        self.plugins.push(HookedPlugin { plugin: Box::new(plugin), rules });
        self
    }

    /// Adds the hooks of a kind, for creations and updates of its objects.
    pub fn kind<K>(mut self, kind: KindOf<K>) -> Self
    where
        K: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.kinds.push(kind.into_own());
        self
    }

    /// Sets the source of the plugins' reads: `Attributes::get` and `list`. Without it they fail.
    pub fn reader(mut self, reader: impl AdmissionReader) -> Self {
        self.reader = Some(Box::new(reader));
        self
    }

    /// Checks the hooks.
    pub(super) fn runnable(self) -> Result<RunnableHooks, WebhookServerError> {
        let Self { name, plugins, kinds, reader } = self;
        let refused = |why: &str| WebhookServerError::Hook { name: name.clone(), why: why.into() };
        if NameRule::DnsSubdomain.check(&name).is_err() || !name.contains('.') {
            return Err(refused("name it by a DNS subdomain with two parts or more, as subnets.example.com"));
        }
        if plugins.is_empty() && kinds.is_empty() {
            return Err(refused("there is nothing to review: add a kind or a plugin"));
        }
        let mut runnable = Vec::new();
        for hooked in plugins {
            if hooked.rules.is_empty() {
                return Err(refused("a plugin has no rule and would never be called: add one"));
            }
            let rules = hooked.rules.iter().map(AdmissionRule::runnable).collect();
            runnable.push((hooked, rules));
        }
        let kinds = kinds.into_iter().map(HookedKind::of).collect::<Result<_, _>>()?;
        Ok(RunnableHooks { name, plugins: runnable, kinds, reader })
    }

    /// Answers one AdmissionReview as a server does, for tests of hooks.
    ///
    /// # Errors
    /// The review is malformed, or the hooks are invalid.
    pub async fn review(
        self,
        phase: ReviewPhase,
        review: &Value,
        now: Timestamp,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.runnable()?.review(phase, review, now).await?)
    }
}

impl RunnableHooks {
    /// Returns the rules of a phase.
    pub(super) fn rules(&self, phase: ReviewPhase) -> Vec<AdmissionRule> {
        let plugins = self.plugins.iter().flat_map(|(hooked, _)| &hooked.rules);
        let of_plugins = plugins.filter_map(|rule| match phase {
            ReviewPhase::Mutate => rule.of_mutations(),
            ReviewPhase::Validate => Some(rule.clone()),
        });
        self.kinds.iter().map(HookedKind::rule).chain(of_plugins).collect()
    }

    /// Answers a review. A panic of a hook denies the request.
    pub(super) async fn review(
        &self,
        phase: ReviewPhase,
        review: &Value,
        now: Timestamp,
    ) -> Result<Value, ReviewError> {
        let request = review::read(review)?;
        let remarks = ReviewRemarks::default();
        let run = AssertUnwindSafe(self.run(phase, &request, (&remarks, now))).catch_unwind();
        let result = run
            .await
            .unwrap_or_else(|_| Err(internal("a hook of the webhook panicked, and its log has the place")));
        let CollectedRemarks { warnings, annotations, .. } = remarks.take();
        let (refusal, patch) = match result {
            Ok(patch) => (None, patch),
            Err(refusal) => (Some(refusal), Vec::new()),
        };
        Ok(review::response(request.uid, ReviewOutcome { refusal, patch, warnings, annotations }))
    }

    /// Runs the hooks of a phase; returns the patch.
    async fn run(
        &self,
        phase: ReviewPhase,
        request: &ReviewedRequest<'_>,
        (remarks, now): (&ReviewRemarks, Timestamp),
    ) -> Result<Vec<Value>, Refusal> {
        let is_write = request.operation != Operation::Delete;
        if !is_write && is_cascade(&request.user) {
            return Ok(Vec::new());
        }
        let kind = self.kinds.iter().find(|kind| kind.is_of(request.group, request.resource));
        let kind = kind.filter(|_| is_write && request.subresource.is_empty());
        if phase == ReviewPhase::Validate {
            if let (Some(kind), Some(object)) = (kind, request.object) {
                kind.validate(object, request.old)?;
            }
            for plugin in self.called(request) {
                let attributes = self.attributes(request, plugin, remarks);
                let attributes = Attributes { object: request.object, ..attributes };
                plugin.validate(&attributes).await.map_err(|denied| denied.refusal(&attributes))?;
            }
            return Ok(Vec::new());
        }
        let Some(sent) = request.object.filter(|_| is_write) else { return Ok(Vec::new()) };
        let mut object = sent.clone();
        for plugin in self.called(request) {
            let attributes = self.attributes(request, plugin, remarks);
            plugin.mutate(&attributes, &mut object).await.map_err(|denied| denied.refusal(&attributes))?;
        }
        if let Some(kind) = kind {
            object = kind.mutate(&object, request.old, now);
        }
        match object.is_object() {
            true => Ok(patch::operations(sent, &object)),
            false => Err(internal("a hook of the webhook replaced the object by another value")),
        }
    }

    /// Returns the plugins that are called for a request.
    fn called(&self, request: &ReviewedRequest<'_>) -> Vec<&dyn Admission> {
        let input = RuleInput {
            operation: request.operation,
            group: request.group,
            version: request.version,
            resource: request.resource,
            subresource: request.subresource,
            is_in_namespace: request.namespace.is_some() && request.resource != "namespaces",
        };
        let objects = [request.object, request.old];
        let called = |rules: &[RunnableRule]| rules.iter().any(|rule| rule.matches(&input, objects));
        let plugins = self.plugins.iter().filter(|(_, rules)| called(rules));
        plugins.map(|(hooked, _)| &*hooked.plugin).collect()
    }

    fn attributes<'a>(
        &'a self,
        request: &'a ReviewedRequest<'_>,
        plugin: &'a dyn Admission,
        remarks: &'a ReviewRemarks,
    ) -> Attributes<'a> {
        let reads = self.reader.as_deref().map(AdmissionReads::Reader);
        Attributes {
            user: &request.user,
            operation: request.operation,
            group: request.group,
            version: request.version,
            kind: request.kind,
            resource: request.resource,
            subresource: request.subresource,
            namespace: request.namespace,
            name: request.name,
            object: None,
            old: request.old,
            dry_run: request.dry_run,
            services: AdmissionServices { plugin: plugin.name(), remarks: Some(remarks), reads },
        }
    }
}

/// The controllers of a cluster whose deletions follow from admitted ones.
const CASCADES: [&str; 3] = [
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
];

/// Returns whether deletions of this user are part of cascades, which no plugin may block, as in
/// our server.
fn is_cascade(user: &Identity) -> bool {
    CASCADES.contains(&user.user.as_str())
}

impl fmt::Debug for AdmissionHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdmissionHooks({:?})", self.name)
    }
}
