//! client-go and controller-runtime, in the process of the Go peers.

use super::shape::Shape;
use crate::go;
use crate::interleave::Subject;
use crate::lines::Lines;
use crate::measure::Figures;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const NAMES: [&str; 2] = ["client-go", "controller-runtime"];

/// Builds and starts the peers; `None` if there is no Go.
pub(super) fn start() -> anyhow::Result<Option<Vec<Box<dyn Subject<Shape>>>>> {
    let Some(peers) = go::start()? else { return Ok(None) };
    let peers = Rc::new(RefCell::new(peers));
    Ok(Some(NAMES.into_iter().map(|name| boxed(Peer { name, peers: peers.clone() })).collect()))
}

fn boxed(peer: Peer) -> Box<dyn Subject<Shape>> {
    Box::new(peer)
}

#[derive(Serialize)]
struct Request<'a> {
    peer: &'static str,
    #[serde(flatten)]
    shape: &'a Shape,
}

struct Peer {
    name: &'static str,
    peers: Rc<RefCell<Lines>>,
}

impl Subject<Shape> for Peer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &Shape) -> anyhow::Result<Figures> {
        self.peers.borrow_mut().ask(&Request { peer: self.name, shape })
    }
}
