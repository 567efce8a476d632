//! A way to a server: a socket when answers are recorded, a function call when ours is judged.

use std::time::Duration;

use super::Result;

/// A request of a test client. Header names are lower-case.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with the query, encoded for a request line.
    pub(crate) path: String,
    /// The headers. They have a credential only if the case is about one: a client adds its own if
    /// `authorization` is absent.
    /// `authorization` is absent.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

/// The head of an answer, and a body that is still coming.
pub(crate) struct Opened {
    /// Zero: the connection was closed, and there is no answer.
    pub(crate) status: u16,
    /// Names are in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) pieces: Box<dyn Pieces>,
}

/// The next thing that is known of a body.
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    End,
    /// Timed out without a piece; more may follow.
    Late,
}

/// A body in pieces.
pub(crate) trait Pieces {
    /// Waits at most this long.
    fn next(&mut self, patience: Duration) -> Result<Piece>;
}

/// A way to a server that allows everything.
pub(crate) trait CaseClient {
    /// Sends, and waits for the head of the answer.
    fn open(&mut self, request: &Request) -> Result<Opened>;

    /// Sees to it that there is this namespace. Nothing to do where there is no such thing.
    fn namespace(&mut self, name: &str) -> Result<()>;
}

/// Reads a body to its end.
pub(crate) fn whole(pieces: &mut dyn Pieces) -> Result<Vec<u8>> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let mut bytes = Vec::new();
    loop {
        match pieces.next(PATIENCE)? {
            Piece::Bytes(more) => bytes.extend(more),
            Piece::End => return Ok(bytes),
            Piece::Late => return Err(format!("the body stopped after {} bytes", bytes.len()).into()),
        }
    }
}
