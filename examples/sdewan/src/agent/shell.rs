//! The agent as a controller of CNFs, in one or several processes.

use std::sync::Arc;

use jiff::Timestamp;
use machinery::controllers::Term;
use machinery::k8s_openapi::api::core::v1::Secret;
use machinery::objects::{Fence, ListWatch, Writer};
use machinery::{Plane, Settings, with};
use tokio_util::sync::CancellationToken;

use super::memory::Memory;
use super::run::reconcile;
use super::settings::AgentSettings;
use super::sources::Sources;
use crate::drive::CnfConnector;
use crate::model::CnfKey;

/// The agent: keeps each CNF as its CRs say, and the statuses of the CRs.
///
/// It runs until the plane is stopped. With an [election](AgentSettings::election) it writes only
/// while it leads, under the fence of its term.
#[derive(Debug)]
#[non_exhaustive]
pub struct Agent {}

/// The context of all runs of one term.
pub(super) struct AgentContext {
    pub(super) records: Arc<dyn ListWatch<Arc<Secret>>>,
    pub(super) sources: Sources,
    pub(super) connector: Arc<dyn CnfConnector>,
    pub(super) settings: AgentSettings,
    pub(super) memory: Arc<Memory>,
    pub(super) secrets: Arc<dyn Writer<Secret>>,
    pub(super) clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub(super) mac_key: Arc<[u8]>,
    pub(super) fence: Option<Fence>,
    /// Cancelled when the term ends.
    pub(super) term: CancellationToken,
}

impl Agent {
    /// Starts an agent on a plane.
    ///
    /// # Errors
    /// An informer runs already, the plane has stopped, or the operating system has no randomness.
    pub fn run(
        plane: &Plane,
        settings: AgentSettings,
        connector: Arc<dyn CnfConnector>,
    ) -> machinery::Result<Self> {
        let sources = Sources::start(plane)?;
        let memory = Arc::new(Memory::default());
        let controller = plane.controller_of_requests::<CnfKey>("sdewan");
        let controller = sources.watched_by(controller, &memory)?.settings(Settings {
            workers: settings.workers,
            run_time: settings.pod_time * 4,
            stuck_after: settings.pod_time * 2,
            ..Settings::default()
        });
        let secrets = plane.writer::<Secret>()?;
        // Of this agent alone: under a key that others know, weak secrets could be guessed.
        let mut mac_key = [0_u8; 32];
        getrandom::fill(&mut mac_key)
            .map_err(|error| format!("no key to compare secrets by, from the operating system: {error}"))?;
        let clock: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(plane.clock());
        let (kinds, election) = (sources.clone(), settings.election.clone());
        let records = plane.source::<Secret>()?;
        let context = move |fence: Option<Fence>, term: CancellationToken| {
            let (records, sources, settings) = (records.clone(), sources.clone(), settings.clone());
            // Others may have led since: nothing that was known before counts.
            memory.clear();
            let (connector, memory, secrets) = (connector.clone(), memory.clone(), secrets.clone());
            let (clock, mac_key) = (clock.clone(), Arc::<[u8]>::from(mac_key));
            Arc::new(AgentContext {
                records,
                sources,
                connector,
                settings,
                memory,
                secrets,
                clock,
                mac_key,
                fence,
                term,
            })
        };
        let stopping = plane.stopping().clone();
        match election {
            None => {
                let reconciler = with(context(None, stopping.clone()), reconcile);
                plane.spawn(async move {
                    if all_served(&kinds, &stopping).await {
                        controller.run(reconciler).await?;
                    }
                    Ok(())
                });
            }
            Some(election) => {
                let elector = plane.elector(election)?;
                let of_term = move |term: &Term| {
                    with(context(Some(term.fence().clone()), term.token().clone()), reconcile)
                };
                let leading = plane.lead(&elector, [controller.led(of_term)]);
                plane.spawn(async move {
                    if all_served(&kinds, &stopping).await {
                        leading.await?;
                    }
                    Ok(())
                });
            }
        }
        Ok(Self {})
    }
}

/// Waits until all kinds are served; an unknown kind would count as one without objects.
async fn all_served(sources: &Sources, stopping: &CancellationToken) -> bool {
    for kind in &*sources.kinds {
        if stopping.run_until_cancelled(kind.objects.served()).await.flatten().is_none() {
            return false;
        }
    }
    true
}
