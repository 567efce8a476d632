//! The subnet validator.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinery::controllers::{Controller, Note, Recorder, Term};
use machinery::objects::{FieldTerm, Filter, Object, ObjectKey, Preconditions};
use machinery::sync::Mutex;
use machinery::tokio::time::Instant;
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::run::{ControllerSettings, with_workers};
use crate::metrics::ValidatorMetrics;
use crate::model::{Subnet, SubnetStatus, VALIDATOR_FIELDS, Vni};
use crate::plan::{BeginOutcome, Examination, SubnetValidator, Verdict};

/// Retry delay if a conflicting subnet has not begun examination.
const EARLY: Duration = Duration::from_millis(50);

/// The controller before it runs.
pub(super) struct ValidatorController {
    pub(super) controller: PlaneController<ObjectKey, ObjectKey>,
    pub(super) reconcile: ValidatorReconciler,
}

/// Validates subnets. Cheap to clone.
#[derive(Clone)]
pub(super) struct ValidatorReconciler {
    subnets: Objects<Subnet>,
    recorder: Recorder,
    metrics: ValidatorMetrics,
    memory: Arc<Mutex<SubnetValidator>>,
    controller_handle: Arc<OnceLock<Controller<ObjectKey, ObjectKey>>>,
}

impl ValidatorController {
    pub(super) fn new(
        plane: &Plane,
        recorder: &Recorder,
        settings: &ControllerSettings,
    ) -> machinery::Result<Self> {
        let controller_handle = Arc::<OnceLock<_>>::default();
        let set = controller_handle.clone();
        // Of requests: a subnet that is deleted has to wake those that it blocked.
        let controller = plane
            .controller_of_requests::<ObjectKey>("subnet-validator")
            .watching::<Subnet, _>(|event| [event.object().key()])?
            .beside(|controller, _| async move { drop(set.set(controller)) })
            .settings(with_workers(settings.validator_workers));
        let (subnets, recorder) = (plane.objects()?, recorder.clone());
        let metrics = settings.metrics.validator.clone();
        let reconcile =
            ValidatorReconciler { subnets, recorder, metrics, memory: Arc::default(), controller_handle };
        Ok(Self { controller, reconcile })
    }
}

impl ValidatorReconciler {
    /// Returns this reconciler fenced by a term, if the server supports fences.
    pub(super) fn in_term(&self, term: &Term) -> Self {
        let subnets = match self.subnets.has_fences() {
            true => self.subnets.fenced(term.fence()),
            false => self.subnets.clone(),
        };
        Self { subnets, ..self.clone() }
    }
}

impl Reconcile<ObjectKey> for ValidatorReconciler {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let found = self.subnets.get(key);
        let place = (key.namespace().unwrap_or_default().to_owned(), key.name().to_owned());
        let BeginOutcome { wake, examine } = self.memory.lock().begin(&place, found.as_deref());
        for (namespace, name) in wake {
            let key = ObjectKey::new(Some(&namespace), &name)?;
            if let Some(controller) = self.controller_handle.get() {
                controller.request(key, &"a conflicting subnet was deleted").await;
            }
        }
        let Some(subnet) = found else { return Ok(Next::Done) };
        let judged = match examine {
            Examination::Skip => return Ok(Next::Done),
            Examination::Write(status) => Verdict::Write(status),
            Examination::List(vni) => {
                let listed = self.live_list(vni).await?;
                self.memory.lock().judge(&subnet, &listed)
            }
        };
        match judged {
            Verdict::Early { .. } => Ok(Next::After(EARLY)),
            Verdict::Unchanged => Ok(Next::Done),
            Verdict::Write(status) => {
                self.write_status(&subnet, status, run).await?;
                Ok(Next::Done)
            }
        }
    }
}

impl ValidatorReconciler {
    /// Lists the subnets of a network live: a cache may lack an earlier subnet.
    async fn live_list(&self, vni: Vni) -> machinery::Result<Vec<Subnet>> {
        let of_it = FieldTerm::equals("spec.vni", &vni.to_string())?;
        let filter = Filter { fields: [of_it].into_iter().collect(), ..Filter::default() };
        let since = Instant::now();
        let listed = self.subnets.list(&filter).await;
        self.metrics.listed(since, listed.as_ref().map(Vec::len));
        Ok(listed?.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn write_status(&self, subnet: &Subnet, status: SubnetStatus, run: &Run) -> machinery::Result {
        self.note(subnet, &status);
        let (since, has_errors) = (Instant::now(), !status.errors.is_empty());
        let mut judged = Subnet { status, ..subnet.clone() };
        judged.status.conditions.set(judged.status.validated(), &subnet.metadata, Timestamp::now());
        // The verdict is about this version.
        let only_if = Preconditions { version: subnet.version(), ..Preconditions::default() };
        let written = VALIDATOR_FIELDS.apply(&*self.subnets.writer(), subnet, &judged, &only_if).await;
        let after = written.as_ref().map(|written| &written.object);
        self.metrics.wrote(since, subnet, after, has_errors);
        run.wrote(&written?.token, &self.subnets);
        Ok(())
    }

    fn note(&self, subnet: &Subnet, status: &SubnetStatus) {
        let about = self.subnets.about(subnet);
        self.recorder.note(if status.validated {
            Note::normal(about, "SubnetValidated", "validation succeeded")
        } else {
            Note::warning(about, "SubnetFailedValidation", status.errors.join("; "))
        });
    }
}
