//! Says of each subnet whether it counts.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machinery::controllers::{Controller, Note, Recorder, Term};
use machinery::objects::{FieldTerm, Filter, Object, ObjectKey};
use machinery::sync::Mutex;
use machinery::tokio::time::Instant;
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::run::{ControllerSettings, with_workers};
use crate::metrics::ValidatorMetrics;
use crate::model::{Subnet, SubnetStatus, Vni};
use crate::plan::{Begin, Examine, Judged, Validator};

/// So long until one looks again who was too early: another subnet has to be looked at before.
const EARLY: Duration = Duration::from_millis(50);

/// It, not running yet.
pub(super) struct Validating {
    pub(super) controller: PlaneController<ObjectKey, ObjectKey>,
    pub(super) reconcile: Validates,
}

/// Looks at subnets. Cheap to clone.
#[derive(Clone)]
pub(super) struct Validates {
    subnets: Objects<Subnet>,
    recorder: Recorder,
    metrics: ValidatorMetrics,
    memory: Arc<Mutex<Validator>>,
    wakes: Arc<OnceLock<Controller<ObjectKey, ObjectKey>>>,
}

impl Validating {
    pub(super) fn new(
        plane: &Plane,
        recorder: &Recorder,
        settings: &ControllerSettings,
    ) -> machinery::Result<Self> {
        let wakes = Arc::<OnceLock<_>>::default();
        let set = wakes.clone();
        let controller = plane
            .controller_of_requests::<ObjectKey>("subnet-validator")
            .watching::<Subnet, _>(|event| [event.object().key()])?
            .beside(|controller, _| async move { drop(set.set(controller)) })
            .settings(with_workers(settings.validator_workers));
        let (subnets, recorder) = (plane.objects()?, recorder.clone());
        let metrics = settings.metrics.validator.clone();
        let reconcile = Validates { subnets, recorder, metrics, memory: Arc::default(), wakes };
        Ok(Self { controller, reconcile })
    }
}

impl Validates {
    /// The same, but what it writes rests on a term, if the server holds such things.
    pub(super) fn in_term(&self, term: &Term) -> Self {
        let subnets = match self.subnets.has_fences() {
            true => self.subnets.fenced(term.fence()),
            false => self.subnets.clone(),
        };
        Self { subnets, ..self.clone() }
    }
}

impl Reconcile<ObjectKey> for Validates {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let found = self.subnets.get(key);
        let place = (key.namespace().unwrap_or_default().to_owned(), key.name().to_owned());
        let Begin { wake, examine } = self.memory.lock().begin(&place, found.as_deref());
        for (namespace, name) in wake {
            let key = ObjectKey::new(Some(&namespace), &name)?;
            if let Some(controller) = self.wakes.get() {
                controller.request(key, &"what was in its way is gone").await;
            }
        }
        let Some(subnet) = found else { return Ok(Next::Done) };
        let judged = match examine {
            Examine::Not => return Ok(Next::Done),
            Examine::Write(status) => Judged::Write(status),
            Examine::List(vni) => {
                let listed = self.listed(vni).await?;
                self.memory.lock().judge(&subnet, &listed)
            }
        };
        match judged {
            Judged::Early { .. } => Ok(Next::After(EARLY)),
            Judged::Same => Ok(Next::Done),
            Judged::Write(status) => {
                self.says(&subnet, status, run).await?;
                Ok(Next::Done)
            }
        }
    }
}

impl Validates {
    /// Those of a network, as they are now: a cache may lack the one that was made before.
    async fn listed(&self, vni: Vni) -> machinery::Result<Vec<Subnet>> {
        let of_it = FieldTerm::equals("spec.vni", &vni.to_string())?;
        let filter = Filter { fields: [of_it].into_iter().collect(), ..Filter::default() };
        let since = Instant::now();
        let listed = self.subnets.list(&filter).await;
        self.metrics.listed(since, listed.as_ref().map(Vec::len));
        Ok(listed?.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn says(&self, subnet: &Subnet, status: SubnetStatus, run: &Run) -> machinery::Result {
        self.note(subnet, &status);
        let (since, has_errors) = (Instant::now(), !status.errors.is_empty());
        let judged = Subnet { status, ..subnet.clone() };
        let written = self.subnets.update_status(&judged).await;
        let after = written.as_ref().map(|written| &written.object);
        self.metrics.wrote(since, subnet, after, has_errors);
        run.wrote(&written?.token, &self.subnets);
        Ok(())
    }

    fn note(&self, subnet: &Subnet, status: &SubnetStatus) {
        let about = self.subnets.about(subnet);
        self.recorder.note(if status.validated {
            Note::normal(about, "SubnetValidated", "it counts")
        } else {
            Note::warning(about, "SubnetFailedValidation", status.errors.join("; "))
        });
    }
}
