//! A running lab.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use machinery::tokio::process::{Child, Command};
use machinery::tokio::sync::Mutex;

use super::daemons::{agent_command, wait};
use super::directory::{make_directory, prepare_directory};
use super::journal::{Journal, LabEffect};
use super::process::ProcessIdentity;
use super::settings::lab_mark;
use super::{Daemon, LabError, LabHost, LabSettings, database, hosts, missing_requirements};
use crate::drive::ovs::links::{NamespaceDirectory, NamespaceName, OwnedNamespaces};

/// A running lab. Dropping it leaves the lab running; [`down`](super::down) removes it.
#[derive(Debug)]
pub struct Lab {
    settings: LabSettings,
    id: String,
    hosts: Vec<LabHost>,
    namespaces: OwnedNamespaces,
    state: Mutex<LabState>,
    /// Held while this value exists: other commands do not change the lab.
    _lock: File,
}

#[derive(Debug)]
struct LabState {
    journal: Journal,
    processes: BTreeMap<(String, &'static str), (ProcessIdentity, Child)>,
}

/// The end of the line that an agent prints when it runs.
const AGENT_RUNS: &str = "Ctrl-C ends it";

/// The program name of agents in the journal.
pub(super) const AGENT: &str = "agent";

impl Lab {
    /// Makes a lab: namespaces, underlay, and hosts with running daemons.
    ///
    /// # Errors
    /// A requirement is missing, the directory is in use, or a step failed. Then a part of the lab
    /// may exist, and [`down`](super::down) removes it, as after a dropped future.
    pub async fn up(mut settings: LabSettings) -> Result<Self, LabError> {
        let missing = missing_requirements();
        if !missing.is_empty() {
            return Err(LabError::Missing { missing });
        }
        settings.directory =
            std::path::absolute(&settings.directory).map_err(LabError::io("finding", &settings.directory))?;
        let hosts = settings.hosts()?;
        let id = fs::read_to_string("/proc/sys/kernel/random/uuid")
            .map_err(LabError::io("reading", Path::new("/proc/sys/kernel/random/uuid")))?
            .trim()
            .to_owned();
        let namespaces = OwnedNamespaces::start(&lab_mark(&id))?;
        let lock = prepare_directory(&settings.directory).await?;
        let journal = Journal::create(&settings)?;
        let state = Mutex::new(LabState { journal, processes: BTreeMap::new() });
        let lab = Self { settings, id, hosts, namespaces, state, _lock: lock };
        lab.make().await?;
        Ok(lab)
    }

    /// Returns the hosts, in order.
    #[must_use]
    pub fn hosts(&self) -> &[LabHost] {
        &self.hosts
    }

    /// Returns the settings, with an absolute directory.
    #[must_use]
    pub const fn settings(&self) -> &LabSettings {
        &self.settings
    }

    /// Kills a daemon with SIGKILL, and waits until it has ended.
    ///
    /// # Errors
    /// The process does not end.
    pub async fn kill(&self, host: &LabHost, daemon: Daemon) -> Result<(), LabError> {
        self.end(host, daemon.program()).await
    }

    /// Starts a daemon that does not run. A started switch lost its devices with the old process,
    /// so that the bridge gets its address again.
    ///
    /// # Errors
    /// The daemon does not come up.
    pub async fn start(&self, host: &LabHost, daemon: Daemon) -> Result<(), LabError> {
        self.end(host, daemon.program()).await?;
        let command = daemon.command(host, &self.id)?;
        self.spawn(host, daemon.program(), command, Some(&host.namespace)).await?;
        let mut state = self.state.lock().await;
        let started = state.processes.get_mut(&(host.node.clone(), daemon.program()));
        let Some((_, child)) = started else { return Ok(()) };
        daemon.wait_until_up(host, child).await?;
        if daemon == Daemon::Switch {
            wait(host, daemon.program(), child, async || hosts::set_address(&self.id, host).await.is_ok())
                .await?;
        }
        Ok(())
    }

    /// Replaces the database of a host by that of a new host. Both daemons must not run.
    ///
    /// # Errors
    /// The file cannot be replaced.
    pub async fn recreate_database(&self, host: &LabHost) -> Result<(), LabError> {
        for name in ["conf.db", ".conf.db.~lock~"] {
            let path = host.file(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(LabError::io("removing", &path)(error));
                }
                _ => {}
            }
        }
        database::create(&self.id, host).await
    }

    /// Connects or disconnects the cable between a host and the underlay.
    ///
    /// # Errors
    /// `ip` failed.
    pub async fn set_cable(&self, host: &LabHost, up: bool) -> Result<(), LabError> {
        hosts::set_cable(&self.id, &self.settings, host, up).await
    }

    /// Starts the agent of a host, with the file `NODE.kubeconfig` of a directory, and waits until
    /// it runs.
    ///
    /// # Errors
    /// The agent does not come up.
    pub async fn start_agent(&self, host: &LabHost, kubeconfigs: &Path) -> Result<(), LabError> {
        let command = agent_command(host, kubeconfigs, &self.id)?;
        let log = host.file("agent.log");
        let earlier = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        self.end(host, AGENT).await?;
        self.spawn(host, AGENT, command, None).await?;
        let mut state = self.state.lock().await;
        let Some((_, child)) = state.processes.get_mut(&(host.node.clone(), AGENT)) else { return Ok(()) };
        let printed = usize::try_from(earlier).unwrap_or(usize::MAX);
        let is_up = async || {
            let text = fs::read(&log).unwrap_or_default();
            String::from_utf8_lossy(text.get(printed..).unwrap_or_default()).contains(AGENT_RUNS)
        };
        wait(host, AGENT, child, is_up).await
    }

    /// Kills the agent of a host with SIGKILL, and waits until it has ended.
    ///
    /// # Errors
    /// The process does not end.
    pub async fn kill_agent(&self, host: &LabHost) -> Result<(), LabError> {
        self.end(host, AGENT).await
    }

    /// Starts a command in a namespace of the lab, with the environment that Open vSwitch's tools
    /// need. The child belongs to the caller.
    ///
    /// # Errors
    /// The command cannot be started.
    pub async fn exec(&self, host: &LabHost, mut command: Command) -> Result<Child, LabError> {
        command.envs(host.environment());
        Ok(self.namespaces.run_in(&host.namespace, move || command.spawn()).await?)
    }

    /// Starts a command in the namespace of the underlay. The child belongs to the caller.
    ///
    /// # Errors
    /// The command cannot be started.
    pub async fn exec_in_underlay(&self, mut command: Command) -> Result<Child, LabError> {
        let underlay = self.settings.underlay()?;
        Ok(self.namespaces.run_in(&underlay, move || command.spawn()).await?)
    }

    /// Removes the lab.
    ///
    /// # Errors
    /// A step failed: [`down`](super::down) may be called again.
    pub async fn down(self) -> Result<(), LabError> {
        let directory = self.settings.directory.clone();
        drop(self);
        super::down(&directory).await
    }

    async fn make(&self) -> Result<(), LabError> {
        let LabSettings { name, nodes, mtu, .. } = &self.settings;
        let header = LabEffect::Lab { id: self.id.clone(), name: name.clone(), nodes: *nodes, mtu: *mtu };
        self.record(&header).await?;
        let NamespaceDirectory { created, mounted } = NamespaceDirectory::missing()?;
        self.record(&LabEffect::NamespaceDirectory { created, mounted }).await?;
        let underlay = self.settings.underlay()?;
        self.make_namespace(&underlay).await?;
        self.inside(&underlay, "a bridge").await?;
        hosts::make_underlay(&self.id, &self.namespaces, &underlay, *mtu).await?;
        for host in &self.hosts {
            self.make_namespace(&host.namespace).await?;
            self.inside(&host.namespace, "a cable to the underlay").await?;
            hosts::make_cable(&self.id, &self.namespaces, &self.settings, host).await?;
            self.record(&LabEffect::Directory { path: host.run_directory.clone() }).await?;
            make_directory(&host.run_directory)?;
            database::create(&self.id, host).await?;
            for daemon in Daemon::ALL {
                self.start(host, daemon).await?;
            }
        }
        Ok(())
    }

    async fn make_namespace(&self, name: &NamespaceName) -> Result<(), LabError> {
        self.record(&LabEffect::Namespace { name: name.as_str().into() }).await?;
        Ok(self.namespaces.create(name).await?)
    }

    async fn inside(&self, namespace: &NamespaceName, change: &str) -> Result<(), LabError> {
        let namespace = namespace.as_str().into();
        self.record(&LabEffect::Inside { namespace, change: change.into() }).await
    }

    async fn record(&self, effect: &LabEffect) -> Result<(), LabError> {
        self.state.lock().await.journal.append(effect)
    }

    /// Starts a process: the journal has an entry before it exists, and another with its identity.
    async fn spawn(
        &self,
        host: &LabHost,
        program: &'static str,
        mut command: Command,
        namespace: Option<&NamespaceName>,
    ) -> Result<(), LabError> {
        let mut state = self.state.lock().await;
        let node = host.node.clone();
        state.journal.append(&LabEffect::Starting { node: node.clone(), program: program.into() })?;
        let failed = |reason: String| LabError::Daemon {
            node: node.clone(),
            program: program.into(),
            reason,
            log: host.file(&format!("{program}.log")),
        };
        let child = match namespace {
            // A child is born in the namespace of the thread that starts it.
            Some(namespace) => self.namespaces.run_in(namespace, move || command.spawn()).await?,
            None => command.spawn().map_err(|error| failed(error.to_string()))?,
        };
        let process = child.id().and_then(ProcessIdentity::of);
        let process = process.ok_or_else(|| failed("it ended at once".into()))?;
        let started =
            LabEffect::Started { node: node.clone(), program: program.into(), process: process.clone() };
        state.journal.append(&started)?;
        state.processes.insert((node.clone(), program), (process, child));
        Ok(())
    }

    async fn end(&self, host: &LabHost, program: &'static str) -> Result<(), LabError> {
        let ended = self.state.lock().await.processes.remove(&(host.node.clone(), program));
        let Some((process, mut child)) = ended else { return Ok(()) };
        process.kill().await?;
        // It has ended: this only reads its exit status.
        let _ = child.wait().await;
        Ok(())
    }
}
