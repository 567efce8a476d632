//! client-go's cache, in the process of the Go peers.

use super::shape::SnapshotShape;
use crate::go;
use crate::interleave::Subject;
use crate::lines::LineProcess;
use crate::measure::Figures;
use serde::Serialize;

pub(super) const NAME: &str = "client-go";

/// Builds and starts the peer; `None` without Go.
pub(super) fn start() -> anyhow::Result<Option<Box<dyn Subject<SnapshotShape>>>> {
    let Some(lines) = go::start()? else { return Ok(None) };
    Ok(Some(Box::new(GoCache(lines))))
}

#[derive(Serialize)]
struct CacheRequest<'a> {
    peer: &'static str,
    #[serde(flatten)]
    shape: &'a SnapshotShape,
}

struct GoCache(LineProcess);

impl Subject<SnapshotShape> for GoCache {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&mut self, shape: &SnapshotShape) -> anyhow::Result<Figures> {
        self.0.ask(&CacheRequest { peer: NAME, shape })
    }
}
