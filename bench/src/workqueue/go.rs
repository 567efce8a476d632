//! client-go and controller-runtime, in the process of the Go peers.

use super::shape::QueueShape;
use crate::go;
use crate::interleave::Subject;
use crate::lines::LineProcess;
use crate::measure::Figures;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const NAMES: [&str; 2] = ["client-go", "controller-runtime"];

/// Builds and starts the peers; `None` without Go.
pub(super) fn start() -> anyhow::Result<Option<Vec<Box<dyn Subject<QueueShape>>>>> {
    let Some(peers) = go::start()? else { return Ok(None) };
    let peers = Rc::new(RefCell::new(peers));
    Ok(Some(NAMES.into_iter().map(|name| boxed(GoQueue { name, peers: peers.clone() })).collect()))
}

fn boxed(peer: GoQueue) -> Box<dyn Subject<QueueShape>> {
    Box::new(peer)
}

#[derive(Serialize)]
struct QueueRequest<'a> {
    peer: &'static str,
    #[serde(flatten)]
    shape: &'a QueueShape,
}

struct GoQueue {
    name: &'static str,
    peers: Rc<RefCell<LineProcess>>,
}

impl Subject<QueueShape> for GoQueue {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &QueueShape) -> anyhow::Result<Figures> {
        self.peers.borrow_mut().ask(&QueueRequest { peer: self.name, shape })
    }
}
