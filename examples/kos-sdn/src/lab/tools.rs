//! The tools that a lab calls: `ip`, `nft` and `ovsdb-tool`.

use std::process::Stdio;
use std::time::Duration;

use machinery::tokio::io::AsyncWriteExt as _;
use machinery::tokio::process::Command;
use machinery::tokio::time::timeout;

use super::LabError;
use super::process::LAB_VARIABLE;
/// Maximum run time of a tool.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Runs a tool with an input, and returns its output. It has the lab's id in its environment, so
/// that `down` ends it if this process is killed.
pub(super) async fn run(
    id: &str,
    program: &str,
    arguments: &[&str],
    input: &str,
) -> Result<String, LabError> {
    let failed = |output: String| LabError::Tool {
        command: format!("{program} {}", arguments.join(" ")),
        output: output.trim().into(),
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command.env(LAB_VARIABLE, id);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let finished = timeout(TIME_LIMIT, async {
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that rejects its input early closes it, and prints the reason.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    });
    let output = match finished.await {
        Ok(output) => output.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed(format!("it did not end within {} s", TIME_LIMIT.as_secs()))),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(failed(text(&output.stderr))),
    }
}

/// Runs commands of `ip` in a namespace, one per line.
pub(super) async fn ip(id: &str, namespace: &str, commands: &str) -> Result<(), LabError> {
    run(id, "ip", &["-n", namespace, "-batch", "-"], commands).await.map(drop)
}

/// Loads rules into nftables in a namespace.
pub(super) async fn nft(id: &str, namespace: &str, rules: &str) -> Result<(), LabError> {
    run(id, "ip", &["netns", "exec", namespace, "nft", "-f", "-"], rules).await.map(drop)
}
