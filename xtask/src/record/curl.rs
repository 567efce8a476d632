//! Requests by curl, one process each: a watch is a child that keeps writing.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::peer::Address;
use super::runner::Result;
use super::runner::client::{CaseClient, Opened, Piece, Pieces, Request};

/// A server on loopback, with an administrator's credentials.
pub(crate) struct Curl<'a> {
    pub(crate) server: &'a Address,
}

/// Response timeout; the longest intended wait is three seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Headers that curl would send by itself.
const DEFAULTS: [&str; 4] = ["accept", "content-type", "expect", "user-agent"];

impl CaseClient for Curl<'_> {
    fn open(&mut self, request: &Request) -> Result<Opened> {
        let mut child =
            self.command(request).spawn().map_err(|error| format!("cannot start curl: {error}"))?;
        let stdin = child.stdin.take();
        let mut answer = Answer::of(child)?;
        send(stdin, request.body.clone());
        let mut bytes = Vec::new();
        loop {
            if let Some(head) = head(&mut bytes) {
                let (status, headers) = parse(&head).ok_or_else(|| format!("what is this? {head}"))?;
                if status >= 200 {
                    answer.first = bytes;
                    return Ok(Opened { status, headers, pieces: Box::new(answer) });
                }
                continue;
            }
            match answer.next(PATIENCE)? {
                Piece::Bytes(more) => bytes.extend(more),
                Piece::End => return Ok(Opened { status: 0, headers: Vec::new(), pieces: Box::new(answer) }),
                Piece::Late => return Err(format!("late: {} {}", request.method, request.path).into()),
            }
        }
    }

    fn namespace(&mut self, _: &str) -> Result<()> {
        Ok(()) // there are no namespaces in there, and any name of one will do
    }
}

impl Curl<'_> {
    fn command(&self, request: &Request) -> Command {
        let mut command = Command::new("curl");
        // Ignore the user's configuration, send the URL unchanged, and do not buffer output.
        command.args(["--disable", "--silent", "--show-error", "--http1.1", "--no-buffer"]);
        command.args(["--path-as-is", "--globoff", "--noproxy", "*", "--cacert"]).arg(&self.server.authority);
        match request.method.as_str() {
            "HEAD" => command.arg("--head"),
            // Unlike `--include`, it writes the head before the body arrives.
            method => command.args(["--dump-header", "-", "--request", method]),
        };
        let given = |name: &str| request.headers.iter().any(|(given, _)| given == name);
        for name in DEFAULTS.into_iter().filter(|name| !given(name)) {
            command.args(["--header", &format!("{name}:")]);
        }
        for (name, value) in &request.headers {
            command.args(["--header", &format!("{name}: {value}")]);
        }
        if !given("authorization") {
            command.args(["--header", &format!("authorization: Bearer {}", self.server.token)]);
        }
        if request.body.is_some() {
            command.args(["--data-binary", "@-"]);
        }
        command.arg(format!("{}{}", self.server.url, request.path));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }
}

/// Sends the body from another thread: the server may answer before it has read all of it.
fn send(stdin: Option<ChildStdin>, body: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(body)) = (stdin, body) {
        thread::spawn(move || drop(stdin.write_all(&body)));
    }
}

struct Answer {
    child: Child,
    /// Bytes that followed the head in the same read.
    first: Vec<u8>,
    pieces: Receiver<Vec<u8>>,
}

impl Answer {
    fn of(mut child: Child) -> Result<Self> {
        let mut stdout = child.stdout.take().ok_or("curl has no output")?;
        let (send, pieces) = sync_channel(64);
        thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if send.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, first: Vec::new(), pieces })
    }
}

impl Pieces for Answer {
    fn next(&mut self, patience: Duration) -> Result<Piece> {
        if !self.first.is_empty() {
            return Ok(Piece::Bytes(std::mem::take(&mut self.first)));
        }
        Ok(match self.pieces.recv_timeout(patience) {
            Ok(bytes) => Piece::Bytes(bytes),
            Err(RecvTimeoutError::Disconnected) => Piece::End,
            Err(RecvTimeoutError::Timeout) => Piece::Late,
        })
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

/// Removes and returns the head of the response, if it is complete.
fn head(bytes: &mut Vec<u8>) -> Option<String> {
    const END: &[u8] = b"\r\n\r\n";
    let at = bytes.windows(END.len()).position(|window| window == END)?;
    let head: Vec<_> = bytes.drain(..at + END.len()).collect();
    Some(String::from_utf8_lossy(&head).trim_end().to_owned())
}

fn parse(head: &str) -> Option<(u16, Vec<(String, String)>)> {
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some((status, lines.filter_map(header).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_off_one_by_one() {
        let mut bytes =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b: c\r\nWarning: x\r\nWarning: y\r\n\r\nbo"
                .to_vec();
        let first = head(&mut bytes).and_then(|head| parse(&head));
        assert_eq!(first, Some((100, Vec::new())));
        let (status, headers) = head(&mut bytes).and_then(|head| parse(&head)).unwrap();
        assert_eq!((status, headers.len()), (200, 3));
        assert_eq!(headers[0], ("a".to_owned(), "b: c".to_owned()));
        assert_eq!((head(&mut bytes), bytes.as_slice()), (None, &b"bo"[..]));
    }
}
