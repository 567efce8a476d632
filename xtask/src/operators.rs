//! `cargo xtask operators`: the examples of kube-rs, unmodified, on `machinery serve`.
//!
//! The examples are cloned from the repository of kube-rs at one commit, with the versions of
//! `xtask/operators/Cargo.lock`. Only this command needs git, kubectl and openssl. The exit status
//! of each example and the objects on the server afterwards decide.

mod kubectl;
mod runs;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::counts::Counts;
use crate::program::Program;
use crate::quickstart;
use crate::shell;
use crate::workspace::Workspace;
use kubectl::Kubectl;

#[derive(clap::Args)]
pub(crate) struct OperatorArgs {
    /// The repository of kube-rs to clone
    #[arg(long, default_value = source::REPOSITORY)]
    repository: String,
}

/// An example, and the function that runs and checks it.
type Run = (&'static str, fn(&Site) -> anyhow::Result<()>);

const RUNS: [Run; 7] = [
    ("crd_apply", runs::crd_apply),
    ("crd_derive_cel", runs::crd_derive_cel),
    ("crd_derive_schema", runs::crd_derive_schema),
    ("crd_derive_multi", runs::crd_derive_multi),
    ("admission_controller", runs::admission_controller),
    ("configmapgen_controller", runs::configmapgen_controller),
    ("secret_syncer", runs::secret_syncer),
];

/// Runs all examples. Returns whether all passed.
pub(crate) fn run(workspace: &Workspace, args: &OperatorArgs) -> anyhow::Result<bool> {
    for (tool, proof) in [("git", "--version"), ("openssl", "version"), ("kubectl", "help")] {
        ensure!(shell::succeeds(tool, &[proof]), "{tool} is needed for this: install it");
    }
    let home = workspace.target.join("operators");
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let source = source::clone(workspace, &home, &args.repository)?;
    println!("building the examples of kube-rs {} (cold this takes minutes) ...", source::TAG);
    let programs = source::build(workspace, &home, &source, &RUNS.map(|(name, _)| name))?;
    let server = quickstart::build_server(workspace)?;

    let mut total = Counts::default();
    for (index, (name, judge)) in RUNS.iter().enumerate() {
        println!("[{}/{}] {name} ...", index + 1, RUNS.len());
        let begun = shell::now();
        let ran = Site::begin(&server, &home.join("run").join(name), &programs, &source).and_then(|site| {
            judge(&site)?;
            site.server.end()
        });
        match &ran {
            Ok(()) => println!("      ok in {:.1} s", begun.elapsed().as_secs_f64()),
            Err(error) => println!("      FAILED in {:.1} s: {error:#}", begun.elapsed().as_secs_f64()),
        }
        total += Counts { passed: usize::from(ran.is_ok()), failed: usize::from(ran.is_err()), skipped: 0 };
    }
    println!("\n{total}");
    Ok(total.failed == 0)
}

/// The environment of an example: a server with an empty store.
struct Site {
    server: Program,
    kubectl: Kubectl,
    kubeconfig: PathBuf,
    /// A directory for output that no check reads.
    directory: PathBuf,
    programs: PathBuf,
    /// The examples' files.
    files: PathBuf,
}

impl Site {
    fn begin(server: &Path, directory: &Path, programs: &Path, source: &Path) -> anyhow::Result<Self> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let kubeconfig = directory.join("kubeconfig");
        let mut serve = Command::new(server);
        serve.args(["serve", "--memory", "--listen", "127.0.0.1:0", "--kubeconfig-out"]).arg(&kubeconfig);
        let mut server = Program::start(serve.stderr(log(directory, "server")?))?;
        server.until_there(&kubeconfig)?;
        Ok(Self {
            server,
            kubectl: Kubectl::new(&kubeconfig, directory),
            kubeconfig,
            directory: directory.to_owned(),
            programs: programs.to_owned(),
            files: source.join("examples"),
        })
    }

    fn start(&self, example: &str) -> anyhow::Result<Program> {
        let mut command = Command::new(self.programs.join(example));
        command.current_dir(&self.directory).env("KUBECONFIG", &self.kubeconfig).env("RUST_LOG", "info");
        Program::start(
            command
                .env("NO_COLOR", "1")
                .env("ADMISSION_PRIVATE_IP", "127.0.0.1")
                .stderr(log(&self.directory, "stderr")?),
        )
    }

    /// Returns the path of a file of the examples.
    fn file(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }
}

fn log(directory: &Path, name: &str) -> anyhow::Result<fs::File> {
    let path = directory.join(name);
    fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))
}
