//! The implementation of [`Links`] for the kernel.

use std::path::PathBuf;

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use machinery::sync::Mutex;
use machinery::tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::named::{create_directory, names};
use super::owned::OwnedNamespaces;
use super::switch::{NamespaceIdentity, open_switch};
use super::{ping, watch};
use crate::drive::ovs::links::events::EventQueue;
use crate::drive::ovs::links::{
    EchoRequest, Link, LinkError, LinkEvents, LinkList, LinkPlace, LinkStep, LinkStepError, Links,
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
    namespaces: OwnedNamespaces,
    switch: Mutex<Option<(NamespaceIdentity, Connection)>>,
}

/// Number of namespaces that are listed concurrently.
const LISTED_AT_ONCE: usize = 16;

impl KernelLinks {
    /// Starts the thread. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`LinkError::Mark`], or the thread cannot be started.
    pub fn start(settings: KernelLinksSettings) -> Result<Self, LinkError> {
        let namespaces = OwnedNamespaces::start(&settings.owner)?;
        Ok(Self { settings, namespaces, switch: Mutex::default() })
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
        let connection = self.namespaces.connect_to(namespace.file, LinkPlace::Switch).await?;
        *self.switch.lock() = Some((identity, connection.clone()));
        Ok(connection)
    }

    async fn apply_one(
        &self,
        step: &LinkStep,
        last: &mut Option<(LinkPlace, Connection)>,
    ) -> Result<(), LinkError> {
        let Some(place) = step.place() else {
            *last = None;
            return match step {
                LinkStep::CreateNamespace(name) => self.namespaces.create(name).await,
                LinkStep::DeleteNamespace(name) => self.namespaces.delete(name).await,
                _ => Ok(()),
            };
        };
        if last.as_ref().is_none_or(|(known, _)| known != place) {
            let opened = match place {
                LinkPlace::Switch => self.switch().await,
                LinkPlace::Workload(name) => {
                    self.namespaces.workload(name).await.map(|(_, connection)| connection)
                }
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
                let (file, _) = self.namespaces.workload(to).await?;
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
        let entries = stream::iter(names()?.into_iter().map(|name| self.namespaces.entry(name)));
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
            LinkPlace::Workload(name) => self.namespaces.workload(name).await?.1.list().await,
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
        create_directory()?;
        let links = self.namespaces.thread().run_in(namespace.file, watch::open_events).await?;
        let names = watch::open_names().map_err(|error| LinkError::of_io("watching /run/netns", &error))?;
        let (queue, ends) = (EventQueue::default(), CancellationToken::new());
        self.namespaces.tasks().spawn(watch::forward(links, names, queue.clone(), ends.clone()));
        Ok(LinkEvents::new(queue, ends))
    }

    async fn ping(&self, request: &EchoRequest) -> Result<(), LinkError> {
        let EchoRequest { namespace, from, to, .. } = request;
        let (file, _) = self.namespaces.workload(namespace).await?;
        let (from, to) = (*from, *to);
        let socket =
            self.namespaces.thread().run_in(file, move || ping::open(from, to)).await.map_err(|error| {
                match error {
                    LinkError::Failed { reason, .. } => LinkError::NoReply { to, reason },
                    error => error,
                }
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
