//! `cargo xtask soak`: unmodified clients on one server for an hour: kubectl, client-go with a
//! manager of controller-runtime, the Python client, and an operator of kopf.
//!
//! kubectl creates, changes and deletes objects of each operator, and waits for its work; watches
//! of kubectl and of the Python client must report each change. A lost response, a silent watch, a
//! client that ends, or memory that grows fails the run.

mod clients;
mod kubectl;
mod memory;
mod rounds;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::program::Program;
use crate::workspace::Workspace;
use crate::{quickstart, shell};
use clients::Clients;
use kubectl::SoakKubectl;
use memory::Memory;

/// Duration and program of a soak
#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// Minutes of the run
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u64,
    /// The program `machinery`; by default it is built
    #[arg(long, value_name = "F")]
    program: Option<PathBuf>,
}

/// The interval of lines about the run.
const REPORT: Duration = Duration::from_secs(60);

/// Runs all clients at once. Returns whether the server held; a defect is an error.
pub(crate) fn run(workspace: &Workspace, args: &SoakArgs) -> anyhow::Result<bool> {
    for (tool, proof) in [("go", "version"), ("kubectl", "help"), ("python3", "--version")] {
        ensure!(shell::succeeds(tool, &[proof]), "{tool} is needed for this: install it");
    }
    let home = workspace.target.join("soak");
    let run = home.join("run");
    let _ = std::fs::remove_dir_all(&run);
    std::fs::create_dir_all(&run).with_context(|| format!("cannot make {}", run.display()))?;
    let built = clients::build(workspace, &home)?;
    let program = args.program.clone().map_or_else(|| quickstart::build_server(workspace), Ok)?;

    let kubeconfig = run.join("kubeconfig");
    let mut serve = Command::new(program);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(run.join("data"));
    serve.arg("--kubeconfig-out").arg(&kubeconfig).stderr(log(&run, "server")?);
    let mut server = Program::start(&mut serve)?;
    server.until_there(&kubeconfig)?;
    let kubectl = SoakKubectl::new(&kubeconfig, &run);
    rounds::prepare(&kubectl)?;
    let mut clients = Clients::start(&built, &kubectl, &run)?;
    let (begun, mut reported) = (shell::now(), shell::now());
    let (mut memory, mut round) = (Memory::default(), 0);
    while begun.elapsed() < Duration::from_secs(args.minutes * 60) {
        round += 1;
        rounds::run(&kubectl, &mut clients, round).with_context(|| format!("round {round} failed"))?;
        clients.check(&kubectl, &run)?;
        memory.sample(server.id())?;
        if reported.elapsed() >= REPORT {
            reported = shell::now();
            let minutes = begun.elapsed().as_secs() / 60;
            println!("{minutes} min: {round} rounds, {} of Python, {memory}", clients.python_rounds());
        }
    }
    drop(clients);
    server.end()?;
    println!("{round} rounds, {memory}");
    memory.judge()?;
    println!("the server held");
    Ok(true)
}

fn log(directory: &std::path::Path, name: &str) -> anyhow::Result<std::fs::File> {
    let path = directory.join(name);
    std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))
}
