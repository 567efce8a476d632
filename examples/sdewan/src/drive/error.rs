//! Errors of calls to a CNF.

use std::fmt;

/// A failed call to a CNF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {class}{}: {message}", code_of(*.code))]
pub struct CnfError {
    /// The class, which decides the reaction.
    pub class: CnfErrorClass,
    /// The call, for messages: `PUT mwan3/v1/rules/r1`.
    pub call: String,
    /// The status code of the answer, if there was one.
    pub code: Option<u16>,
    /// The message of the CNF, or the reason; at most a few hundred characters, without secrets.
    pub message: String,
}

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CnfErrorClass {
    /// Nothing was received: connection, TLS, timeout. A write may have taken place.
    Unreachable,
    /// The Secret with the password or certificate authority is missing or malformed.
    Credentials,
    /// 401 or 403, again after a new login.
    Unauthorized,
    /// 404 for an object or a path.
    NotFound,
    /// 409 for a create or update.
    Conflict,
    /// 409, or 400 with `is used`, for a delete: other objects refer to the object.
    InUse,
    /// 428: a referenced object or interface does not exist yet.
    MissingDependency,
    /// 423: the configuration is locked.
    Locked,
    /// 400, 413, 415 or 422: the CNF refuses the object.
    Refused,
    /// 5xx.
    Server,
    /// An answer that is none: a redirect, too many bytes, another form.
    Malformed,
}

impl CnfErrorClass {
    /// Returns whether the same call may succeed later without a change of the object. All errors
    /// are retried; those that need a change are retried with a growing delay.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        !matches!(self, Self::Refused)
    }

    /// Returns the label of the class in metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Credentials => "credentials",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::InUse => "in_use",
            Self::MissingDependency => "missing_dependency",
            Self::Locked => "locked",
            Self::Refused => "refused",
            Self::Server => "server",
            Self::Malformed => "malformed",
        }
    }
}

impl CnfError {
    /// Returns an error.
    #[must_use]
    pub fn new(class: CnfErrorClass, call: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class, call: call.into(), code: None, message: message.into() }
    }

    /// Sets the status code.
    #[must_use]
    pub const fn with_code(mut self, code: u16) -> Self {
        self.code = Some(code);
        self
    }
}

impl fmt::Display for CnfErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the CNF cannot be reached",
            Self::Credentials => "the credentials cannot be read",
            Self::Unauthorized => "the CNF refuses the login",
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::InUse => "in use",
            Self::MissingDependency => "a dependency is missing",
            Self::Locked => "locked",
            Self::Refused => "refused",
            Self::Server => "the CNF failed",
            Self::Malformed => "the answer is malformed",
        })
    }
}

fn code_of(code: Option<u16>) -> String {
    code.map(|code| format!(" ({code})")).unwrap_or_default()
}
