//! `kos roles`: the definitions of the kinds.

use std::process::ExitCode;

pub(super) fn run() -> machinery::Result<ExitCode> {
    print!("{}", crate::model::role_manifests()?);
    Ok(ExitCode::SUCCESS)
}
