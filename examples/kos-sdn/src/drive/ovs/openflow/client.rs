//! The OpenFlow client: a task that keeps a connection, and the handle that sends it requests.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use machinery::tokio;
use machinery::tokio::sync::{mpsc, oneshot, watch};
use machinery::tokio::time::sleep;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::session::OpenFlowSession;
use super::{FlowChange, FlowSwitch, FoundFlow, OpenFlowError, OpenFlowSettings, SwitchPort, SwitchStatus};

/// A client of one bridge. It reconnects with back-off until it is stopped.
///
/// Requests without a connection fail at once with [`OpenFlowError::Unavailable`]. One request is
/// in flight at a time; a request that fails by silence or nonsense ends its connection.
#[derive(Clone, Debug)]
pub struct OpenFlowClient {
    requests: mpsc::Sender<Request>,
    status: watch::Receiver<SwitchStatus>,
    max_changes: usize,
}

type Responder<T> = oneshot::Sender<Result<T, OpenFlowError>>;

#[derive(Debug)]
enum Request {
    Apply(Vec<FlowChange>, Responder<()>),
    Dump(Responder<Vec<FoundFlow>>),
    Ports(Responder<Vec<SwitchPort>>),
}

impl OpenFlowClient {
    /// Starts the task that connects to the bridge's management socket, `$R/BRIDGE.mgmt`.
    #[must_use]
    pub fn start(
        socket: PathBuf,
        settings: OpenFlowSettings,
        tasks: &TaskTracker,
        stopping: CancellationToken,
    ) -> Self {
        let (requests, queue) = mpsc::channel(settings.max_requests.max(1));
        let (sender, status) = watch::channel(SwitchStatus::default());
        let max_changes = settings.max_changes;
        tasks.spawn(async move {
            stopping.run_until_cancelled(keep_connected(&socket, &settings, &sender, queue)).await;
            sender.send_modify(|status| status.is_connected = false);
        });
        Self { requests, status, max_changes }
    }

    async fn request<T>(&self, request: impl FnOnce(Responder<T>) -> Request) -> Result<T, OpenFlowError> {
        let stopped = || OpenFlowError::Unavailable { reason: "the client has stopped".into() };
        let (responder, response) = oneshot::channel();
        self.requests.send(request(responder)).await.map_err(|_| stopped())?;
        response.await.map_err(|_| stopped())?
    }
}

#[async_trait]
impl FlowSwitch for OpenFlowClient {
    async fn apply(&self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError> {
        let limit = self.max_changes;
        if changes.len() > limit {
            let remedy = "split the changes into several bundles";
            return Err(OpenFlowError::TooLarge { subject: "a bundle", limit, remedy });
        }
        // A stopped client may have sent the commit.
        let stopped = OpenFlowError::UnknownOutcome { reason: "the client has stopped".into() };
        match self.request(|responder| Request::Apply(changes, responder)).await {
            Err(OpenFlowError::Unavailable { .. }) if self.requests.is_closed() => Err(stopped),
            result => result,
        }
    }

    async fn dump(&self) -> Result<Vec<FoundFlow>, OpenFlowError> {
        self.request(Request::Dump).await
    }

    async fn ports(&self) -> Result<Vec<SwitchPort>, OpenFlowError> {
        self.request(Request::Ports).await
    }

    fn status(&self) -> watch::Receiver<SwitchStatus> {
        self.status.clone()
    }
}

/// Connects again and again. Returns when all handles are dropped.
async fn keep_connected(
    socket: &Path,
    settings: &OpenFlowSettings,
    status: &watch::Sender<SwitchStatus>,
    mut queue: mpsc::Receiver<Request>,
) {
    let mut back_off = settings.min_back_off;
    loop {
        let connected =
            refuse_until(OpenFlowSession::open(socket, settings, status), status, &mut queue).await;
        let error = match connected {
            None => return,
            Some(Ok(session)) => {
                back_off = settings.min_back_off;
                match serve(session, &mut queue).await {
                    None => return,
                    Some(error) => error,
                }
            }
            Some(Err(error)) => error,
        };
        tracing::debug!(%error, ?socket, "no OpenFlow connection");
        status.send_modify(|status| {
            status.is_connected = false;
            status.is_monitored = false;
            status.last_error = Some(error.to_string());
        });
        if refuse_until(sleep(back_off), status, &mut queue).await.is_none() {
            return;
        }
        back_off = back_off.saturating_mul(2).min(settings.max_back_off);
    }
}

/// Serves requests until the connection fails; `None` when all handles are dropped.
async fn serve(
    mut session: OpenFlowSession<'_>,
    queue: &mut mpsc::Receiver<Request>,
) -> Option<OpenFlowError> {
    loop {
        let request = tokio::select! {
            biased;
            failed = session.idle() => return failed.err(),
            request = queue.recv() => request?,
        };
        let error = match request {
            Request::Apply(changes, responder) => respond(responder, session.apply(&changes).await),
            Request::Dump(responder) => respond(responder, session.dump().await),
            Request::Ports(responder) => respond(responder, session.ports().await),
        };
        if error.is_some() {
            return error;
        }
    }
}

/// Responds; returns the error if it ends the connection.
fn respond<T>(responder: Responder<T>, result: Result<T, OpenFlowError>) -> Option<OpenFlowError> {
    let error = result.as_ref().err().filter(|error| ends_connection(error)).cloned();
    // The caller may have dropped its future.
    let _ = responder.send(result);
    error
}

const fn ends_connection(error: &OpenFlowError) -> bool {
    !matches!(
        error,
        OpenFlowError::RefusedFlow { .. } | OpenFlowError::Refused { .. } | OpenFlowError::Unsupported { .. }
    )
}

/// Awaits a future, and refuses all requests meanwhile; `None` when all handles are dropped.
async fn refuse_until<T>(
    future: impl Future<Output = T>,
    status: &watch::Sender<SwitchStatus>,
    queue: &mut mpsc::Receiver<Request>,
) -> Option<T> {
    let mut future = std::pin::pin!(future);
    loop {
        let request = tokio::select! {
            biased;
            output = &mut future => return Some(output),
            request = queue.recv() => request?,
        };
        let reason = status.borrow().last_error.clone().unwrap_or_else(|| "it is being connected".into());
        let error = OpenFlowError::Unavailable { reason };
        match request {
            Request::Apply(_, responder) => drop(responder.send(Err(error))),
            Request::Dump(responder) => drop(responder.send(Err(error))),
            Request::Ports(responder) => drop(responder.send(Err(error))),
        }
    }
}
