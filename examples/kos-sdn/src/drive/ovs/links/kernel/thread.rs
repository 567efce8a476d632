//! The thread that enters network namespaces.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread;

use machinery::tokio::runtime::Handle;
use machinery::tokio::sync::{mpsc, oneshot};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::named::open_namespace;
use crate::drive::ovs::links::LinkError;

/// Maximum number of waiting jobs; further callers wait.
const WAITING: usize = 64;

/// A thread that enters a namespace for each job, and returns to the process's namespace after it.
///
/// The namespace belongs to the thread, so that no other thread of the process ever leaves its own.
/// Jobs open sockets, which keep their namespace, and hand them back.
#[derive(Debug)]
pub(super) struct NamespaceThread {
    jobs: mpsc::Sender<(Entrance, Job)>,
}

/// The namespace of a job.
enum Entrance {
    Existing(OwnedFd),
    New,
}

/// Runs in the namespace, or gets the reason why that could not be entered.
type Job = Box<dyn FnOnce(io::Result<()>) + Send>;

impl NamespaceThread {
    /// Starts the thread, which ends when the value is dropped. Sockets for tokio can be opened in
    /// jobs: they belong to the runtime of the caller.
    pub(super) fn start() -> Result<Self, LinkError> {
        let (jobs, waiting) = mpsc::channel(WAITING);
        let runtime = Handle::current();
        let home = open_namespace("/proc/thread-self/ns/net".as_ref())
            .map_err(|error| LinkError::of_io("opening the process's network namespace", &error))?;
        thread::Builder::new()
            .name("namespaces".into())
            .spawn(move || serve(waiting, &home, &runtime))
            .map_err(|error| LinkError::of_io("starting a thread", &error))?;
        Ok(Self { jobs })
    }

    /// Runs `work` in a namespace. Dropping the future does not cancel the work.
    pub(super) async fn run_in<T: Send + 'static>(
        &self,
        namespace: OwnedFd,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, LinkError> {
        self.run(Entrance::Existing(namespace), "entering a network namespace", work).await
    }

    /// Runs `work` in a new, unnamed namespace. It lives as long as a descriptor, a socket or a
    /// mount refers to it.
    pub(super) async fn run_in_new<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, LinkError> {
        self.run(Entrance::New, "creating a network namespace", work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        entrance: Entrance,
        operation: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, LinkError> {
        let (send, result) = oneshot::channel();
        let job: Job = Box::new(move |entered| {
            // The receiver is gone if the caller was dropped.
            let _ = send.send(entered.and_then(|()| work()));
        });
        self.jobs.send((entrance, job)).await.map_err(|_| LinkError::Closed)?;
        match result.await {
            Ok(result) => result.map_err(|error| LinkError::of_io(operation, &error)),
            Err(_) => Err(LinkError::Closed),
        }
    }
}

fn serve(mut jobs: mpsc::Receiver<(Entrance, Job)>, home: &OwnedFd, runtime: &Handle) {
    let _runtime = runtime.enter();
    while let Some((entrance, job)) = jobs.blocking_recv() {
        job(enter(&entrance));
        // In a wrong namespace, later jobs would open their sockets there: end instead. The callers
        // then get `Closed`.
        if move_into_link_name_space(home.as_fd(), Some(LinkNameSpaceType::Network)).is_err() {
            return;
        }
    }
}

fn enter(entrance: &Entrance) -> io::Result<()> {
    match entrance {
        Entrance::Existing(namespace) => {
            Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
        }
        Entrance::New => {
            #[expect(
                deprecated,
                reason = "unsound with the flag FILES only: nothing here unshares descriptors"
            )]
            let unshared = rustix::thread::unshare(UnshareFlags::NEWNET);
            Ok(unshared?)
        }
    }
}
