//! `kos exec`: a command in the network namespace of an attachment.

use std::ffi::OsString;
use std::process::ExitCode;

use super::enter::enter;
use crate::drive::ovs::links::NamespaceName;

/// Run a command in the network namespace of an attachment, on its node
#[derive(Debug, clap::Args)]
pub(super) struct ExecArguments {
    /// The attachment, as NAMESPACE/NAME
    attachment: String,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: &ExecArguments) -> machinery::Result<ExitCode> {
    let name = &arguments.attachment;
    let Some((namespace, name)) = name.split_once('/') else {
        return Err(format!("`{name}` is no attachment: write NAMESPACE/NAME").into());
    };
    let namespace = NamespaceName::of_attachment(namespace, name)?;
    let hint = "the attachment is on another machine, is not ready (`kos status` shows why), or its agent runs without `--into netns`";
    Err(enter(&namespace, hint, &arguments.command, &[]))
}
