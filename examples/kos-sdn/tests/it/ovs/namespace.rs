//! Named network namespaces.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};

use super::command::{run, try_run};

/// A named network namespace, deleted on drop.
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn new(name: &str) -> Self {
        run(&["ip", "netns", "add", name]);
        run(&["ip", "-n", name, "link", "set", "lo", "up"]);
        Self(name.into())
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// Runs `ip` in the namespace.
    #[track_caller]
    pub(crate) fn ip(&self, arguments: &str) {
        let all: Vec<_> = ["ip", "-n", &self.0].into_iter().chain(arguments.split_whitespace()).collect();
        run(&all);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = try_run(&["ip", "netns", "delete", &self.0]);
    }
}

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new("/run/netns").join(name)
}

/// Returns the number that distinguishes a namespace from earlier ones of its name.
pub(crate) fn identity(name: &str) -> Option<u64> {
    fs::metadata(path(name)).ok().map(|it| it.ino())
}

/// Runs a function on a thread in a namespace; `None` if the namespace does not exist.
pub(crate) fn inside<T: Send>(name: &str, function: impl FnOnce() -> T + Send) -> Option<T> {
    let namespace = File::open(path(name)).ok()?;
    thread::scope(|scope| {
        let entered = scope.spawn(move || {
            // A name without a namespace mounted on it is a file like any other.
            setns(namespace, CloneFlags::CLONE_NEWNET).ok()?;
            Some(function())
        });
        entered.join().unwrap()
    })
}

/// Returns the names that begin with a prefix.
pub(crate) fn names(prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

/// Deletes the namespaces of workloads of a test, whose names begin with its tag.
pub(crate) fn delete_all(prefix: &str) {
    for name in names(prefix) {
        let _ = try_run(&["ip", "netns", "delete", &name]);
    }
}

/// Disables IPv6 in a namespace, whose chatter would blur captures.
pub(crate) fn disable_ipv6(name: &str) {
    inside(name, || {
        for of in ["all", "default"] {
            // A kernel without IPv6 has no such file.
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"), "1");
        }
    });
}
