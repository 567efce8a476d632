//! `sdewan crds`: the CustomResourceDefinitions.

use std::process::ExitCode;

use super::print_documents;
use crate::model::definitions;

pub(super) fn run() -> machinery::Result<ExitCode> {
    print_documents(&definitions())?;
    Ok(ExitCode::SUCCESS)
}
