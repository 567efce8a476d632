//! One connection to a switch: greeting, monitor, requests and their responses.

use std::io;
use std::path::Path;

use machinery::tokio::io::Interest;
use machinery::tokio::net::UnixStream;
use machinery::tokio::sync::watch;
use machinery::tokio::time::{Instant, timeout, timeout_at};

use super::flow_desc::{FlowUpdate, decode_updates, monitor_request};
use super::message::{
    Body, MAX_MESSAGE, Message, kind, multipart, put_hello, put_message, put_multipart,
    put_port_status_request,
};
use super::session_errors::{broken, silent, unexpected, unreachable, unread};
use super::{OpenFlowError, OpenFlowSettings, SwitchStatus};

/// An established connection.
pub(super) struct OpenFlowSession<'a> {
    stream: UnixStream,
    pub(super) settings: &'a OpenFlowSettings,
    status: &'a watch::Sender<SwitchStatus>,
    received: Vec<u8>,
    /// Number of bytes of `received` that are decoded.
    decoded: usize,
    /// Bytes to be sent.
    pub(super) out: Vec<u8>,
    sent: usize,
    last_xid: u32,
    /// Time limit of the present request, and the number of unsent bytes when it began.
    deadline: Instant,
    unsent_before: usize,
}

/// Maximum number of bytes that wait to be read by the switch when it sends an echo request.
const MAX_UNSENT: usize = 64 << 20;
/// Bytes read at once.
const READ: usize = MAX_MESSAGE + 1;

impl<'a> OpenFlowSession<'a> {
    /// Connects, negotiates the version and starts the flow monitor.
    ///
    /// # Errors
    /// The socket is missing, the switch is silent or speaks no OpenFlow 1.5.
    pub(super) async fn open(
        path: &Path,
        settings: &'a OpenFlowSettings,
        status: &'a watch::Sender<SwitchStatus>,
    ) -> Result<Self, OpenFlowError> {
        let opening = async {
            let stream = UnixStream::connect(path).await.map_err(|error| unreachable(path, &error))?;
            let (received, out) = (Vec::new(), Vec::new());
            let mut session = Self {
                stream,
                settings,
                status,
                received,
                decoded: 0,
                out,
                sent: 0,
                last_xid: 0,
                deadline: Instant::now(),
                unsent_before: 0,
            };
            session.greet().await?;
            let is_monitored = session.monitor().await?;
            status.send_modify(|status| {
                status.is_connected = true;
                status.epoch += 1;
                status.is_monitored = is_monitored;
                status.last_error = None;
            });
            Ok(session)
        };
        timeout(settings.connect_timeout, opening)
            .await
            .unwrap_or_else(|_| Err(silent("a greeting", settings.connect_timeout)))
    }

    async fn greet(&mut self) -> Result<(), OpenFlowError> {
        const REMEDY: &str = "add OpenFlow15 to the bridge's protocols";
        let unsupported = OpenFlowError::Unsupported { feature: "OpenFlow 1.5", remedy: REMEDY };
        let xid = self.xid();
        put_hello(&mut self.out, xid);
        match self.receive().await?.body {
            Body::Hello(true) => Ok(()),
            Body::Hello(false) => Err(unsupported),
            Body::Refusal(refusal) if refusal.kind == 0 => Err(unsupported),
            other => Err(unexpected(&other)),
        }
    }

    /// Starts the flow monitor; returns whether the switch has monitors.
    async fn monitor(&mut self) -> Result<bool, OpenFlowError> {
        let (ports, request, barrier) = (self.xid(), self.xid(), self.xid());
        put_port_status_request(&mut self.out, ports);
        put_multipart(&mut self.out, multipart::FLOW_MONITOR, request, &monitor_request());
        put_message(&mut self.out, kind::BARRIER_REQUEST, barrier, |_| ());
        let mut is_monitored = true;
        loop {
            let Message { xid, body } = self.receive().await?;
            match body {
                Body::Refusal(refusal) if xid == request => {
                    tracing::warn!(%refusal, "the switch has no flow monitor: its flows are dumped instead");
                    is_monitored = false;
                }
                Body::BarrierReply if xid == barrier => return Ok(is_monitored),
                body => self.observe(body)?,
            }
        }
    }

    /// Sends echo requests while the connection is idle, and observes unsolicited messages.
    ///
    /// # Errors
    /// The connection broke, or the switch is silent or sends nonsense. It is never `Ok`.
    pub(super) async fn idle(&mut self) -> Result<(), OpenFlowError> {
        loop {
            let limit = self.settings.echo_interval;
            if let Ok(message) = timeout(limit, self.receive()).await {
                self.observe(message?.body)?;
                continue;
            }
            let xid = self.xid();
            put_message(&mut self.out, kind::ECHO_REQUEST, xid, |_| ());
            let response = timeout(limit, self.receive()).await;
            self.observe(response.map_err(|_| silent("an echo request", limit))??.body)?;
        }
    }

    /// Begins the time limit of a response.
    pub(super) fn begin_time_limit(&mut self) {
        self.deadline = Instant::now() + self.settings.response_timeout;
        self.unsent_before = self.unsent();
    }

    /// Awaits the next message within the time limit, which begins again as long as the switch
    /// reads the request. Unsolicited messages do not extend it.
    pub(super) async fn response(&mut self, request: &'static str) -> Result<Message, OpenFlowError> {
        loop {
            let message = timeout_at(self.deadline, self.receive()).await;
            match message {
                Ok(message) if Instant::now() < self.deadline => return message,
                _ if self.unsent() < self.unsent_before => self.begin_time_limit(),
                _ => return Err(silent(request, self.settings.response_timeout)),
            }
            if let Ok(message) = message {
                return message;
            }
        }
    }

    const fn unsent(&self) -> usize {
        self.out.len().saturating_sub(self.sent)
    }

    /// Processes a message that is no response to the present request.
    pub(super) fn observe(&mut self, body: Body) -> Result<(), OpenFlowError> {
        match body {
            Body::PortStatus => self.status.send_modify(|status| status.port_changes += 1),
            Body::Multipart { kind: multipart::FLOW_MONITOR, bytes, .. } => {
                for update in decode_updates(&bytes)? {
                    self.observe_update(update);
                }
            }
            // The response to an abandoned request; errors belong to one too.
            Body::EchoReply | Body::Other(_) | Body::Refusal(_) | Body::BarrierReply => {}
            Body::Multipart { .. } | Body::Bundle(_) | Body::Hello(_) | Body::EchoRequest(_) => {
                return Err(unexpected(&body));
            }
        }
        Ok(())
    }

    fn observe_update(&self, update: FlowUpdate) {
        self.status.send_if_modified(|status| {
            match update {
                FlowUpdate::Own => return false,
                FlowUpdate::Foreign => status.foreign_changes += 1,
                FlowUpdate::Paused => status.is_monitored = false,
                FlowUpdate::Resumed => {
                    status.is_monitored = true;
                    status.foreign_changes += 1;
                }
            }
            true
        });
    }

    /// Returns a new transaction identifier.
    pub(super) const fn xid(&mut self) -> u32 {
        self.last_xid = self.last_xid.wrapping_add(1);
        self.last_xid
    }

    /// Sends pending bytes and receives a message; responds to echo requests. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<Message, OpenFlowError> {
        loop {
            while let Some(message) = self.decode()? {
                let Body::EchoRequest(bytes) = message.body else { return Ok(message) };
                if self.unsent() > MAX_UNSENT {
                    return Err(unread(MAX_UNSENT));
                }
                put_message(&mut self.out, kind::ECHO_REPLY, message.xid, |out| out.extend(bytes));
            }
            self.transfer().await.map_err(|error| broken(&error))?;
        }
    }

    fn decode(&mut self) -> Result<Option<Message>, OpenFlowError> {
        let rest = self.received.get(self.decoded..).unwrap_or_default();
        let Some(length) = Message::length(rest)? else { return Ok(None) };
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        let message = Message::decode(bytes)?;
        self.decoded += length;
        Ok(Some(message))
    }

    /// Waits until the socket is readable, or writable while bytes are pending, and moves bytes.
    async fn transfer(&mut self) -> io::Result<()> {
        let is_pending = self.unsent() > 0;
        let interest = if is_pending { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let ready = self.stream.ready(interest).await?;
        if ready.is_writable() && is_pending {
            match self.stream.try_write(self.out.get(self.sent..).unwrap_or_default()) {
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.sent == self.out.len() {
                self.out.clear();
                self.sent = 0;
            }
        }
        if ready.is_readable() || ready.is_read_closed() {
            self.received.drain(..self.decoded);
            self.decoded = 0;
            self.received.reserve(READ);
            match self.stream.try_read_buf(&mut self.received) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
