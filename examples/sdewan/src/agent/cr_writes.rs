//! The writes of CRs in one run: finalizers before the pushes, statuses and the removal of
//! finalizers after them.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use futures::stream;

use super::outcome::{outcome, rest_place};
use super::run::{CnfRun, Reports};
use super::writes::{self, CrWrite};
use crate::model::SyncStatus;
use crate::plan::{CnfSituation, Composition, Place, Problem, ProblemKind, StatusInput, Verdict, status_of};

impl CnfRun<'_> {
    /// Adds the finalizers of objects that are about to be written; returns the objects without.
    pub(super) async fn add_finalizers(
        &mut self,
        composition: &mut Composition,
    ) -> machinery::Result<BTreeSet<Place>> {
        let this = &*self;
        let verdicts = &composition.verdicts;
        let mut writes = Vec::new();
        for (number, ((kind, cr), verdict)) in this.facts.crs.iter().zip(verdicts).enumerate() {
            if *verdict != Verdict::Included || cr.object.has_finalizer(cr.resource.kind.finalizer) {
                continue;
            }
            let Some(kind) = this.context.sources.kinds.get(*kind) else { continue };
            let object = cr.object.clone();
            writes
                .push(async move { (number, kind, writes::add_finalizer(kind, &object, this.fence).await) });
        }
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
    pub(super) async fn write_statuses(
        &mut self,
        composition: &Composition,
        reports: &Reports,
    ) -> machinery::Result<bool> {
        let now = (self.context.clock)().to_string();
        let this = &*self;
        let mut writes = Vec::new();
        for (number, (kind, cr)) in this.facts.crs.iter().enumerate() {
            let Some(status) = this.changed_status(number, composition, reports, &now) else { continue };
            let Some(kind) = this.context.sources.kinds.get(*kind) else { continue };
            let object = cr.object.clone();
            writes.push(async move {
                (number, kind, writes::write_status(kind, &object, &status, this.fence).await)
            });
        }
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

    /// Removes the finalizers of deleted CRs without rules, and the notes of this CNF from
    /// CRs that belong to another; returns whether all were current.
    pub(super) async fn finish_deletes(
        &self,
        composition: &Composition,
        reports: &Reports,
    ) -> machinery::Result<bool> {
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
}
