//! `sdewan roles`: the RBAC roles of the components.

use std::process::ExitCode;

use machinery::Component;

use super::print_documents;
use crate::roles::components;

pub(super) fn run() -> machinery::Result<ExitCode> {
    println!(
        "# Each component is the user of the same name. On a cluster, name its ServiceAccount as the subject."
    );
    let manifests: Vec<_> = components().iter().flat_map(Component::manifests).collect();
    print_documents(&manifests)?;
    Ok(ExitCode::SUCCESS)
}
