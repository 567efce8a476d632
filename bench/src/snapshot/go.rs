//! client-go's cache, in the process of the Go peers.

use super::shape::Shape;
use crate::go;
use crate::interleave::Subject;
use crate::lines::Lines;
use crate::measure::Figures;
use serde::Serialize;

pub(super) const NAME: &str = "client-go";

/// Builds and starts the peer; `None` if there is no Go.
pub(super) fn start() -> anyhow::Result<Option<Box<dyn Subject<Shape>>>> {
    let Some(lines) = go::start()? else { return Ok(None) };
    Ok(Some(Box::new(Peer(lines))))
}

#[derive(Serialize)]
struct Request<'a> {
    peer: &'static str,
    #[serde(flatten)]
    shape: &'a Shape,
}

struct Peer(Lines);

impl Subject<Shape> for Peer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&mut self, shape: &Shape) -> anyhow::Result<Figures> {
        self.0.ask(&Request { peer: NAME, shape })
    }
}
