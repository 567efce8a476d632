//! One run of a CNF.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream;
use machinery::objects::{Fence, Freshness};
use machinery::{Next, Run};
use tokio::time::{Instant, timeout};

use super::connections::{PodConnection, connect};
use super::facts::{CnfFacts, addresses};
use super::memory::CnfMemory;
use super::pod::{CallLimits, Place, PodConfig, PodReport, Push, read};
use super::record::{WrittenNames, record_key};
use super::shell::AgentContext;
use super::writes::{self, CrWrite};
use crate::drive::{CnfError, CnfErrorClass};
use crate::model::{CnfKey, CollectionId, Desired, SyncStatus};
use crate::plan::{
    CnfPod, CnfSituation, Composition, CrInput, PodOutcome, Problem, ProblemKind, StatusInput, Verdict,
    compose, jittered, retry_delay, status_of, without,
};

/// Brings one CNF and the statuses of its CRs up to date.
pub(super) async fn reconcile(context: Arc<AgentContext>, cnf: CnfKey, run: Run) -> machinery::Result<Next> {
    if let Some(kind) = context.sources.missing_kind() {
        return Err(format!("the kind {kind} is not served: apply the output of `sdewan crds`").into());
    }
    let memory = context.memory.of(&cnf);
    // Runs of one CNF exclude each other. If this one is dropped, the memory is lost, and read again.
    let mut taken = std::mem::take(&mut *memory.lock());
    let facts = CnfFacts::read(&context.sources, &cnf);
    if facts.crs.is_empty() && facts.situation == CnfSituation::Absent {
        context.memory.forget(&cnf);
        return Ok(Next::Done);
    }
    let next = CnfRun { context: &context, cnf: &cnf, run: &run, facts, fence: context.fence.as_ref() };
    let result = Box::pin(next.perform(&mut taken)).await;
    *memory.lock() = taken;
    result
}

struct CnfRun<'a> {
    context: &'a AgentContext,
    cnf: &'a CnfKey,
    run: &'a Run,
    facts: CnfFacts,
    fence: Option<&'a Fence>,
}

/// What the pods of a CNF have after a run, by pod.
type Reports = Vec<(CnfPod, PodReport)>;

impl CnfRun<'_> {
    async fn perform(mut self, memory: &mut CnfMemory) -> machinery::Result<Next> {
        memory.runs += 1;
        self.use_secrets(memory).await;
        let pods = self.writable_pods();
        let (composition, reports) = if pods.is_empty() {
            (self.compose(&|_, _| false), Vec::new())
        } else {
            let wait = memory.pacing.wait(Instant::now());
            if !wait.is_zero() {
                return Ok(Next::After(wait));
            }
            let pushed = self.push(memory, &pods).await?;
            if self.context.term.is_cancelled() {
                // Calls were refused for this reason alone: it is none for a status.
                return Err("the agent stops, or another one leads".into());
            }
            pushed
        };
        let is_current = self.write_statuses(&composition, &reports).await?
            & self.finish_deletes(&composition, &reports).await?;
        Ok(self.next(memory, &composition, &reports, is_current))
    }

    /// Returns the pods that get writes.
    fn writable_pods(&self) -> Vec<CnfPod> {
        match &self.facts.situation {
            CnfSituation::Ready { pods, .. } => pods.clone(),
            CnfSituation::NotReady { pods, .. } if self.context.settings.partial_apply => {
                pods.iter().filter(|pod| pod.is_ready && !pod.ip.is_empty()).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Watches the Secrets that the CNF uses, and waits until they are known.
    async fn use_secrets(&self, memory: &mut CnfMemory) {
        let names = &self.facts.secrets;
        self.context.memory.uses_secrets(self.cnf, names);
        if names.is_empty() {
            memory.secrets = None;
            return;
        }
        if memory.secrets.is_none() {
            memory.secrets = self.context.sources.secrets.acquire(self.cnf.namespace.clone()).ok();
        }
        let Some(interest) = &memory.secrets else { return };
        if !matches!(timeout(self.context.settings.call_time, interest.synced()).await, Ok(Ok(()))) {
            tracing::warn!(cnf = %self.cnf, "the Secrets of a CNF are not known yet");
        }
    }

    fn compose(&self, is_foreign: &dyn Fn(CollectionId, &str) -> bool) -> Composition {
        let inputs: Vec<CrInput> = self.facts.crs.iter().map(|(_, cr)| cr.clone()).collect();
        let sources = &self.context.sources;
        let secret = |name: &str, key: &str| {
            let value = sources.secret(&self.cnf.namespace, name, key)?;
            String::from_utf8(value).map_err(|_| format!("the key {key:?} of Secret {name} is no text"))
        };
        let addresses = |cr: &CrInput| addresses(sources, cr);
        compose(self.cnf, &inputs, &self.facts.networks, &secret, &addresses, is_foreign)
    }

    /// Reads all pods, adds finalizers, and brings the pods to the desired state.
    async fn push(
        &mut self,
        memory: &mut CnfMemory,
        pods: &[CnfPod],
    ) -> machinery::Result<(Composition, Reports)> {
        let AgentContext { connector, sources, settings, mac_key, .. } = self.context;
        let mut connections = connect(&**connector, sources, settings, mac_key, self.cnf, pods, memory);
        let written = self.written_names(memory).await?;
        let configs = self.read_pods(&mut connections, &written).await;
        let is_foreign =
            |collection: CollectionId, name: &str| is_in_all(&configs, collection, name, &written, self.cnf);
        let mut composition = self.compose(&is_foreign);
        let held_back = self.add_finalizers(&mut composition).await?;
        let (desired, _) = without(&composition.desired, &held_back, &is_foreign);
        let is_v1 = configs.iter().any(|config| matches!(config, Ok(PodConfig::V1(_))));
        let mut written = written;
        if is_v1 {
            let names = names_of(&desired).chain(written.names().iter().cloned()).collect();
            written.record(&*self.context.secrets, self.cnf, names, self.fence).await?;
        }
        let leaving = self.leaving(&composition);
        let reports = self.push_pods(pods, &mut connections, configs, &desired, &written, &leaving).await;
        for (pod, connection) in pods.iter().zip(connections) {
            if let Ok(connection) = connection {
                memory.pods.insert(pod.uid.clone(), connection);
            }
        }
        if reports.iter().any(|(_, report)| !report.written.is_empty() || report.has_failures()) {
            memory.pacing.pushed(Instant::now());
        }
        if is_v1 && reports.iter().all(|(_, report)| report.failure.is_none() && report.leftovers.is_empty())
        {
            // All pods are clean of the others.
            written
                .record(&*self.context.secrets, self.cnf, names_of(&desired).collect(), self.fence)
                .await?;
        }
        memory.written = Some(written);
        Ok((composition, reports))
    }

    async fn written_names(&self, memory: &mut CnfMemory) -> machinery::Result<WrittenNames> {
        if let Some(written) = memory.written.take() {
            return Ok(written);
        }
        let Some(key) = record_key(self.cnf) else { return Ok(WrittenNames::default()) };
        Ok(WrittenNames::of(self.context.records.get(&key, Freshness::Newest).await?))
    }

    fn limits(&self) -> CallLimits {
        CallLimits { call_time: self.context.settings.call_time, term: self.context.term.clone() }
    }

    async fn read_pods(
        &self,
        connections: &mut [Result<PodConnection, CnfError>],
        written: &WrittenNames,
    ) -> Vec<Result<PodConfig, CnfError>> {
        let kinds = self.facts.crs.iter().filter_map(|(_, cr)| cr.resource.kind.collection);
        let collections: BTreeSet<_> = kinds.chain(written.collections()).collect();
        let (limits, pod_time) = (self.limits(), self.context.settings.pod_time);
        let reads = connections.iter_mut().map(|connection| async {
            let connection = connection.as_mut().map_err(|error| error.clone())?;
            let reading = read(connection, &limits, &collections);
            timeout(pod_time, reading).await.unwrap_or_else(|_| Err(too_slow("GET v2/config")))
        });
        join_all(reads).await
    }

    async fn push_pods(
        &self,
        pods: &[CnfPod],
        connections: &mut [Result<PodConnection, CnfError>],
        configs: Vec<Result<PodConfig, CnfError>>,
        desired: &Desired,
        written: &WrittenNames,
        leaving: &BTreeSet<Place>,
    ) -> Reports {
        let pod_time = self.context.settings.pod_time;
        let limits = self.limits();
        let push_to = Push { limits: &limits, desired, mac_key: &self.context.mac_key, written, leaving };
        let pushes = pods.iter().zip(connections).zip(configs).map(|((pod, connection), config)| async {
            let report = match (connection, config) {
                (Err(error), _) => PodReport::failed_with(error.clone()),
                (Ok(_), Err(error)) => PodReport::failed_with(error),
                (Ok(connection), Ok(config)) => {
                    let pushing = push_to.push(connection, config);
                    let report = timeout(pod_time, pushing).await;
                    report.unwrap_or_else(|_| PodReport::failed_with(too_slow("PUT v2/config")))
                }
            };
            (pod.clone(), report)
        });
        join_all(pushes).await
    }

    /// Returns the objects of deleted CRs with a finalizer, which may be in the CNF without an owner:
    /// another controller with the same finalizers made them.
    fn leaving(&self, composition: &Composition) -> BTreeSet<Place> {
        let desired: BTreeSet<Place> = names_of(&composition.desired).collect();
        let crs = self.facts.crs.iter().zip(&composition.verdicts);
        let leaving = crs.filter(|((_, cr), verdict)| {
            **verdict == Verdict::Leaving && cr.object.has_finalizer(cr.resource.kind.finalizer)
        });
        leaving.filter_map(|((_, cr), _)| rest_place(cr)).filter(|place| !desired.contains(place)).collect()
    }

    /// Adds the finalizers of objects that are about to be written; returns the objects without.
    async fn add_finalizers(&mut self, composition: &mut Composition) -> machinery::Result<BTreeSet<Place>> {
        let missing: Vec<_> = (0..self.facts.crs.len())
            .filter(|number| {
                let cr = self.facts.crs.get(*number);
                let lacks = cr.is_some_and(|(_, cr)| !cr.object.has_finalizer(cr.resource.kind.finalizer));
                lacks && matches!(composition.verdicts.get(*number), Some(Verdict::Included))
            })
            .collect();
        let this = &*self;
        let writes = missing.into_iter().filter_map(|number| {
            let (kind, cr) = this.facts.crs.get(number)?;
            let (kind, object) = (this.context.sources.kinds.get(*kind)?, cr.object.clone());
            Some(async move { (number, kind, writes::add_finalizer(kind, &object, this.fence).await) })
        });
        let results: Vec<_> =
            stream::iter(writes).buffer_unordered(self.context.settings.api_writes).collect().await;
        let (mut held_back, mut stored) = (BTreeSet::new(), Vec::new());
        for (number, kind, result) in results {
            match result? {
                CrWrite::Stored(object, token) => {
                    self.run.wrote(&token, &kind.objects);
                    stored.push((number, object));
                }
                CrWrite::Outdated => {
                    held_back.extend(composition.places.get(number).cloned().flatten());
                    let message = "was changed meanwhile".to_owned();
                    if let Some(verdict) = composition.verdicts.get_mut(number) {
                        *verdict = Verdict::Excluded(Problem { kind: ProblemKind::Moving, message });
                    }
                }
            }
        }
        for (number, object) in stored {
            if let Some((_, cr)) = self.facts.crs.get_mut(number) {
                cr.object = object;
            }
        }
        Ok(held_back)
    }

    /// Writes the statuses that differ; returns whether all were current.
    async fn write_statuses(
        &mut self,
        composition: &Composition,
        reports: &Reports,
    ) -> machinery::Result<bool> {
        let now = (self.context.clock)().to_string();
        let numbers = 0..self.facts.crs.len();
        let statuses: Vec<(usize, SyncStatus)> = numbers
            .filter_map(|number| Some((number, self.changed_status(number, composition, reports, &now)?)))
            .collect();
        let this = &*self;
        let writes = statuses.into_iter().filter_map(|(number, status)| {
            let (kind, cr) = this.facts.crs.get(number)?;
            let (kind, object) = (this.context.sources.kinds.get(*kind)?, cr.object.clone());
            Some(
                async move { (number, kind, writes::write_status(kind, &object, &status, this.fence).await) },
            )
        });
        let results: Vec<_> =
            stream::iter(writes).buffer_unordered(self.context.settings.api_writes).collect().await;
        let (mut is_current, mut stored) = (true, Vec::new());
        for (number, kind, result) in results {
            match result? {
                CrWrite::Stored(object, token) => {
                    self.run.wrote(&token, &kind.objects);
                    stored.push((number, object));
                }
                CrWrite::Outdated => is_current = false,
            }
        }
        for (number, object) in stored {
            if let Some((_, cr)) = self.facts.crs.get_mut(number) {
                cr.object = object;
            }
        }
        Ok(is_current)
    }

    /// Returns the status of a CR if it differs from the present one.
    fn changed_status(
        &self,
        number: usize,
        composition: &Composition,
        reports: &Reports,
        now: &str,
    ) -> Option<SyncStatus> {
        let (_, cr) = self.facts.crs.get(number)?;
        let verdict = composition.verdicts.get(number)?;
        if cr.object.cnf() != *self.cnf
            || (cr.object.is_being_deleted() && self.is_done(number, composition, reports))
        {
            return None;
        }
        let place = composition.places.get(number).cloned().flatten();
        let pods: Vec<_> = reports
            .iter()
            .map(|(pod, report)| (pod.name.clone(), outcome(report, place.as_ref(), verdict, cr)))
            .collect();
        let status = status_of(
            &cr.object,
            &StatusInput {
                cnf: self.cnf,
                situation: &self.facts.situation,
                verdict,
                pods: &pods,
                version: cr.object.metadata.resource_version.as_deref(),
                now,
            },
        );
        (status != cr.object.sync_status()).then_some(status)
    }

    /// Returns whether no pod can have the rule of a CR that is not in the desired state.
    fn is_done(&self, number: usize, composition: &Composition, reports: &Reports) -> bool {
        let Some((_, cr)) = self.facts.crs.get(number) else { return false };
        match (&self.facts.situation, composition.verdicts.get(number)) {
            (CnfSituation::Absent | CnfSituation::Empty { .. }, _) => true,
            (CnfSituation::Ready { .. }, Some(Verdict::Leaving | Verdict::Excluded(_))) => {
                let place = rest_place(cr);
                !reports.is_empty()
                    && reports.iter().all(|(_, report)| {
                        report.failure.is_none()
                            && place.as_ref().is_none_or(|place| !report.leftovers.contains_key(place))
                    })
            }
            _ => false,
        }
    }

    /// Removes the finalizers of deleted CRs whose rules are gone, and the notes of this CNF from
    /// CRs that belong to another; returns whether all were current.
    async fn finish_deletes(&self, composition: &Composition, reports: &Reports) -> machinery::Result<bool> {
        let mut is_current = true;
        for (number, (kind, cr)) in self.facts.crs.iter().enumerate() {
            let Some(kind) = self.context.sources.kinds.get(*kind) else { continue };
            let (object, finalizer) = (&cr.object, kind.resource.kind.finalizer);
            let belongs = object.cnf() == *self.cnf;
            let is_elsewhere = object.applied_to().is_some_and(|to| to.purpose != self.cnf.purpose);
            let write =
                if belongs && object.is_being_deleted() && object.has_finalizer(finalizer) && !is_elsewhere {
                    self.is_done(number, composition, reports).then_some(true)
                } else if !belongs {
                    self.is_done(number, composition, reports).then_some(false)
                } else {
                    None
                };
            let result = match write {
                Some(true) => writes::remove_finalizer(kind, object, self.fence).await?,
                Some(false) => writes::clear_applied_to(kind, object, self.fence).await?,
                None => continue,
            };
            match result {
                CrWrite::Stored(_, token) => self.run.wrote(&token, &kind.objects),
                CrWrite::Outdated => is_current = false,
            }
        }
        Ok(is_current)
    }

    /// Returns the time of the next run.
    fn next(
        &self,
        memory: &mut CnfMemory,
        composition: &Composition,
        reports: &Reports,
        is_current: bool,
    ) -> Next {
        let number = memory.runs.wrapping_mul(0x9e37_79b9).wrapping_add(self.context.settings.seed);
        let drift = self.context.settings.drift;
        let failed = reports.iter().any(|(_, report)| report.has_failures());
        let waits = composition.verdicts.iter().any(|verdict| matches!(verdict, Verdict::InUse { .. }));
        memory.failures = if failed { memory.failures.saturating_add(1) } else { 0 };
        match &self.facts.situation {
            _ if !is_current => Next::After(retry_delay(1) / 10),
            CnfSituation::NotReady { .. } | CnfSituation::Ambiguous { .. } => {
                Next::After(jittered(retry_delay(1), number))
            }
            CnfSituation::Absent | CnfSituation::Empty { .. } => Next::After(jittered(drift, number)),
            CnfSituation::Ready { .. } if failed || waits => {
                Next::After(jittered(retry_delay(memory.failures).min(drift), number))
            }
            CnfSituation::Ready { .. } => Next::After(jittered(drift, number)),
        }
    }
}

/// Returns the outcome of a pod for one CR.
fn outcome(report: &PodReport, place: Option<&Place>, verdict: &Verdict, cr: &CrInput) -> PodOutcome {
    let fails = |message: String, is_dependency| PodOutcome::Fails { message, is_dependency };
    if let Some(error) = &report.failure {
        return fails(error.to_string(), false);
    }
    if *verdict == Verdict::Leaving {
        let left = rest_place(cr).and_then(|place| report.leftovers.get(&place).cloned());
        return left.map_or(PodOutcome::Holds { written: false }, |message| fails(message, false));
    }
    let Some(place) = place else { return PodOutcome::Holds { written: false } };
    match report.failed.get(place) {
        Some((message, is_dependency)) => fails(message.clone(), *is_dependency),
        None => PodOutcome::Holds { written: report.written.contains(place) },
    }
}

/// Returns the place of a CR's object in the REST API.
fn rest_place(cr: &CrInput) -> Option<Place> {
    Some((cr.resource.kind.collection?, cr.object.name().to_owned()))
}

fn names_of(desired: &Desired) -> impl Iterator<Item = Place> {
    desired.objects.values().flatten().map(|object| (object.collection(), object.name().to_owned()))
}

/// Returns whether every pod that was read has an object that is not the agent's.
fn is_in_all(
    configs: &[Result<PodConfig, CnfError>],
    collection: CollectionId,
    name: &str,
    written: &WrittenNames,
    cnf: &CnfKey,
) -> bool {
    let owner = crate::plan::owner_of(cnf);
    let has = |config: &PodConfig| match config {
        PodConfig::V2(config) => {
            config.get(collection, name).is_some_and(|one| one.owner.as_ref() != Some(&owner))
        }
        PodConfig::V1(lists) => {
            let objects = lists.get(&collection).into_iter().flatten();
            !written.contains(collection, name) && objects.into_iter().any(|one| one.name() == name)
        }
    };
    let mut read = configs.iter().flatten().peekable();
    read.peek().is_some() && read.all(has)
}

fn too_slow(call: &str) -> CnfError {
    CnfError::new(CnfErrorClass::Unreachable, call, "the calls to the pod took too long")
}
