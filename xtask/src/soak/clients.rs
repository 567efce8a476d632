//! The clients that run for the whole time.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use anyhow::{Context, bail, ensure};

use super::kubectl::{SILENT, SoakKubectl};
use super::rounds::{GO, KOPF, PYTHON};
use crate::shell;
use crate::workspace::Workspace;

/// The watch of kubectl, in messages.
const WATCH: &str = "kubectl get --watch";

const CLIENTS: &str = "apiserver/tests/clients";

/// The programs of the clients.
pub(super) struct BuiltClients {
    go: PathBuf,
    python: PathBuf,
    handlers: PathBuf,
    script: PathBuf,
}

/// The running clients. They are killed on drop.
pub(super) struct Clients {
    children: Vec<(&'static str, Child)>,
    /// Lines of the watches of kubectl and Python.
    kubectl: Receiver<String>,
    python: Receiver<String>,
    python_rounds: usize,
}

/// Builds the Go program, and installs the Python packages: once for each target directory.
pub(super) fn build(workspace: &Workspace, home: &Path) -> anyhow::Result<BuiltClients> {
    let clients = workspace.root.join(CLIENTS);
    let go = home.join("client-go");
    println!("building the client in Go ...");
    let mut build = Command::new("go");
    build.current_dir(clients.join("go")).args(["build", "-mod=readonly", "-o"]).arg(&go).arg(".");
    succeed(&mut build)?;
    let requirements = clients.join("python/requirements.txt");
    let wanted = fs::read_to_string(&requirements)?;
    let (environment, installed) = (home.join("python"), home.join("python/installed"));
    if fs::read_to_string(&installed).ok().as_ref() != Some(&wanted) {
        println!("installing the Python packages ...");
        let _ = fs::remove_dir_all(&environment);
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let mut install = Command::new(environment.join("bin/pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&requirements);
        succeed(&mut install)?;
        fs::write(&installed, wanted)?;
    }
    Ok(BuiltClients {
        go,
        python: environment.join("bin/python"),
        handlers: clients.join("python/handlers.py"),
        script: workspace.root.join("xtask/soak/client.py"),
    })
}

impl Clients {
    /// Starts all of them, with their output in files of `run`.
    pub(super) fn start(built: &BuiltClients, kubectl: &SoakKubectl, run: &Path) -> anyhow::Result<Self> {
        let mut children = Vec::new();
        let mut manager = kubectl.beside(&built.go);
        manager.args(["operate", GO]).stdin(Stdio::piped()); // it ends with its input
        children.push(("controller-runtime", logged(&mut manager, run, "controller-runtime")?));
        let mut kopf = kubectl.beside(&built.python);
        kopf.args(["-m", "kopf", "run", "--standalone", "-n", KOPF]).arg(&built.handlers);
        kopf.env("RUN", "soak").env("JOURNAL", run.join("journal")).env("PYTHONDONTWRITEBYTECODE", "1");
        children.push(("kopf", logged(&mut kopf, run, "kopf")?));

        let (child, watched) = watch(kubectl, run)?;
        children.push((WATCH, child));
        let mut python = kubectl.beside(&built.python);
        python.arg(&built.script).env("NAMESPACE", PYTHON);
        let (child, seen) = followed(&mut python, run, "python")?;
        children.push(("the Python client", child));
        let clients = Self { children, kubectl: watched, python: seen, python_rounds: 0 };
        // Its watch begins after its list, and reports only objects that are newer.
        wait(&clients.python, |line| line.starts_with("round ")).context("the Python client")?;
        Ok(clients)
    }

    /// Fails if a client has ended. Its output is in a file of the run. The watch of kubectl is
    /// started again: as on Kubernetes, a server ends a watch within an hour, and kubectl with it.
    pub(super) fn check(&mut self, kubectl: &SoakKubectl, run: &Path) -> anyhow::Result<()> {
        for (name, child) in &mut self.children {
            match child.try_wait()? {
                None => {}
                Some(status) if *name == WATCH && status.success() => {
                    (*child, self.kubectl) = watch(kubectl, run)?;
                }
                Some(status) => bail!("{name} has ended with {status}"),
            }
        }
        Ok(())
    }

    /// Waits until both watches have reported a ConfigMap.
    pub(super) fn expect_watched(&mut self, name: &str) -> anyhow::Result<()> {
        let suffix = format!("configmap/{name}");
        wait(&self.kubectl, |line| line.ends_with(&suffix)).context("the watch of kubectl")?;
        let (expected, rounds) = (format!("saw {name}"), &mut self.python_rounds);
        wait(&self.python, |line| {
            *rounds += usize::from(line.starts_with("round "));
            line == expected
        })
        .context("the watch of Python")
    }

    pub(super) const fn python_rounds(&self) -> usize {
        self.python_rounds
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn watch(kubectl: &SoakKubectl, run: &Path) -> anyhow::Result<(Child, Receiver<String>)> {
    let mut follow = kubectl.beside("kubectl");
    follow.args(["get", "configmaps", "-n", PYTHON, "--watch", "--output-watch-events", "-o", "name"]);
    followed(&mut follow, run, "kubectl-watch")
}

fn wait(lines: &Receiver<String>, mut is_it: impl FnMut(&str) -> bool) -> anyhow::Result<()> {
    let begun = shell::now();
    loop {
        match lines.recv_timeout(SILENT.saturating_sub(begun.elapsed())) {
            Ok(line) if is_it(&line) => return Ok(()),
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => bail!("it was silent for {} s", SILENT.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("it has ended"),
        }
    }
}

fn file(run: &Path, name: &str) -> anyhow::Result<File> {
    let path = run.join(format!("{name}.log"));
    File::create(&path).with_context(|| format!("cannot write {}", path.display()))
}

fn logged(command: &mut Command, run: &Path, name: &str) -> anyhow::Result<Child> {
    let log = file(run, name)?;
    command.stdout(log.try_clone()?).stderr(log);
    command.spawn().with_context(|| format!("cannot start {name}"))
}

/// Starts a client whose lines are read.
fn followed(command: &mut Command, run: &Path, name: &str) -> anyhow::Result<(Child, Receiver<String>)> {
    command.stdout(Stdio::piped()).stderr(file(run, name)?);
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let output = child.stdout.take().context("it has an output")?;
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok((child, lines))
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let line = shell::describe(command);
    let done = command.output().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(done.status.success(), "`{line}`: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
