//! The fabric on the daemons of a run directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::{FabricLimits, OvsFabric, SwitchConnections};
use crate::drive::FabricError;
use crate::drive::ovs::control::ControlSocket;
use crate::drive::ovs::links::{KernelLinks, KernelLinksSettings, owner_mark};
use crate::drive::ovs::openflow::{OpenFlowClient, OpenFlowSettings};
use crate::drive::ovs::ovsdb::{LockName, OvsdbClient, OvsdbConfig};
use crate::plan::ovs::SwitchSettings;

/// The settings of a fabric on real daemons.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OvsSettings {
    /// The bridge.
    pub switch: SwitchSettings,
    /// Run directory of the daemons, with `db.sock`, `BRIDGE.mgmt` and `ovs-vswitchd.pid`.
    pub run_directory: PathBuf,
    /// Limits.
    pub limits: FabricLimits,
}

/// Maximum delay between attempts to connect to the bridge. A restarted switch forwards nothing
/// until it has its flows, and an attempt costs microseconds.
const RECONNECT: Duration = Duration::from_millis(50);

/// Maximum time of a command of ovs-vswitchd.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

impl OvsSettings {
    /// Returns settings with the default limits.
    #[must_use]
    pub fn new(switch: SwitchSettings, run_directory: impl Into<PathBuf>) -> Self {
        Self { switch, run_directory: run_directory.into(), limits: FabricLimits::default() }
    }

    /// Checks the name of the bridge, and finds the run directory.
    fn check(&self) -> Result<PathBuf, FabricError> {
        let failed = |reason| FabricError::Failed { what: "starting the fabric", reason };
        let (bridge, limit) = (&self.switch.bridge, SwitchSettings::BRIDGE_NAME_LIMIT);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if bridge.is_empty() || bridge.len() > limit || !bridge.bytes().all(is_name) {
            return Err(failed(format!(
                "`{bridge}` is no name of a bridge: it needs 1 to {limit} letters, digits, `-` and `_`"
            )));
        }
        // Open vSwitch resolves relative paths below its own directory.
        self.run_directory.canonicalize().map_err(|error| {
            let path = self.run_directory.display();
            failed(format!(
                "the run directory {path} of Open vSwitch cannot be used: {error}; start its daemons, or choose another with --ovs-run"
            ))
        })
    }
}

impl OvsFabric {
    /// Returns the fabric of the daemons of a run directory. It connects when it
    /// [runs](crate::drive::Fabric::run), and waits for daemons that are missing. Must be called
    /// within a tokio runtime.
    ///
    /// # Errors
    /// The settings are wrong.
    pub fn start(settings: OvsSettings) -> Result<Self, FabricError> {
        let failed = |reason| FabricError::Failed { what: "starting the fabric", reason };
        let run = settings.check()?;
        let lock = lock_name(&settings.switch.bridge);
        let name = LockName::new(&*lock).map_err(|error| failed(error.to_string()))?;
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        // Ends the tasks of the connections with the future below.
        let ends = stopping.clone().drop_guard();
        let (database, runner) = OvsdbClient::new(OvsdbConfig::new(run.join("db.sock"), name));
        let flows = OpenFlowClient::start(
            run.join(format!("{}.mgmt", settings.switch.bridge)),
            OpenFlowSettings { max_back_off: RECONNECT, ..OpenFlowSettings::default() },
            &tasks,
            stopping.clone(),
        );
        let links = KernelLinks::start(KernelLinksSettings {
            pid_file: run.join("ovs-vswitchd.pid"),
            owner: owner_mark(&settings.switch.node, &run),
        });
        let connections = SwitchConnections {
            database: Arc::new(database),
            flows: Arc::new(flows),
            control: Arc::new(ControlSocket::new(&run, COMMAND_LIMIT)),
            links: Arc::new(links.map_err(|error| failed(error.to_string()))?),
            lock,
        };
        tasks.spawn(runner.run(stopping));
        tasks.close();
        let running = Box::pin(async move {
            let _ends = ends;
            tasks.wait().await;
        });
        Ok(Self::with_tasks(settings.switch, settings.limits, connections, running))
    }
}

/// Returns the name of the lock of a bridge: agents of one switch and bridge exclude each other.
fn lock_name(bridge: &str) -> String {
    format!("kos_agent_{}", bridge.replace('-', "_"))
}
