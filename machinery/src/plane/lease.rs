//! Controllers that run where one leads.

use std::sync::Arc;

use jiff::Timestamp;
use machinery_controllers::{
    ElectionConfig, ElectionConfigError, Elector, Ended, Lease, Reconcile, Request, Term,
};
use machinery_objects::ListWatch;

use super::controller::PlaneController;
use super::road::{Plane, Road};
use crate::Error;

impl Plane {
    /// A candidate for a Lease of this plane. Controllers that [lead](PlaneController::run_leading) by it run while it leads.
    ///
    /// # Errors
    /// The first thing that makes no sense in what it is told.
    pub fn elector(&self, config: ElectionConfig) -> Result<Elector, ElectionConfigError> {
        match self.road() {
            #[cfg(feature = "embedded")]
            Road::Embedded { server, .. } => {
                let leases = server.handle_of::<Lease>(Lease::kind(), super::road::identity());
                let reads: Arc<dyn ListWatch<Arc<Lease>>> = Arc::new(leases.clone());
                Elector::new(config, reads, Arc::new(leases), Timestamp::now)
            }
            #[cfg(feature = "kube")]
            Road::Cluster { client, server } => {
                let leases =
                    machinery_kube::Remote::<Lease>::new(client.clone(), Lease::kind(), server.clone());
                let reads: Arc<dyn ListWatch<Lease>> = Arc::new(leases.clone());
                Elector::new(config, reads, Arc::new(leases), Timestamp::now)
            }
        }
    }
}

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Reconciles while it leads, term after term, until the plane is stopped; the Lease is given back then. What it reads stays warm between
    /// terms. The function makes the reconcile of a term, which writes under its [fence](Term::fence).
    ///
    /// `None` is that it did not lead when the plane stopped. One elector is for one controller: several that lead together are run by
    /// [`Elector::lead`].
    ///
    /// # Errors
    /// A setting makes no sense, the candidate stands already, or what the controller listens to does not come, or has ended.
    pub async fn run_leading<R: Reconcile<S>>(
        self,
        elector: &Elector,
        reconcile: impl Fn(&Term) -> R + Send + Sync + 'static,
    ) -> Result<Option<Ended<Q>>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        let work = move |term: Term| {
            let (controller, reconcile) = (controller.clone(), reconcile(&term));
            async move { controller.run(reconcile, term.token().clone()).await }
        };
        Ok(elector.lead(work, stopping).await?.transpose()?)
    }
}
