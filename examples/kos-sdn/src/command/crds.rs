//! `kos crds`: the CustomResourceDefinitions.

use std::process::ExitCode;

pub(super) fn run() -> machinery::Result<ExitCode> {
    print!("{}", crate::model::manifests()?);
    Ok(ExitCode::SUCCESS)
}
