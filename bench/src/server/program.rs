//! A server process: a program that gets a directory, and writes a kubeconfig when it is ready.

use super::access::Access;
use super::client::Client;
use super::objects::{DEFINITIONS, PATH, definition};
use crate::process;
use crate::scratch::Scratch;
use anyhow::{Context, bail};
use http::StatusCode;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Timeout of a start, longer than any with 100 000 objects.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct ServerProcess {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    scratch: Rc<Scratch>,
    running: Option<Child>,
}

impl ServerProcess {
    /// `arguments` precede the directory and the kubeconfig.
    pub(crate) fn new(
        name: &'static str,
        program: PathBuf,
        arguments: &'static [&'static str],
        scratch: Rc<Scratch>,
    ) -> Self {
        Self { name, program, arguments, scratch, running: None }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Starts the server on an empty directory, and defines the kind of the
    /// [`objects`](super::objects).
    pub(crate) fn begin(&mut self, directory: &Path, runtime: &Runtime) -> anyhow::Result<Access> {
        remove(directory)?;
        fs::create_dir_all(directory)?;
        rustix::fs::sync(); // the disk has nothing left to write of what was there before
        let access = self.start(directory)?;
        runtime.block_on(async {
            let definition = serde_json::to_vec(&definition())?;
            Client::connect(&access).await?.post(DEFINITIONS, definition.into()).await?;
            ready(&access).await
        })?;
        Ok(access)
    }

    /// Starts the server on an existing directory.
    pub(crate) fn begin_again(&mut self, directory: &Path, runtime: &Runtime) -> anyhow::Result<Access> {
        let access = self.start(directory)?;
        runtime.block_on(ready(&access))?;
        Ok(access)
    }

    fn start(&mut self, directory: &Path) -> anyhow::Result<Access> {
        let name = self.name;
        let (kubeconfig, log) = (self.kubeconfig(), self.scratch.path(&format!("{name}.log")));
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
        let end = Instant::now() + TIMEOUT;
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

    /// Returns the path of the kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.scratch.path("kubeconfig")
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        Ok(self.running.as_ref().with_context(|| format!("{} does not run", self.name))?.id())
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.running.take() {
            child.kill().with_context(|| format!("cannot kill {}", self.name))?;
            child.wait()?;
            self.scratch.ended(child.id());
        }
        Ok(())
    }
}

/// Waits until a process is idle after its start.
pub(crate) fn settled(pid: u32) -> anyhow::Result<()> {
    const LOOK: Duration = Duration::from_millis(250);
    let end = Instant::now() + TIMEOUT;
    let mut cpu = process::cpu_us(pid)?;
    while Instant::now() < end {
        std::thread::sleep(LOOK);
        let now = process::cpu_us(pid)?;
        if now - cpu < LOOK.as_secs_f64() * 1e6 / 10.0 {
            break;
        }
        cpu = now;
    }
    Ok(())
}

/// Removes the files of a server.
pub(crate) fn remove(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

/// Waits until the kind can be listed, also from a cache.
async fn ready(access: &Access) -> anyhow::Result<()> {
    let mut client = Client::connect(access).await?;
    let end = Instant::now() + TIMEOUT;
    let path = format!("{PATH}?labelSelector=app%3Dnone");
    loop {
        let status = client.status(&path).await?;
        if status == StatusCode::OK {
            return Ok(());
        }
        if Instant::now() > end {
            bail!("{path} is still answered {status}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("{error:#}");
        }
    }
}
