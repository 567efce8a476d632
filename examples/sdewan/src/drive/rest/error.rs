//! Failed exchanges with a CNF, and their classes.

use std::time::Duration;

use http::{Method, StatusCode};
use thiserror::Error;

use crate::cnf::ConfigRefusals;
use crate::drive::{CnfError, CnfErrorClass};

/// A call that failed, or that had an unusable answer. No text has a secret.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RestError {
    /// The account or the authority of the CNF cannot be used.
    #[error("{0}")]
    Account(String),
    /// No connection, or one that broke. The request may have been executed.
    #[error("{0}")]
    Transport(String),
    /// The CNF shows no certificate of its authority for its name or address.
    #[error("its certificate is not accepted ({0}): the Secret of its authority has to hold its `ca.crt`")]
    Certificate(String),
    /// There was no answer in time. The request may have been executed.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer is too large.
    #[error("more than {0} bytes")]
    TooLarge(usize),
    /// The answer is not of the API.
    #[error("{0}")]
    Nonsense(String),
    /// The CNF redirects, which is not followed.
    #[error("a redirect, which is not followed")]
    Redirect(StatusCode),
    /// The login was refused, or a request with a new session was.
    #[error("the Secret of its account has to hold the password of the CNF")]
    Login(StatusCode),
    /// The CNF refused objects of a whole configuration.
    #[error("{}", .0.message)]
    RefusedObjects(ConfigRefusals),
    /// The CNF refused the request.
    #[error("{message}")]
    Refused {
        /// The status code.
        status: StatusCode,
        /// The CNF's message.
        message: String,
    },
}

impl RestError {
    /// Returns the error of a call.
    #[must_use]
    pub fn of(self, method: &Method, path: &str) -> CnfError {
        let class = self.class(method);
        let error = CnfError::new(class, format!("{method} {path}"), self.to_string());
        match self {
            Self::Refused { status, .. } | Self::Login(status) | Self::Redirect(status) => {
                error.with_code(status.as_u16())
            }
            _ => error,
        }
    }

    fn class(&self, method: &Method) -> CnfErrorClass {
        let (status, message) = match self {
            Self::Account(_) => return CnfErrorClass::Credentials,
            Self::Transport(_) | Self::Certificate(_) | Self::Timeout(_) => {
                return CnfErrorClass::Unreachable;
            }
            Self::TooLarge(_) | Self::Nonsense(_) | Self::Redirect(_) => return CnfErrorClass::Malformed,
            Self::Login(_) => return CnfErrorClass::Unauthorized,
            Self::RefusedObjects(_) => return CnfErrorClass::Refused,
            Self::Refused { status, message } => (status.as_u16(), message),
        };
        match status {
            401 | 403 => CnfErrorClass::Unauthorized,
            404 => CnfErrorClass::NotFound,
            400 | 409 if method == Method::DELETE && (status == 409 || is_in_use(message)) => {
                CnfErrorClass::InUse
            }
            409 => CnfErrorClass::Conflict,
            428 => CnfErrorClass::MissingDependency,
            400 if is_missing_reference(message) => CnfErrorClass::MissingDependency,
            423 => CnfErrorClass::Locked,
            400 | 405 | 413 | 415 | 422 => CnfErrorClass::Refused,
            // Also 408, 429 and the like: they pass by themselves.
            _ => CnfErrorClass::Server,
        }
    }
}

/// The original answers 400 for most missing references, with this text (its spelling).
fn is_missing_reference(message: &str) -> bool {
    message.contains("is not definied")
}

fn is_in_use(message: &str) -> bool {
    message.ends_with(" is used")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_the_class_of_its_remedy() {
        let class = |method: Method, status: u16, message: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            RestError::Refused { status, message: message.into() }.of(&method, "mwan3/v1/rules/r").class
        };
        use CnfErrorClass::{
            Conflict, InUse, Locked, MissingDependency, NotFound, Refused, Server, Unauthorized,
        };
        for status in [500, 502, 503, 507, 408, 429] {
            assert_eq!(class(Method::PUT, status, "x"), Server, "{status}");
        }
        for status in [400, 413, 415, 422, 405] {
            let message = "Field[proto] checked failed: wrong proto";
            assert_eq!(class(Method::PUT, status, message), Refused, "{status}");
        }
        let missing = "Field[policy] checked failed: invalid policy [Policy[p] is not definied]";
        assert_eq!(class(Method::POST, 400, missing), MissingDependency);
        assert_eq!(class(Method::POST, 428, "x"), MissingDependency);
        assert_eq!(class(Method::POST, 409, "Conflict"), Conflict);
        assert_eq!(class(Method::DELETE, 409, "policy p is used"), InUse);
        assert_eq!(class(Method::DELETE, 400, "policy p is used"), InUse);
        assert_eq!(class(Method::GET, 404, "x"), NotFound);
        assert_eq!(class(Method::GET, 403, "x"), Unauthorized);
        assert_eq!(class(Method::GET, 423, "x"), Locked);
    }

    #[test]
    fn exchanges_without_an_answer_have_their_class() {
        let of = |error: RestError| error.of(&Method::GET, "v2/config");
        assert_eq!(of(RestError::Timeout(Duration::from_secs(1))).class, CnfErrorClass::Unreachable);
        assert_eq!(of(RestError::TooLarge(1)).class, CnfErrorClass::Malformed);
        let redirect = of(RestError::Redirect(StatusCode::MOVED_PERMANENTLY));
        assert_eq!((redirect.class, redirect.code), (CnfErrorClass::Malformed, Some(301)));
        let login = of(RestError::Login(StatusCode::FORBIDDEN));
        assert_eq!((login.class, login.code), (CnfErrorClass::Unauthorized, Some(403)));
    }
}
