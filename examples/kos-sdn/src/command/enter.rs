//! Execution of a command in a network namespace.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::drive::ovs::links::{NAMESPACES, NamespaceName};

/// Replaces this process with a command in a named network namespace. Returns the reason if that
/// is impossible.
pub(super) fn enter(
    namespace: &NamespaceName,
    hint: &str,
    command: &[OsString],
    environment: &[(&str, &Path)],
) -> machinery::Error {
    let Some((program, arguments)) = command.split_first() else {
        return "there is no command to execute".into();
    };
    let path = Path::new(NAMESPACES).join(namespace.as_str());
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return format!("there is no network namespace {namespace}: {hint}").into();
        }
        Err(error) => return format!("{} cannot be opened: {error}", path.display()).into(),
    };
    // The namespace is this thread's, which becomes the new program.
    match move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)) {
        Ok(()) => {}
        Err(Errno::PERM) => return format!("entering {namespace} needs root: run it with sudo").into(),
        Err(errno) => return format!("{namespace} cannot be entered: {errno}").into(),
    }
    let error = Command::new(program).args(arguments).envs(environment.iter().copied()).exec();
    format!("{} cannot be started: {error}", program.display()).into()
}
