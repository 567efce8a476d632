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
    /// The server cannot listen.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Listen(#[from] machinery_apiserver::ListenError),
    /// A component needs a socket.
    #[error("the component {component} connects to a socket: add PlaneBuilder::serve")]
    NotServing {
        /// Name of the component.
        component: String,
    },
    /// A plane on a cluster serves no socket.
    #[error(
        "a plane on a cluster has no server of its own: use machinery::embedded, or remove PlaneBuilder::serve"
    )]
    NoServer,
    /// A role cannot be written.
    #[error("the role {role} cannot be written: {why}")]
    Role {
        /// Name of the role.
        role: String,
        /// The error of the write.
        why: machinery_objects::WriteError,
    },
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
        /// The error of the write.
        why: machinery_objects::WriteError,
    },
    /// The cluster has an older definition of a kind, which cannot be updated to that of this
    /// program.
    #[error(
        "the definition of {kind} on the server cannot be updated, as stored objects or clients would become invalid: \
         {}; serve a further version, or delete the definition with its objects",
        .differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Incompatible {
        /// The kind.
        kind: String,
        /// The incompatible differences.
        differences: Vec<crate::DefinitionDifference>,
    },
    /// The definition of a kind cannot be read, so that it cannot be updated.
    #[error(
        "the definition of {kind} cannot be compared, as PlaneBuilder::update_definitions requests: {why}; permit \
         `get` of customresourcedefinitions in apiextensions.k8s.io"
    )]
    Unreadable {
        /// The kind.
        kind: String,
        /// The error of the read.
        why: machinery_objects::ListError,
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
    /// A text is no name of a kind.
    #[error(transparent)]
    KindName(#[from] super::runtime_kind::KindNameError),
    /// The scopes of locks and owners do not fit.
    #[error(transparent)]
    Locks(#[from] machinery_controllers::LockScopeError),
    /// The server does not serve a kind that the program uses.
    #[error(
        "{kind} is not served ({why}): pass the type to PlaneBuilder::kinds, as in `.kinds::<({name},)>()`, or \
         create its definition first"
    )]
    Undeclared {
        /// The resource: `hosts.example.com`.
        kind: String,
        /// The name of the kind.
        name: String,
        /// The error of the server.
        why: machinery_objects::SourceError,
    },
    /// The objects of a kind cannot be selected by a field.
    #[error(
        "{kind} cannot be selected by {by} ({why}): list the field in `selectableFields` of the definition, with \
         `kinds!` by `selectable = \".{by}\"`"
    )]
    NotSelectable {
        /// The resource: `hosts.example.com`.
        kind: String,
        /// The field or label.
        by: String,
        /// The error of the server.
        why: machinery_objects::SourceError,
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
