//! `kos roles`: the RBAC roles of the components.

use std::process::ExitCode;

pub(super) fn run() -> machinery::Result<ExitCode> {
    print!("{}", crate::model::role_manifests()?);
    Ok(ExitCode::SUCCESS)
}
