//! Puts the suite together.

use super::measured::Measured;
use super::rows;
use super::server::Server;
use super::shape::Kind;
use crate::interleave::{self, Found, Missing, OURS, Subject};
use crate::scratch::Scratch;
use crate::{Options, go};
use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

pub(super) const PEER: &str = "kubernetes";

/// Measures the shapes that are asked for.
pub(crate) fn run(options: &Options) -> anyhow::Result<Found> {
    let mut plans = rows::plans(options.quick);
    plans.retain(|plan| plan.rows.iter().any(|row| options.wants(&row.name)));
    ensure!(!plans.is_empty(), "no row is called like {:?}", options.only);
    let scratch = Rc::new(Scratch::new()?);
    let ours = Server::new(OURS, build()?, &["serve", "--listen", "127.0.0.1:0"], scratch.clone());
    let mut subjects: Vec<Box<dyn Subject<Kind>>> = vec![Box::new(Measured::new(ours, scratch.clone())?)];
    let mut missing = Missing::new();
    if go::is_here() {
        let peer = Server::new(PEER, go::build("apiserver")?, &[], scratch.clone());
        subjects.push(Box::new(Measured::new(peer, scratch)?));
    } else {
        eprintln!("GO NOT FOUND: Kubernetes' API machinery is not measured; install Go, which builds it");
        missing.push((PEER, "go not found: Kubernetes' API machinery not measured".to_owned()));
    }
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}

/// Builds the program `machinery` as this one was built, and next to it.
fn build() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let target = program.ancestors().nth(2).context("this program is in no target directory")?;
    eprintln!("building machinery");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "machinery-cli", "--target-dir"]).arg(target);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().context("cannot run cargo")?;
    ensure!(status.success(), "machinery was not built; why is above");
    Ok(program.with_file_name("machinery"))
}
