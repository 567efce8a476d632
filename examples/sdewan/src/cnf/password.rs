//! The password of a CNF's administrator.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hkdf::Hkdf;
use machinery::sync::Mutex;
use sha2::Sha256;

/// The only user, as on the original's device.
pub const CNF_USER: &str = "root";

/// The source of the password. It is read at each login, so a changed one counts from the next
/// login.
#[derive(Clone)]
pub enum PasswordSource {
    /// A file; line ends at its end are no part of the password.
    File(PathBuf),
    /// A value that may be replaced, as by a rotated Secret.
    Shared(Arc<Mutex<String>>),
}

impl PasswordSource {
    /// A password that may be replaced through this handle.
    #[must_use]
    pub fn shared(password: &str) -> (Self, Arc<Mutex<String>>) {
        let shared = Arc::new(Mutex::new(password.to_owned()));
        (Self::Shared(shared.clone()), shared)
    }

    /// Returns whether a user and password may log in. An empty password lets nobody in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn admits(&self, user: &str, password: &str) -> io::Result<bool> {
        let expected = match self {
            Self::File(path) => std::fs::read_to_string(path)?.trim_end_matches(['\r', '\n']).to_owned(),
            Self::Shared(shared) => shared.lock().clone(),
        };
        // Digests under a key of this call: their comparison takes the same time for all passwords.
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        let digest = |text: &str| Hkdf::<Sha256>::extract(Some(&key), text.as_bytes()).0;
        let is_equal = digest(&expected) == digest(password);
        Ok(is_equal && !expected.is_empty() && user == CNF_USER)
    }
}

/// Without the password.
impl fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Shared(_) => f.write_str("Shared"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_with_the_password_is_admitted() {
        let (source, shared) = PasswordSource::shared("a b&c=d+é");
        assert!(source.admits("root", "a b&c=d+é").unwrap());
        assert!(!source.admits("root", "a b&c=d+").unwrap());
        assert!(!source.admits("admin", "a b&c=d+é").unwrap());
        "other".clone_into(&mut shared.lock());
        assert!(!source.admits("root", "a b&c=d+é").unwrap());
        assert!(source.admits("root", "other").unwrap());
        assert!(!format!("{source:?}").contains("other"));
    }

    #[test]
    fn an_empty_password_admits_nobody() {
        assert!(!PasswordSource::shared("").0.admits("root", "").unwrap());
    }

    #[test]
    fn a_file_is_read_at_each_login() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let source = PasswordSource::File(path.clone());
        assert!(source.admits("root", "x").is_err());
        std::fs::write(&path, "x\n").unwrap();
        assert!(source.admits("root", "x").unwrap());
        std::fs::write(&path, "y").unwrap();
        assert!(!source.admits("root", "x").unwrap());
    }
}
