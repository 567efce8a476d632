//! A server: a program that is told a directory, and writes a kubeconfig when it is ready.

use super::access::Access;
use crate::scratch::Scratch;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longer than any start with 100 000 objects.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Server {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    scratch: Rc<Scratch>,
    running: Option<Child>,
}

impl Server {
    /// `arguments` come in front of the directory and the kubeconfig.
    pub(super) fn new(
        name: &'static str,
        program: PathBuf,
        arguments: &'static [&'static str],
        scratch: Rc<Scratch>,
    ) -> Self {
        Self { name, program, arguments, scratch, running: None }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Starts it on what is in a directory.
    pub(super) fn start(&mut self, directory: &Path) -> anyhow::Result<Access> {
        let name = self.name;
        let (kubeconfig, log) = (self.scratch.path("kubeconfig"), self.scratch.path(&format!("{name}.log")));
        if kubeconfig.exists() {
            fs::remove_file(&kubeconfig)?;
        }
        let child = Command::new(&self.program)
            .args(self.arguments)
            .arg("--data-dir")
            .arg(directory)
            .arg("--kubeconfig-out")
            .arg(&kubeconfig)
            .env("GOMAXPROCS", "2")
            .env_remove("GOGC")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        self.scratch.began(child.id());
        let child = self.running.insert(child);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Ok(access) = Access::read(&kubeconfig) {
                return Ok(access);
            }
            let ended = child.try_wait()?;
            if ended.is_some() || Instant::now() > end {
                bail!("{name} was not ready ({ended:?}): {}", fs::read_to_string(&log)?);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(super) fn pid(&self) -> anyhow::Result<u32> {
        Ok(self.running.as_ref().with_context(|| format!("{} does not run", self.name))?.id())
    }

    /// Ends it as a crash would.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.running.take() {
            child.kill().with_context(|| format!("cannot kill {}", self.name))?;
            child.wait()?;
            self.scratch.ended(child.id());
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("{error:#}");
        }
    }
}
