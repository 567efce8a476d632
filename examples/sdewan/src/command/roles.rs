//! `sdewan roles`: the namespace and the RBAC roles of the components.

use std::process::ExitCode;

use machinery::Component;

use super::print_documents;
use crate::roles::{components, system_namespace};

pub(super) fn run() -> machinery::Result<ExitCode> {
    println!(
        "# Each component is the user of the same name. On a cluster, name its ServiceAccount as the subject."
    );
    let mut manifests = vec![serde_json::to_value(system_namespace())?];
    manifests.extend(components().iter().flat_map(Component::manifests));
    print_documents(&manifests)?;
    Ok(ExitCode::SUCCESS)
}
