//! Named network namespaces of one owner.

use std::os::fd::OwnedFd;

use machinery::tokio::sync::Mutex as AsyncMutex;
use machinery::tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::named::{NamedFile, create_name, mount, names, open_named, prepare, remove_name, unmount_named};
use super::thread::NamespaceThread;
use crate::drive::ovs::links::{Link, LinkError, LinkPlace, NamespaceEntry, NamespaceName, NamespaceState};

/// Named network namespaces of one owner, with a thread that enters them. Needs root.
#[derive(Debug)]
pub struct OwnedNamespaces {
    owner: String,
    thread: NamespaceThread,
    tasks: TaskTracker,
    /// Held while names are changed: creation is several system calls.
    names: AsyncMutex<()>,
}

/// Maximum length of an interface's alias.
const MARK_LIMIT: usize = 255;

impl OwnedNamespaces {
    /// Starts the thread. Must be called within a tokio runtime. The owner is a text of at most 255
    /// bytes, with which namespaces are marked.
    ///
    /// # Errors
    /// [`LinkError::Mark`], or the thread cannot be started.
    pub fn start(owner: &str) -> Result<Self, LinkError> {
        if owner.is_empty() || owner.len() > MARK_LIMIT {
            return Err(LinkError::Mark { mark: owner.into(), limit: MARK_LIMIT });
        }
        let (owner, thread, tasks) = (owner.to_owned(), NamespaceThread::start()?, TaskTracker::new());
        Ok(Self { owner, thread, tasks, names: AsyncMutex::default() })
    }

    /// Creates a named namespace. One of the owner may exist.
    ///
    /// # Errors
    /// [`LinkError::NamespaceTaken`], or a system call failed.
    pub async fn create(&self, name: &NamespaceName) -> Result<(), LinkError> {
        let _guard = self.names.lock().await;
        prepare()?;
        if !create_name(name, &self.owner)? {
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
        let file = Connection::create_namespace(&self.thread, &self.tasks, &self.owner).await?;
        mount(&file, name)
    }

    /// Deletes a namespace of the owner, if it exists.
    ///
    /// # Errors
    /// [`LinkError::NamespaceTaken`], or a system call failed.
    pub async fn delete(&self, name: &NamespaceName) -> Result<(), LinkError> {
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

    /// Deletes all namespaces of the owner.
    ///
    /// # Errors
    /// A system call failed.
    pub async fn delete_all(&self) -> Result<(), LinkError> {
        for name in names()? {
            if self.entry(name.clone()).await?.is_some() {
                self.delete(&name).await?;
            }
        }
        Ok(())
    }

    /// Runs a function on the thread, inside a namespace of the owner. The function must not block
    /// for long.
    ///
    /// # Errors
    /// The namespace is missing, or the function failed.
    pub async fn run_in<T: Send + 'static>(
        &self,
        name: &NamespaceName,
        work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, LinkError> {
        let (file, _) = self.workload(name).await?;
        self.thread.run_in(file, work).await
    }

    pub(super) const fn thread(&self) -> &NamespaceThread {
        &self.thread
    }

    pub(super) const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Connects to an open namespace.
    pub(super) async fn connect_to(&self, file: OwnedFd, place: LinkPlace) -> Result<Connection, LinkError> {
        Connection::open(&self.thread, &self.tasks, file, place).await
    }

    /// Opens a namespace of the owner, and connects to it.
    pub(super) async fn workload(&self, name: &NamespaceName) -> Result<(OwnedFd, Connection), LinkError> {
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
        self.connect_to(file, LinkPlace::Workload(name.clone())).await
    }

    fn check_mark(&self, name: &NamespaceName, mark: Option<String>) -> Result<(), LinkError> {
        if mark.as_ref() == Some(&self.owner) {
            return Ok(());
        }
        let owner = mark.map_or_else(|| "somebody else".into(), |mark| format!("`{mark}`"));
        Err(LinkError::NamespaceTaken { name: name.clone(), owner })
    }

    /// Lists one name, if it is the owner's.
    pub(super) async fn entry(
        &self,
        name: NamespaceName,
    ) -> Result<Option<(NamespaceEntry, Vec<Link>)>, LinkError> {
        let file = match open_named(&name)? {
            NamedFile::Namespace(file) => file,
            NamedFile::NameOnly(mark) if mark == self.owner => {
                let entry = NamespaceEntry { name, state: NamespaceState::NameOnly, loopback_up: false };
                return Ok(Some((entry, Vec::new())));
            }
            NamedFile::NameOnly(_) | NamedFile::Missing => return Ok(None),
        };
        let connection = match self.connect(&name, &file).await {
            // A namespace of another type has a name here, too, if somebody mounts it.
            Err(LinkError::Failed { .. }) => return Ok(None),
            connection => connection?,
        };
        let (mark, loopback_up) = connection.mark().await?;
        if mark.as_ref() != Some(&self.owner) {
            return Ok(None);
        }
        let links = connection.list().await?;
        Ok(Some((NamespaceEntry { name, state: NamespaceState::Live, loopback_up }, links)))
    }
}

/// Returns the mark of an agent's namespaces: the node, and the run directory of its switch.
/// Agents of equal nodes in two labs then own different namespaces.
#[must_use]
pub fn owner_mark(node: &str, run_directory: &std::path::Path) -> String {
    format!("kos {node} {}", run_directory.display())
}
