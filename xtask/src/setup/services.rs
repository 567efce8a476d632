//! Packages of Debian without their services.
//!
//! A package that brings a service starts it when it is installed, unless `policy-rc.d` denies it.
//! No test needs a service of the system.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The program that Debian's packages call before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Status 101: the action is forbidden.
const DENY: &str = "#!/bin/sh\n# Temporary, of `cargo xtask setup`.\nexit 101\n";

/// Denies starts of services while it exists. A policy of the machine comes back afterwards.
#[derive(Debug)]
pub(super) struct DeniedServices {
    policy: PathBuf,
}

impl DeniedServices {
    /// Installs the policy.
    pub(super) fn begin() -> io::Result<Self> {
        Self::at(Path::new(POLICY))
    }

    fn at(policy: &Path) -> io::Result<Self> {
        let denied = Self { policy: policy.to_owned() };
        // A run that was killed has left its policy, and the machine's own aside.
        denied.restore()?;
        match fs::rename(policy, denied.aside()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o755).open(policy);
        file.and_then(|mut file| io::Write::write_all(&mut file, DENY.as_bytes()))?;
        Ok(denied)
    }

    fn aside(&self) -> PathBuf {
        self.policy.with_file_name("policy-rc.d.before-xtask")
    }

    fn restore(&self) -> io::Result<()> {
        if fs::read_to_string(&self.policy).is_ok_and(|text| text == DENY) {
            fs::remove_file(&self.policy)?;
        }
        match fs::rename(self.aside(), &self.policy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for DeniedServices {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            println!("setup: {} could not be restored: {error}", self.policy.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory, removed on drop.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn policy(&self) -> PathBuf {
            self.0.join("policy-rc.d")
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_policy_is_temporary() {
        let directory = Directory::new("policy");
        let denied = DeniedServices::at(&directory.policy()).unwrap();
        let status = std::process::Command::new(directory.policy()).args(["etcd", "start"]).status().unwrap();
        assert_eq!(status.code(), Some(101));
        drop(denied);
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 0);
    }

    #[test]
    fn the_policy_of_the_machine_comes_back() {
        let directory = Directory::new("own-policy");
        fs::write(directory.policy(), "own").unwrap();
        let text = || fs::read_to_string(directory.policy()).unwrap();
        let killed = std::mem::ManuallyDrop::new(DeniedServices::at(&directory.policy()).unwrap());
        assert_eq!(text(), DENY);
        let denied = DeniedServices::at(&killed.policy).unwrap();
        assert_eq!(text(), DENY);
        drop(denied);
        assert_eq!(text(), "own");
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 1);
    }
}
