//! The implementation of [`Links`] for the kernel.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use machinery::sync::Mutex;
use machinery::tokio::sync::Mutex as AsyncMutex;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::named::{NamedFile, create_name, mount, names, open_named, prepare, remove_name, unmount_named};
use super::switch::{NamespaceIdentity, open_switch};
use super::thread::NamespaceThread;
use super::{ping, watch};
use crate::drive::ovs::links::events::EventQueue;
use crate::drive::ovs::links::{
    EchoRequest, Link, LinkError, LinkEvents, LinkList, LinkPlace, LinkStep, LinkStepError, Links,
    NamespaceEntry, NamespaceName, NamespaceState,
};

/// The owner of namespaces, and the switch.
#[derive(Clone, Debug)]
pub struct KernelLinksSettings {
    /// The pid file of `ovs-vswitchd`. Its namespace is looked up for each operation, so that a
    /// restarted process may have another one.
    pub pid_file: PathBuf,
    /// The mark of the owner's namespaces: unique per agent on this machine, such as the node with
    /// the run directory of its switch. At most 255 bytes.
    pub owner: String,
}

/// [`Links`] of this machine. Needs root.
///
/// One thread enters namespaces, opens netlink and raw sockets there, and hands them back. No
/// child process is started. A socket keeps its namespace alive, so that only the switch's is kept
/// between operations.
#[derive(Debug)]
pub struct KernelLinks {
    settings: KernelLinksSettings,
    thread: NamespaceThread,
    tasks: TaskTracker,
    switch: Mutex<Option<(NamespaceIdentity, Connection)>>,
    /// Held while names are changed: creation is several system calls.
    names: AsyncMutex<()>,
}

/// Maximum length of an interface's alias.
const MARK_LIMIT: usize = 255;

/// Number of namespaces that are listed concurrently.
const LISTED_AT_ONCE: usize = 16;

impl KernelLinks {
    /// Starts the thread. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`LinkError::Mark`], or the thread cannot be started.
    pub fn start(settings: KernelLinksSettings) -> Result<Self, LinkError> {
        let mark = &settings.owner;
        if mark.is_empty() || mark.len() > MARK_LIMIT {
            return Err(LinkError::Mark { mark: mark.clone(), limit: MARK_LIMIT });
        }
        let (thread, tasks) = (NamespaceThread::start()?, TaskTracker::new());
        Ok(Self { settings, thread, tasks, switch: Mutex::default(), names: AsyncMutex::default() })
    }

    /// Returns the connection to the switch's present namespace.
    async fn switch(&self) -> Result<Connection, LinkError> {
        let namespace = match open_switch(&self.settings.pid_file) {
            Ok(namespace) => namespace,
            Err(error) => {
                *self.switch.lock() = None;
                return Err(error);
            }
        };
        let identity = namespace.identity;
        if let Some((known, connection)) = &*self.switch.lock()
            && *known == identity
        {
            return Ok(connection.clone());
        }
        let connection =
            Connection::open(&self.thread, &self.tasks, namespace.file, LinkPlace::Switch).await?;
        *self.switch.lock() = Some((identity, connection.clone()));
        Ok(connection)
    }

    /// Opens a namespace of the owner, and connects to it.
    async fn workload(&self, name: &NamespaceName) -> Result<(OwnedFd, Connection), LinkError> {
        match open_named(name)? {
            NamedFile::Namespace(file) => {
                let connection = self.connect(name, &file).await?;
                self.check_mark(name, connection.mark().await?.0)?;
                Ok((file, connection))
            }
            NamedFile::NameOnly(_) | NamedFile::Missing => {
                Err(LinkError::NamespaceMissing { name: name.clone() })
            }
        }
    }

    async fn connect(&self, name: &NamespaceName, file: &OwnedFd) -> Result<Connection, LinkError> {
        let failed = |error| LinkError::of_io(format!("opening the network namespace {name}"), &error);
        let file = file.try_clone().map_err(failed)?;
        Connection::open(&self.thread, &self.tasks, file, LinkPlace::Workload(name.clone())).await
    }

    fn check_mark(&self, name: &NamespaceName, mark: Option<String>) -> Result<(), LinkError> {
        if mark.as_ref() == Some(&self.settings.owner) {
            return Ok(());
        }
        let owner = mark.map_or_else(|| "somebody else".into(), |mark| format!("`{mark}`"));
        Err(LinkError::NamespaceTaken { name: name.clone(), owner })
    }

    /// Lists one name, if it is the owner's.
    async fn entry(&self, name: NamespaceName) -> Result<Option<(NamespaceEntry, Vec<Link>)>, LinkError> {
        let file = match open_named(&name)? {
            NamedFile::Namespace(file) => file,
            NamedFile::NameOnly(mark) if mark == self.settings.owner => {
                let entry = NamespaceEntry { name, state: NamespaceState::NameOnly, loopback_up: false };
                return Ok(Some((entry, Vec::new())));
            }
            NamedFile::NameOnly(_) | NamedFile::Missing => return Ok(None),
        };
        // A namespace of another type has a name here, too, if somebody mounts it.
        let Ok(connection) = self.connect(&name, &file).await else { return Ok(None) };
        let (mark, loopback_up) = connection.mark().await?;
        if mark.as_ref() != Some(&self.settings.owner) {
            return Ok(None);
        }
        let links = connection.list().await?;
        Ok(Some((NamespaceEntry { name, state: NamespaceState::Live, loopback_up }, links)))
    }

    async fn create_namespace(&self, name: &NamespaceName) -> Result<(), LinkError> {
        let _guard = self.names.lock().await;
        prepare()?;
        if !create_name(name, &self.settings.owner)? {
            match open_named(name)? {
                NamedFile::Namespace(file) => {
                    let connection = self.connect(name, &file).await?;
                    return self.check_mark(name, connection.mark().await?.0);
                }
                NamedFile::NameOnly(mark) => {
                    self.check_mark(name, Some(mark).filter(|mark| !mark.is_empty()))?
                }
                NamedFile::Missing => {
                    let operation = format!("creating the network namespace {name}");
                    let reason = "somebody else deleted its name at the same time".into();
                    return Err(LinkError::Failed { operation, reason });
                }
            }
        }
        let file = Connection::create_namespace(&self.thread, &self.tasks, &self.settings.owner).await?;
        mount(&file, name)
    }

    async fn delete_namespace(&self, name: &NamespaceName) -> Result<(), LinkError> {
        let _guard = self.names.lock().await;
        match open_named(name)? {
            NamedFile::Missing => return Ok(()),
            NamedFile::NameOnly(mark) => self.check_mark(name, Some(mark).filter(|mark| !mark.is_empty()))?,
            NamedFile::Namespace(file) => {
                let connection = self.connect(name, &file).await?;
                self.check_mark(name, connection.mark().await?.0)?;
                unmount_named(name)?;
            }
        }
        remove_name(name)
    }

    async fn apply_one(
        &self,
        step: &LinkStep,
        last: &mut Option<(LinkPlace, Connection)>,
    ) -> Result<(), LinkError> {
        let Some(place) = step.place() else {
            *last = None;
            return match step {
                LinkStep::CreateNamespace(name) => self.create_namespace(name).await,
                LinkStep::DeleteNamespace(name) => self.delete_namespace(name).await,
                _ => Ok(()),
            };
        };
        if last.as_ref().is_none_or(|(known, _)| known != place) {
            let opened = match place {
                LinkPlace::Switch => self.switch().await,
                LinkPlace::Workload(name) => self.workload(name).await.map(|(_, connection)| connection),
            };
            let is_deletion = matches!(step, LinkStep::Delete { .. });
            match opened {
                Ok(connection) => *last = Some((place.clone(), connection)),
                Err(LinkError::NamespaceMissing { .. }) if is_deletion => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let Some((_, connection)) = last else { return Ok(()) };
        match step {
            LinkStep::CreateNamespace(_) | LinkStep::DeleteNamespace(_) => Ok(()),
            LinkStep::Move { name, index, to } => {
                let found = connection.index(name).await?;
                let found = found.ok_or_else(|| missing(place, name))?;
                check_index(place, name, *index, found)?;
                let (file, _) = self.workload(to).await?;
                connection.move_to(name, found, &file).await
            }
            LinkStep::Set { name, change, .. } => connection.set(name, *change).await,
            LinkStep::AddAddress { name, address, .. } => connection.add_address(name, *address).await,
            LinkStep::DeleteAddress { name, address, .. } => connection.delete_address(name, *address).await,
            LinkStep::Delete { name, index, .. } => {
                let Some(found) = connection.index(name).await? else { return Ok(()) };
                check_index(place, name, *index, found)?;
                connection.delete(name, found).await
            }
        }
    }
}

#[async_trait]
impl Links for KernelLinks {
    async fn list(&self) -> Result<LinkList, LinkError> {
        let mut list = LinkList { links: self.switch().await?.list().await?, namespaces: Vec::new() };
        let entries = stream::iter(names()?.into_iter().map(|name| self.entry(name)));
        let mut entries = entries.buffered(LISTED_AT_ONCE);
        while let Some(entry) = entries.try_next().await? {
            if let Some((namespace, links)) = entry {
                list.namespaces.push(namespace);
                list.links.extend(links);
            }
        }
        Ok(list)
    }

    async fn list_place(&self, place: &LinkPlace) -> Result<Vec<Link>, LinkError> {
        match place {
            LinkPlace::Switch => self.switch().await?.list().await,
            LinkPlace::Workload(name) => self.workload(name).await?.1.list().await,
        }
    }

    async fn apply(&self, steps: &[LinkStep]) -> Result<(), LinkStepError> {
        let mut last = None;
        for (done, step) in steps.iter().enumerate() {
            self.apply_one(step, &mut last).await.map_err(|error| LinkStepError { done, error })?;
        }
        Ok(())
    }

    async fn watch(&self) -> Result<LinkEvents, LinkError> {
        let namespace = open_switch(&self.settings.pid_file)?;
        prepare()?;
        let links = self.thread.run_in(namespace.file, watch::open_events).await?;
        let names = watch::open_names().map_err(|error| LinkError::of_io("watching /run/netns", &error))?;
        let (queue, ends) = (EventQueue::default(), CancellationToken::new());
        self.tasks.spawn(watch::forward(links, names, queue.clone(), ends.clone()));
        Ok(LinkEvents::new(queue, ends))
    }

    async fn ping(&self, request: &EchoRequest) -> Result<(), LinkError> {
        let EchoRequest { namespace, from, to, .. } = request;
        let (file, _) = self.workload(namespace).await?;
        let (from, to) = (*from, *to);
        let socket =
            self.thread.run_in(file, move || ping::open(from, to)).await.map_err(|error| match error {
                LinkError::Failed { reason, .. } => LinkError::NoReply { to, reason },
                error => error,
            })?;
        ping::exchange(&socket, request).await
    }
}

fn check_index(place: &LinkPlace, name: &str, expected: u32, found: u32) -> Result<(), LinkError> {
    if found == expected {
        return Ok(());
    }
    Err(LinkError::Replaced { place: place.clone(), name: name.into(), expected, found })
}

fn missing(place: &LinkPlace, name: &str) -> LinkError {
    LinkError::LinkMissing { place: place.clone(), name: name.into() }
}
