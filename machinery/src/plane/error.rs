//! Errors of a plane.

/// Error of starting, using or stopping a plane.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// The embedded server did not start.
    #[cfg(feature = "embedded")]
    #[error("the server did not start")]
    Server(#[from] machinery_apiserver::StartError),
    /// The store cannot be opened.
    #[cfg(feature = "embedded")]
    #[error("the store cannot be opened")]
    Store(#[from] machinery_store::OpenError),
    /// The client cannot be created.
    #[cfg(feature = "kube")]
    #[error("the client cannot be created")]
    Connect(#[from] machinery_kube::ConnectError),
    /// The kubeconfig is invalid.
    #[cfg(feature = "kube")]
    #[error("the kubeconfig cannot be used: {reason}")]
    Kubeconfig {
        /// Reason, for users.
        reason: String,
    },
    /// The cluster does not respond.
    #[cfg(feature = "kube")]
    #[error("the cluster does not answer: {reason}")]
    Unreachable {
        /// Reason, for users.
        reason: String,
    },
    /// An argument of the program has no value.
    #[error("{argument} requires a {wants}")]
    Arguments {
        /// The argument.
        argument: &'static str,
        /// The kind of value it requires.
        wants: &'static str,
    },
    /// The kind is invalid.
    #[error("invalid kind")]
    Kind(#[from] machinery_objects::KindError),
    /// The cluster rejected the definition of a kind.
    #[error("the definition of {kind} cannot be written: {why}")]
    Definition {
        /// The kind.
        kind: String,
        /// The error of creating the definition.
        why: machinery_objects::WriteError,
    },
    /// The cluster does not serve a kind.
    #[error("{kind} is not served after {seconds} s: {why}")]
    NotServed {
        /// The kind.
        kind: String,
        /// The timeout in seconds.
        seconds: u64,
        /// The error of the last list.
        why: machinery_objects::ListError,
    },
    /// Another informer has the name.
    #[error(transparent)]
    Name(#[from] machinery_informers::NameTaken),
    /// The shared informer of a type is running already and cannot be configured.
    #[error(
        "the informer of {kind} is running already: configure it before its first use, or create another one with Plane::informer"
    )]
    Runs {
        /// The kind.
        kind: String,
    },
    /// Tasks did not end within the shutdown timeout.
    #[error("these tasks did not end within {after:?} of the shutdown: {}", .what.join(", "))]
    NotEnded {
        /// Names of the tasks.
        what: Vec<String>,
        /// Timeout of each step.
        after: std::time::Duration,
    },
    /// A declared field is not a path of names.
    #[error("`{text}` is no path of a field: write names with dots between them, such as status.address")]
    FieldPath {
        /// The text.
        text: String,
    },
    /// Two controllers of the plane declare one field.
    #[error(
        "{field} of {kind} is written by the controller {other} already, so {controller} would undo its writes: let one of them write the field"
    )]
    FieldWritten {
        /// The field.
        field: String,
        /// The kind of the objects.
        kind: String,
        /// The controller that was not built.
        controller: String,
        /// The controller that has declared the field before.
        other: String,
    },
    /// The plane has stopped.
    #[error("the plane has stopped")]
    Stopped,
}
