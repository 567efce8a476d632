//! Says of each subnet whether it counts.

use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::{Controller, Note, Recorder};
use machinery::objects::{FieldTerm, Filter, Object, ObjectKey};
use machinery::sync::Mutex;
use machinery::{Next, Objects, Plane, Reconcile, Run};

use crate::model::{Subnet, SubnetStatus, Vni};
use crate::plan::{Begin, Judged, Validator};

/// So long until one looks again who was too early: another subnet has to be looked at before.
const EARLY: Duration = Duration::from_millis(50);

/// Runs a validator of subnets for as long as the plane runs.
///
/// # Errors
/// The plane has stopped, or has another validator.
pub fn validate(plane: &Plane, recorder: &Recorder) -> machinery::Result {
    let subnets = plane.objects::<Subnet>()?;
    let controller = plane
        .controller_of_requests::<ObjectKey>("subnet-validator")
        .watching::<Subnet, _>(|event| [event.object().key()])?
        .build()?;
    let reconcile = Validating {
        subnets,
        recorder: recorder.clone(),
        memory: Mutex::default(),
        wakes: controller.clone(),
    };
    let stopping = plane.stopping().clone();
    plane.spawn(async move { Ok(controller.run(reconcile, stopping).await.map(drop)?) });
    Ok(())
}

struct Validating {
    subnets: Objects<Subnet>,
    recorder: Recorder,
    memory: Mutex<Validator>,
    wakes: Controller<ObjectKey, ObjectKey>,
}

impl Reconcile<ObjectKey> for Validating {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let found = self.subnets.get(key);
        let place = (key.namespace().unwrap_or_default().to_owned(), key.name().to_owned());
        let Begin { wake, list } = self.memory.lock().begin(&place, found.as_deref());
        for (namespace, name) in wake {
            let key = ObjectKey::new(Some(&namespace), &name)?;
            self.wakes.request(key, &"what was in its way is gone").await;
        }
        let (Some(subnet), Some(vni)) = (found, list) else { return Ok(Next::Done) };
        let listed = self.listed(vni).await?;
        let judged = self.memory.lock().judge(&subnet, &listed);
        match judged {
            Judged::Early { .. } => Ok(Next::After(EARLY)),
            Judged::Same => Ok(Next::Done),
            Judged::Write(status) => {
                self.note(&subnet, &status);
                let subnet = Subnet { status, ..(*subnet).clone() };
                run.wrote(&self.subnets.update_status(&subnet).await?.token, &self.subnets);
                Ok(Next::Done)
            }
        }
    }
}

impl Validating {
    /// Those of a network, as they are now: a cache may lack the one that was made before.
    async fn listed(&self, vni: Vni) -> machinery::Result<Vec<Subnet>> {
        let of_it = FieldTerm::equals("spec.vni", &vni.to_string())?;
        let filter = Filter { fields: [of_it].into_iter().collect(), ..Filter::default() };
        Ok(self.subnets.list(&filter).await?.into_iter().map(Arc::unwrap_or_clone).collect())
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
