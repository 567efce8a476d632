//! One run of a CNF.

use std::sync::Arc;

use machinery::objects::Fence;
use machinery::{Next, Run};
use tokio::time::{Instant, timeout};

use super::facts::{CnfFacts, addresses};
use super::memory::CnfMemory;
use super::pod::PodReport;
use super::shell::AgentContext;
use crate::model::{CnfKey, CollectionId};
use crate::plan::{CnfPod, CnfSituation, Composition, CrInput, Verdict, compose, jittered, retry_delay};

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

/// One run of a CNF.
pub(super) struct CnfRun<'a> {
    pub(super) context: &'a AgentContext,
    pub(super) cnf: &'a CnfKey,
    pub(super) run: &'a Run,
    pub(super) facts: CnfFacts,
    pub(super) fence: Option<&'a Fence>,
}

/// The results of the pods of a CNF.
pub(super) type Reports = Vec<(CnfPod, PodReport)>;

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

    pub(super) fn compose(&self, is_foreign: &dyn Fn(CollectionId, &str) -> bool) -> Composition {
        let inputs: Vec<CrInput> = self.facts.crs.iter().map(|(_, cr)| cr.clone()).collect();
        let sources = &self.context.sources;
        let secret = |name: &str, key: &str| {
            let value = sources.secret(&self.cnf.namespace, name, key)?;
            String::from_utf8(value).map_err(|_| format!("the key {key:?} of Secret {name} is no text"))
        };
        let addresses = |cr: &CrInput| addresses(sources, cr);
        compose(self.cnf, &inputs, &self.facts.networks, &secret, &addresses, is_foreign)
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
