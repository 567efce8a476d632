//! Our store, in a process of its own that is this program again.

use super::holder::Open;
use super::measured::{Server, Start};
use super::shape::Step;
use crate::interleave::OURS;
use crate::lines::Lines;
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::Context;
use std::process::Command;
use std::rc::Rc;

pub(super) struct Ours {
    scratch: Rc<Scratch>,
    holder: Option<Lines>,
}

impl Ours {
    pub(super) fn new(scratch: Rc<Scratch>) -> Self {
        Self { scratch, holder: None }
    }

    fn holder(&mut self) -> anyhow::Result<&mut Lines> {
        self.holder.as_mut().context("the store's process does not run")
    }
}

impl Server for Ours {
    fn name(&self) -> &'static str {
        OURS
    }

    fn start(&mut self, start: &Start) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot say where this program is")?;
        let holder = Lines::start("the store's process", Command::new(program).arg("store-holder"))?;
        self.scratch.began(holder.pid());
        let open = Open { open: start.directory.clone(), sync_ms: start.sync_ms };
        self.holder.insert(holder).ask(&open).map(drop)
    }

    fn ask(&mut self, step: &Step) -> anyhow::Result<Figures> {
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
