//! Leader election of controllers, single or in groups.

use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use machinery_controllers::{
    Controller, ElectionConfig, ElectionConfigError, Elector, Lease, Reconcile, ReconcileBatch, Request,
    RunError, ShutdownReport, Term,
};
use machinery_objects::ListWatch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::controller::PlaneController;
use super::controller_run::BackgroundTasks;
use super::handle::Plane;
use super::transport::Transport;
use crate::Error;

impl Plane {
    /// Creates a candidate of a leader election, by a Lease of this plane. Controllers
    /// [led](Self::lead) by the candidate run while it leads.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn elector(&self, config: ElectionConfig) -> Result<Elector, ElectionConfigError> {
        let surroundings = &self.0.surroundings;
        let clock = surroundings.clock();
        let elector = match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, identity, .. } => {
                let leases = server.handle_of::<Lease>(Lease::kind(), identity.clone());
                let reads: Arc<dyn ListWatch<Arc<Lease>>> = Arc::new(leases.clone());
                Elector::new(config, reads, surroundings.uncounted_writer(Arc::new(leases)), clock)
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { client, server } => {
                let leases =
                    machinery_kube::Remote::<Lease>::new(client.clone(), Lease::kind(), server.clone());
                let reads: Arc<dyn ListWatch<Lease>> = Arc::new(leases.clone());
                Elector::new(config, reads, surroundings.uncounted_writer(Arc::new(leases)), clock)
            }
        }?;
        self.registry().elector(&elector);
        Ok(elector)
    }

    /// Runs controllers together while a candidate leads, in every term, until the plane is
    /// stopped; the Lease is released when all of them have ended. If one fails, the others stop,
    /// and the error is returned. Their caches stay synced between terms.
    ///
    /// `None`: the candidate did not lead at the shutdown. Dropping the future drops active runs,
    /// and does not release the Lease.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::{Next, Run, controllers::{ElectionConfig, Term}};
    /// # use machinery::k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use std::sync::Arc;
    /// # let plane = machinery::embedded().start().await?;
    /// let config = ElectionConfig::new("default/all".parse()?, "host-7-8a2c", 0x8a2c);
    /// let elector = plane.elector(config)?;
    /// let maps = |_term: &Term| {
    ///     |_: Arc<ConfigMap>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) }
    /// };
    /// let secrets = |_term: &Term| {
    ///     |_: Arc<Secret>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) }
    /// };
    /// let led = [plane.controller("maps")?.led(maps), plane.controller("secrets")?.led(secrets)];
    /// let leading = plane.lead(&elector, led);
    /// plane.spawn(async { leading.await.map(drop) });
    /// # plane.stop().await;
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    ///
    /// # Errors
    /// A setting is invalid, two controllers have one name, the elector is running already, or a
    /// source did not sync or has stopped.
    pub fn lead<I: IntoIterator<Item = LedController>>(
        &self,
        elector: &Elector,
        led: I,
    ) -> impl Future<Output = Result<Option<Vec<LedShutdownReport>>, Error>> + Send + use<I> {
        let (elector, stopping) = (elector.clone(), self.stopping().clone());
        let led: Vec<LedController> = led.into_iter().collect();
        async move {
            // Before the first term: locks wake them, diagnostics show them, duplicate names fail.
            let started: Result<Vec<StartedController>, Error> =
                led.into_iter().map(|led| (led.start)()).collect();
            let started = Arc::new(started?);
            let work = move |term: Term| run_together(started.clone(), term);
            Ok(elector.lead(work, stopping).await?.transpose()?)
        }
    }
}

/// A controller that runs while a candidate leads, from [`PlaneController::led`] for
/// [`Plane::lead`].
#[must_use = "it does nothing before it is led"]
pub struct LedController {
    name: String,
    start: Box<dyn FnOnce() -> Result<StartedController, Error> + Send>,
}

/// Report of a led controller's last term.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedShutdownReport {
    /// Name of the controller.
    pub name: String,
    /// Keys of runs that were dropped at the drain timeout.
    pub dropped: Vec<String>,
}

struct StartedController {
    run: Box<RunTerm>,
    _beside: BackgroundTasks,
}

/// Runs one term of a controller, until the token is cancelled.
type RunTerm =
    dyn Fn(Term, CancellationToken) -> BoxFuture<'static, Result<LedShutdownReport, RunError>> + Send + Sync;

/// Runs all controllers of a term; the end of one stops the others.
async fn run_together(
    started: Arc<Vec<StartedController>>,
    term: Term,
) -> Result<Vec<LedShutdownReport>, RunError> {
    let stopping = term.token().child_token();
    let all = started.iter().map(|one| {
        let run = (one.run)(term.clone(), stopping.clone());
        async {
            let ended = run.await;
            // The end of one ends the term, so that another candidate may run all of them.
            stopping.cancel();
            ended
        }
    });
    join_all(all).await.into_iter().collect()
}

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Prepares the controller for [`Plane::lead`]. The function creates the reconciler of a term,
    /// which should write under its [fence](Term::fence).
    pub fn led<R: Reconcile<S>>(
        self,
        reconcile: impl Fn(&Term) -> R + Send + Sync + 'static,
    ) -> LedController {
        self.led_by(move |controller, term, stopping| {
            let (controller, reconcile) = (controller.clone(), reconcile(term));
            async move { controller.run(reconcile, stopping).await }
        })
    }

    /// Like [`led`](Self::led), with up to `max` ready keys in one call of the reconciler.
    pub fn led_batches<R: ReconcileBatch<S>>(
        self,
        max: NonZeroUsize,
        reconcile: impl Fn(&Term) -> R + Send + Sync + 'static,
    ) -> LedController {
        self.led_by(move |controller, term, stopping| {
            let (controller, reconcile) = (controller.clone(), reconcile(term));
            async move { controller.run_batches(max, reconcile, stopping).await }
        })
    }

    fn led_by<F>(
        self,
        run: impl Fn(&Controller<Q, S>, &Term, CancellationToken) -> F + Send + Sync + 'static,
    ) -> LedController
    where
        F: Future<Output = Result<ShutdownReport<Q>, RunError>> + Send + 'static,
    {
        let name = self.name().to_owned();
        let start = move || {
            let (controller, beside) = self.split()?;
            let run = Arc::new(run);
            let run = move |term: Term, stopping: CancellationToken| {
                let (controller, run) = (controller.clone(), run.clone());
                async move {
                    let run = |stopping| run(&controller, &term, stopping);
                    let ended = run_term(&term, run, stopping).await.transpose()?;
                    let dropped = ended.iter().flat_map(|ended| &ended.dropped).map(ToString::to_string);
                    Ok(LedShutdownReport { name: controller.name().into(), dropped: dropped.collect() })
                }
                .boxed()
            };
            Ok(StartedController { run: Box::new(run), _beside: beside })
        };
        LedController { name, start: Box::new(start) }
    }

    /// Reconciles while a candidate leads, in every term, until the plane is stopped; then releases
    /// the Lease. Its caches stay synced between terms. The function creates the reconciler of a
    /// term, which should write under its [fence](Term::fence).
    ///
    /// `None`: the candidate did not lead at the shutdown. An elector runs for one controller; use
    /// [`Plane::lead`] for several.
    ///
    /// # Errors
    /// A setting is invalid, the elector is running already, or a source did not sync or has
    /// stopped.
    pub async fn run_leading<R: Reconcile<S>>(
        self,
        elector: &Elector,
        reconcile: impl Fn(&Term) -> R + Send + Sync + 'static,
    ) -> Result<Option<ShutdownReport<Q>>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        let reconcile = Arc::new(reconcile);
        let work = move |term: Term| {
            let (controller, reconcile) = (controller.clone(), reconcile.clone());
            async move {
                let run = |stopping| controller.run(reconcile(&term), stopping);
                run_term(&term, run, term.token().clone()).await
            }
        };
        Ok(elector.lead(work, stopping).await?.flatten().transpose()?)
    }
}

/// Delay before another attempt to start, while a blocking run of the last term has not returned.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Runs one term of a controller. `None`: it was dropped, as another candidate may lead.
async fn run_term<Q: Request, F: Future<Output = Result<ShutdownReport<Q>, RunError>>>(
    term: &Term,
    run: impl Fn(CancellationToken) -> F,
    stopping: CancellationToken,
) -> Option<Result<ShutdownReport<Q>, RunError>> {
    let runs = async {
        loop {
            match run(stopping.clone()).await {
                // If stopped meanwhile, the next attempt returns at once.
                Err(RunError::Runs) => drop(stopping.run_until_cancelled(sleep(RETRY_DELAY)).await),
                ended => return ended,
            }
        }
    };
    term.within(runs).await
}

impl fmt::Debug for LedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedController").field("name", &self.name).finish_non_exhaustive()
    }
}
