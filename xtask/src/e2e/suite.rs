//! The suite as a program: built, listed, run on a server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::ginkgo_report::{self, Spec, Verdict};
use crate::program::Program;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// A run that takes longer is ended by ginkgo, which reports the specs that did not finish.
const TIMEOUT: &str = "2h";

/// The beginning of a line that the suite writes after each spec (xtask/e2e/e2e_test.go).
const PROGRESS: &str = "spec: ";

/// The compiled suite.
pub(super) struct E2eSuite {
    program: PathBuf,
    /// The kubectl of the same version, which some specs run.
    kubectl: PathBuf,
    /// The directory of reports and logs.
    directory: PathBuf,
}

impl E2eSuite {
    /// Compiles the suite and kubectl. A second build takes seconds.
    pub(super) fn build(workspace: &Workspace) -> anyhow::Result<Self> {
        let directory = workspace.target.join("e2e");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let suite =
            Self { program: directory.join("e2e.test"), kubectl: directory.join("kubectl"), directory };
        let home = workspace.root.join("xtask/e2e");
        go(&home, &["test", "-c"], &suite.program, ".")?;
        go(&home, &["build"], &suite.kubectl, "k8s.io/kubernetes/cmd/kubectl")?;
        Ok(suite)
    }

    /// Returns the path of the log of a run.
    pub(super) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Returns all specs of the suite, without a server.
    pub(super) fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let report = self.directory.join("specs.json");
        let mut command = Command::new(&self.program);
        command.args(["-ginkgo.dry-run", "-provider=skeleton", "-host=https://127.0.0.1:1"]);
        command.arg(format!("-ginkgo.json-report={}", report.display()));
        let outcome = shell::run(command, Show::Progress)?;
        ensure!(outcome.ok, "the specs cannot be listed: {}\n{}", outcome.ending, outcome.text);
        Ok(read(&report)?.into_iter().map(|(spec, _)| spec).collect())
    }

    /// Runs these specs on a new server with an empty store, and returns the results of those that
    /// ran or skipped themselves.
    pub(super) fn run(
        &self,
        server: &Path,
        names: &BTreeSet<String>,
    ) -> anyhow::Result<BTreeMap<String, Verdict>> {
        let [kubeconfig, report] = ["kubeconfig", "report.json"].map(|name| self.directory.join(name));
        for file in [&kubeconfig, &report] {
            let _ = fs::remove_file(file);
        }
        let create = |name: &str| File::create(self.directory.join(name)).context("cannot write a log");
        let mut serve = Command::new(server);
        serve.args(["serve", "--memory", "--listen", "127.0.0.1:0", "--kubeconfig-out"]).arg(&kubeconfig);
        let mut server = Program::start(serve.stderr(create("server.log")?))?;
        server.until_there(&kubeconfig)?;

        let mut command = Command::new(&self.program);
        command.args([
            "-provider=skeleton",
            "-e2e-verify-service-account=false",
            "-dump-logs-on-failure=false",
        ]);
        command.args(["-test.timeout=0", &format!("-ginkgo.timeout={TIMEOUT}"), "-ginkgo.no-color"]);
        for (flag, path) in
            [("kubeconfig", &kubeconfig), ("kubectl-path", &self.kubectl), ("ginkgo.json-report", &report)]
        {
            command.arg(format!("-{flag}={}", path.display()));
        }
        // One spec explains a kind that kubectl would not find in what it knows of the server.
        command.env("KUBECACHEDIR", "/dev/null/none");
        command.arg(format!("-ginkgo.focus=^{SUITE} ({})$", alternatives(names)));
        run_with_progress(command.stdout(create("log")?), names.len())?;

        let results = read(&report).context("the suite was not run to its end: see the log")?;
        server.end().context("the server did not survive the specs")?;
        let not_selected = Verdict::Skipped(String::new());
        let results = results.into_iter().filter(|(_, verdict)| *verdict != not_selected);
        Ok(results.map(|(spec, verdict)| (spec.name, verdict)).collect())
    }
}

/// Builds the program `machinery`, with the features that its tests have, and returns its path.
pub(super) fn build_server(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let command = workspace.cargo(["build", "--package", "machinery-cli", "--all-features"]);
    let outcome = shell::run(command, Show::Progress)?;
    ensure!(outcome.ok, "machinery does not build: {}\n{}", outcome.ending, outcome.text);
    Ok(workspace.target.join("debug/machinery"))
}

/// The name of the suite, which ginkgo puts before the name of each spec when it selects.
const SUITE: &str = "Kubernetes e2e suite";

fn go(home: &Path, args: &[&str], output: &Path, package: &str) -> anyhow::Result<()> {
    let mut command = Command::new("go");
    command.current_dir(home).args(args).args(["-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o"]);
    command.arg(output).arg(package);
    let outcome =
        shell::run(command, Show::Progress).context("the specs are compiled with Go: install it")?;
    ensure!(outcome.ok, "{package} does not build: {}\n{}", outcome.ending, outcome.text);
    Ok(())
}

/// Runs the suite to its end, and prints a line for each finished spec. The exit status is not
/// judged: the report is.
fn run_with_progress(command: &mut Command, total: usize) -> anyhow::Result<()> {
    let mut child =
        command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().context("the suite cannot be started")?;
    let lines = BufReader::new(child.stderr.take().context("it has an output")?).lines();
    let mut finished = 0;
    for line in lines.map_while(Result::ok) {
        if let Some(spec) = line.strip_prefix(PROGRESS) {
            finished += 1;
            println!("[{finished}/{total}] {spec}");
        }
    }
    child.wait()?;
    Ok(())
}

fn read(report: &Path) -> anyhow::Result<Vec<(Spec, Verdict)>> {
    let text = fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    ginkgo_report::parse(&text)
}

/// Returns a regular expression of Go that matches each of these names and nothing else.
fn alternatives(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| literal(name)).collect::<Vec<_>>().join("|")
}

fn literal(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len() * 2);
    for c in name.chars() {
        if c.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_literally() {
        let names = ["[sig-x] a.b (c)".to_owned(), "d|e's \"f\"".to_owned()].into();
        assert_eq!(alternatives(&names), r#"\[sig\-x\] a\.b \(c\)|d\|e\'s \"f\""#);
    }
}
