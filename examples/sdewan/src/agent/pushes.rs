//! The pushes of one run: reading all pods, and bringing them to the desired state.

use std::collections::BTreeSet;

use futures::future::join_all;
use machinery::objects::Freshness;
use tokio::time::{Instant, timeout};

use super::connections::{PodConnection, connect};
use super::memory::CnfMemory;
use super::outcome::{is_in_all, names_of, rest_place, too_slow};
use super::pod::{CallLimits, PodConfig, PodReport, Push, read};
use super::record::{WrittenNames, record_key};
use super::run::{CnfRun, Reports};
use super::shell::AgentContext;
use crate::drive::CnfError;
use crate::model::{CollectionId, Desired};
use crate::plan::{CnfPod, Composition, Place, Verdict, without};

impl CnfRun<'_> {
    /// Reads all pods, adds finalizers, and brings the pods to the desired state.
    pub(super) async fn push(
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

    /// Returns the objects of deleted CRs with a finalizer, which may be in the CNF without an
    /// owner: another controller with the same finalizers made them.
    fn leaving(&self, composition: &Composition) -> BTreeSet<Place> {
        let desired: BTreeSet<Place> = names_of(&composition.desired).collect();
        let crs = self.facts.crs.iter().zip(&composition.verdicts);
        let leaving = crs.filter(|((_, cr), verdict)| {
            **verdict == Verdict::Leaving && cr.object.has_finalizer(cr.resource.kind.finalizer)
        });
        leaving.filter_map(|((_, cr), _)| rest_place(cr)).filter(|place| !desired.contains(place)).collect()
    }
}
