//! A switch of a few lines that speaks the protocol over a socket, with faults on request.

use std::path::PathBuf;
use std::time::Duration;

use machinery::tokio::io::{AsyncReadExt, AsyncWriteExt};
use machinery::tokio::net::{UnixListener, UnixStream};
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use tempfile::TempDir;

use crate::drive::ovs::openflow::message::{HEADER, kind, put_message};
use crate::drive::ovs::openflow::{OpenFlowClient, OpenFlowSettings};

/// The response of a scripted switch to a request: bytes, and whether it then closes.
pub(super) type Script = fn(&[u8]) -> Vec<u8>;

/// A scripted switch and a client of it.
pub(super) struct ScriptedSwitch {
    pub(super) client: OpenFlowClient,
    _dir: TempDir,
    _stopping: DropGuard,
}

/// Returns an honest response of a switch: a greeting, barriers, echoes and empty bundles.
pub(super) fn honest(request: &[u8]) -> Vec<u8> {
    match request[1] {
        kind::HELLO => response(request, kind::HELLO, &[0, 1, 0, 8, 0, 0, 0, 0x40]),
        kind::BARRIER_REQUEST => response(request, kind::BARRIER_REPLY, &[]),
        kind::ECHO_REQUEST => response(request, kind::ECHO_REPLY, &[]),
        kind::MULTIPART_REQUEST if request[9] == 16 => Vec::new(),
        kind::MULTIPART_REQUEST => {
            response(request, kind::MULTIPART_REPLY, &[0, request[9], 0, 0, 0, 0, 0, 0])
        }
        kind::BUNDLE_CONTROL => {
            let reply = [&request[8..12], &[0, request[13] + 1, 0, 3]].concat();
            response(request, kind::BUNDLE_CONTROL, &reply)
        }
        _ => Vec::new(),
    }
}

/// Returns a response with the transaction identifier of the request.
pub(super) fn response(request: &[u8], kind: u8, body: &[u8]) -> Vec<u8> {
    let xid = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
    let mut out = Vec::new();
    put_message(&mut out, kind, xid, |out| out.extend(body));
    out
}

/// Returns an error of the switch.
pub(super) fn refusal(request: &[u8], of: u8, code: u8) -> Vec<u8> {
    response(request, kind::ERROR, &[0, of, 0, code])
}

impl ScriptedSwitch {
    /// Starts a switch that responds by the script, and a client with short time limits.
    pub(super) fn start(script: Script, piece: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket: PathBuf = dir.path().join("kos.mgmt");
        let listener = UnixListener::bind(&socket).unwrap();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let token = stopping.clone();
        let connections = tasks.clone();
        tasks.spawn(async move {
            while let Some(Ok((stream, _))) = token.run_until_cancelled(listener.accept()).await {
                let token = token.clone();
                connections.spawn(async move {
                    token.run_until_cancelled(converse(stream, script, piece)).await;
                });
            }
        });
        let settings = OpenFlowSettings {
            connect_timeout: Duration::from_millis(200),
            response_timeout: Duration::from_millis(200),
            echo_interval: Duration::from_millis(50),
            min_back_off: Duration::from_millis(1),
            max_back_off: Duration::from_millis(10),
            max_changes: 100,
            max_flows: 10,
            max_requests: 4,
        };
        let client = OpenFlowClient::start(socket, settings, &tasks, stopping.clone());
        Self { client, _dir: dir, _stopping: stopping.drop_guard() }
    }
}

/// Responds to each request, in pieces of some bytes; an empty script response sends nothing.
async fn converse(mut stream: UnixStream, script: Script, piece: usize) {
    let mut head = [0; HEADER];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut request = head.to_vec();
        request.resize(length, 0);
        if stream.read_exact(&mut request[HEADER..]).await.is_err() {
            return;
        }
        for piece in script(&request).chunks(piece) {
            if stream.write_all(piece).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            machinery::tokio::task::yield_now().await;
        }
    }
}
