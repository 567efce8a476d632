//! The socket.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use machinery::tokio::time::timeout;
use serde_json::{Value, json};

use super::{Control, ControlError};
use crate::drive::ovs::json_rpc::{RpcConnection, RpcError, RpcMessage};

/// Size limit of the output of a command.
const OUTPUT_LIMIT: usize = 64 << 20;

/// The control socket in a run directory. It is looked up for each call, because its name contains
/// the process id.
#[derive(Clone, Debug)]
pub struct ControlSocket {
    run_dir: PathBuf,
    limit: Duration,
}

impl ControlSocket {
    /// Makes a client of the ovs-vswitchd with this run directory. Calls may take `limit`.
    pub fn new(run_dir: impl Into<PathBuf>, limit: Duration) -> Self {
        Self { run_dir: run_dir.into(), limit }
    }

    /// Returns the path of the socket: `ovs-vswitchd.PID.ctl`, or `vswitchd.ctl` if there is no
    /// such file.
    ///
    /// # Errors
    /// There is no valid file `ovs-vswitchd.pid`.
    pub fn path(&self) -> Result<PathBuf, ControlError> {
        let pid_file = self.run_dir.join("ovs-vswitchd.pid");
        let text = fs::read_to_string(&pid_file).unwrap_or_default();
        let Ok(pid) = text.trim().parse::<u32>() else { return Err(ControlError::NoPid { path: pid_file }) };
        let usual = self.run_dir.join(format!("ovs-vswitchd.{pid}.ctl"));
        let short = self.run_dir.join("vswitchd.ctl");
        Ok(if !usual.exists() && short.exists() { short } else { usual })
    }

    async fn exchange(&self, command: &str, arguments: &[&str]) -> Result<String, ControlError> {
        let mut connection = RpcConnection::connect(&self.path()?, OUTPUT_LIMIT).await?;
        let params = arguments.iter().map(|argument| json!(argument)).collect();
        connection.send(&RpcMessage::request(0, command, params));
        let malformed = |reason: &str| RpcError::Malformed { reason: reason.to_owned() };
        match connection.receive().await? {
            RpcMessage::Reply { id, .. } if id != json!(0) => {
                Err(malformed("the reply has another id").into())
            }
            RpcMessage::Reply { result: Ok(Value::String(output)), .. } => Ok(output),
            RpcMessage::Reply { result: Ok(_), .. } => Err(malformed("the output is no text").into()),
            RpcMessage::Reply { result: Err(error), .. } => {
                let text = error.as_str().map_or_else(|| error.to_string(), |text| text.trim().to_owned());
                Err(ControlError::Refused { command: command.to_owned(), text })
            }
            _ => Err(malformed("it sent no reply").into()),
        }
    }
}

#[async_trait]
impl Control for ControlSocket {
    async fn call(&self, command: &str, arguments: &[&str]) -> Result<String, ControlError> {
        let late = |_| ControlError::Late { command: command.to_owned(), limit: self.limit };
        timeout(self.limit, self.exchange(command, arguments)).await.map_err(late)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::tokio;
    use machinery::tokio::net::UnixListener;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Serves one call in a run directory, and answers with `reply`.
    async fn called(reply: Value) -> (Result<String, ControlError>, RpcMessage) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ovs-vswitchd.pid"), "42\n").unwrap();
        let listener = UnixListener::bind(directory.path().join("ovs-vswitchd.42.ctl")).unwrap();
        let control = ControlSocket::new(directory.path(), LIMIT);
        let serve = async {
            let mut connection = RpcConnection::new(listener.accept().await.unwrap().0, 1000);
            let request = connection.receive().await.unwrap();
            connection.send_text(&reply.to_string());
            let _ = connection.receive().await; // sends until the client closes
            request
        };
        tokio::join!(control.call("ofproto/trace", &["kos", "in_port=1"]), serve)
    }

    #[tokio::test(crate = "machinery::tokio")]
    async fn a_command_returns_its_output() {
        let (output, request) = called(json!({"id": 0, "result": "drop", "error": null})).await;
        assert_eq!(output.unwrap(), "drop");
        let params = vec![json!("kos"), json!("in_port=1")];
        assert_eq!(request, RpcMessage::request(0, "ofproto/trace", params));
    }

    #[tokio::test(crate = "machinery::tokio")]
    async fn a_refused_command_has_its_error_text() {
        let (output, _) = called(json!({"id": 0, "result": null, "error": "no such bridge\n"})).await;
        let error = output.unwrap_err();
        assert!(
            matches!(&error, ControlError::Refused { text, .. } if text == "no such bridge"),
            "{error:?}"
        );
    }

    #[tokio::test(crate = "machinery::tokio")]
    async fn nonsense_is_a_named_error() {
        for reply in
            [json!({"id": 1, "result": "x", "error": null}), json!({"id": 0, "result": 3}), json!([])]
        {
            let error = called(reply).await.0.unwrap_err();
            assert!(matches!(error, ControlError::Connection(RpcError::Malformed { .. })), "{error:?}");
        }
    }

    #[tokio::test(crate = "machinery::tokio")]
    async fn a_run_directory_without_a_switch_is_a_named_error() {
        let directory = tempfile::tempdir().unwrap();
        let error = version_in(&directory).await;
        assert!(matches!(error, ControlError::NoPid { .. }), "{error:?}");
        std::fs::write(directory.path().join("ovs-vswitchd.pid"), "42\n").unwrap();
        let error = version_in(&directory).await;
        assert!(matches!(error, ControlError::Connection(RpcError::Connect { .. })), "{error:?}");
    }

    async fn version_in(directory: &tempfile::TempDir) -> ControlError {
        super::super::version(&ControlSocket::new(directory.path(), LIMIT)).await.unwrap_err()
    }
}
