//! Our store, in a child process of this program.

use super::holder::OpenRequest;
use super::measured::{Start, StoreServer};
use super::shape::StoreStep;
use crate::interleave::OURS;
use crate::lines::LineProcess;
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::Context;
use std::process::Command;
use std::rc::Rc;

pub(super) struct OurStore {
    scratch: Rc<Scratch>,
    holder: Option<LineProcess>,
}

impl OurStore {
    pub(super) fn new(scratch: Rc<Scratch>) -> Self {
        Self { scratch, holder: None }
    }

    fn holder(&mut self) -> anyhow::Result<&mut LineProcess> {
        self.holder.as_mut().context("the store's process does not run")
    }
}

impl StoreServer for OurStore {
    fn name(&self) -> &'static str {
        OURS
    }

    fn start(&mut self, start: &Start) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot say where this program is")?;
        let holder = LineProcess::start("the store's process", Command::new(program).arg("store-holder"))?;
        self.scratch.began(holder.pid());
        let open = OpenRequest { open: start.directory.clone(), sync_ms: start.sync_ms };
        self.holder.insert(holder).ask(&open).map(drop)
    }

    fn ask(&mut self, step: &StoreStep) -> anyhow::Result<Figures> {
        self.holder()?.ask(step)
    }

    fn pid(&self) -> anyhow::Result<u32> {
        Ok(self.holder.as_ref().context("the store's process does not run")?.pid())
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        let Some(holder) = self.holder.take() else { return Ok(()) };
        let pid = holder.pid();
        holder.kill()?;
        self.scratch.ended(pid);
        Ok(())
    }
}
