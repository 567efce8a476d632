//! A session over its connection, with the replies that callers wait for.

use std::collections::BTreeMap;
use std::time::Duration;

use machinery::tokio;
use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{Instant, sleep_until};

use super::cache::RowCache;
use super::client::TransactRequest;
use super::config::OvsdbConfig;
use super::error::TransactError;
use super::runner::ConnectionError;
use super::session::{Session, SessionEvent};
use super::snapshot::LockState;
use crate::drive::ovs::json_rpc::RpcConnection;

/// A session with its connection.
#[derive(Debug)]
pub(super) struct ConnectedSession {
    connection: RpcConnection,
    session: Session,
    /// Transactions without a reply, in the order of their requests.
    waiting: BTreeMap<u64, (Instant, TransactRequest)>,
    began: Instant,
    limits: SessionLimits,
}

#[derive(Debug)]
struct SessionLimits {
    in_flight: usize,
    probe_after: Duration,
    silence: Duration,
    reply: Duration,
}

impl ConnectedSession {
    pub(super) fn begin(mut connection: RpcConnection, config: &OvsdbConfig, cache: &RowCache) -> Self {
        let (session, messages) = Session::begin(config.lock.as_str(), cache);
        messages.iter().for_each(|message| connection.send(message));
        let limits = SessionLimits {
            in_flight: config.in_flight.max(1),
            probe_after: config.probe_after,
            silence: config.silence,
            reply: config.reply,
        };
        Self { connection, session, waiting: BTreeMap::new(), began: Instant::now(), limits }
    }

    pub(super) const fn is_monitoring(&self) -> bool {
        self.session.is_monitoring()
    }

    pub(super) const fn lock_state(&self) -> LockState {
        self.session.lock_state()
    }

    /// Waits for one message, request or deadline. Returns whether the rows or the lock changed.
    pub(super) async fn step(
        &mut self,
        cache: &mut RowCache,
        requests: &mut mpsc::Receiver<TransactRequest>,
    ) -> Result<bool, ConnectionError> {
        let deadline = self.deadline();
        let accepts = self.session.is_monitoring() && self.waiting.len() < self.limits.in_flight;
        tokio::select! {
            biased;
            message = self.connection.receive() => {
                let event = self.session.receive(message?, cache)?;
                Ok(self.handle(event))
            }
            Some(request) = requests.recv(), if accepts => {
                self.request(request);
                Ok(false)
            }
            () = sleep_until(deadline) => self.overdue(Instant::now()).map(|()| false),
        }
    }

    /// The connection ended: the outcome of sent transactions is unknown.
    pub(super) fn end(self, reason: &str) {
        for (_, request) in self.waiting.into_values() {
            let error = TransactError::OutcomeUnknown { reason: reason.to_owned() };
            let _ = request.reply.send(Err(error)); // the caller may have left
        }
    }

    fn handle(&mut self, event: SessionEvent) -> bool {
        match event {
            SessionEvent::Send(message) => self.connection.send(&message),
            SessionEvent::Nothing => {}
            SessionEvent::Changed => return true,
            SessionEvent::Reply { id, result } => {
                let Some((_, request)) = self.waiting.remove(&id) else { return false };
                let result = request.form.read(result);
                let lock_lost = matches!(result, Err(TransactError::LockNotOwned { .. }));
                if lock_lost {
                    self.session.lock_was_refused();
                }
                let _ = request.reply.send(result); // the caller may have left
                return lock_lost;
            }
        }
        false
    }

    fn request(&mut self, request: TransactRequest) {
        if request.reply.is_closed() {
            return; // the caller left before anything was sent
        }
        let id = self.session.transact();
        self.connection
            .send_text(&format!(r#"{{"id":{id},"method":"transact","params":{}}}"#, request.params));
        self.waiting.insert(id, (Instant::now(), request));
    }

    /// Returns the time of the next check.
    fn deadline(&self) -> Instant {
        let quiet = if self.session.is_probing() { self.limits.silence } else { self.limits.probe_after };
        let silent = self.connection.last_read() + quiet;
        self.oldest_request().map_or(silent, |oldest| silent.min(oldest + self.limits.reply))
    }

    fn oldest_request(&self) -> Option<Instant> {
        let transaction = self.waiting.values().next().map(|(sent, _)| *sent);
        if self.session.is_monitoring() { transaction } else { Some(self.began) }
    }

    fn overdue(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if self.oldest_request().is_some_and(|oldest| now >= oldest + self.limits.reply) {
            return Err(ConnectionError::NoReply { limit: self.limits.reply });
        }
        let quiet = now.duration_since(self.connection.last_read());
        if self.session.is_probing() && quiet >= self.limits.silence {
            return Err(ConnectionError::Silent { limit: self.limits.silence });
        }
        if !self.session.is_probing() && quiet >= self.limits.probe_after {
            let echo = self.session.echo();
            self.connection.send(&echo);
        }
        Ok(())
    }
}
