//! Why there is no plane.

/// Why there is no plane.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// The server in this process did not start.
    #[cfg(feature = "embedded")]
    #[error("the server did not start")]
    Server(#[from] machinery_apiserver::StartError),
    /// Its store cannot be opened.
    #[cfg(feature = "embedded")]
    #[error("the store cannot be opened")]
    Store(#[from] machinery_store::OpenError),
    /// There is no way to the cluster.
    #[cfg(feature = "kube")]
    #[error("the client cannot be made")]
    Connect(#[from] machinery_kube::ConnectError),
    /// The kubeconfig cannot be used.
    #[cfg(feature = "kube")]
    #[error("the kubeconfig cannot be used: {reason}")]
    Kubeconfig {
        /// Why not.
        reason: String,
    },
    /// The cluster does not say what it is.
    #[cfg(feature = "kube")]
    #[error("the cluster does not answer: {reason}")]
    Unreachable {
        /// What happened.
        reason: String,
    },
    /// An argument of the program makes no sense.
    #[error("{argument} wants a {wants} behind it")]
    Arguments {
        /// Which.
        argument: &'static str,
        /// What is missing.
        wants: &'static str,
    },
    /// A kind is called what Kubernetes does not allow.
    #[error("this cannot be a kind")]
    Kind(#[from] machinery_objects::KindError),
    /// The cluster does not take the definition of a kind.
    #[error("the definition of {kind} cannot be written: {why}")]
    Definition {
        /// Of which.
        kind: String,
        /// Why.
        why: machinery_objects::WriteError,
    },
    /// The cluster does not serve a kind.
    #[error("{kind} is not served after {seconds} s: {why}")]
    NotServed {
        /// Which.
        kind: String,
        /// How long it was waited for.
        seconds: u64,
        /// What the cluster says.
        why: machinery_objects::ListError,
    },
    /// Another informer has the name.
    #[error(transparent)]
    Name(#[from] machinery_informers::NameTaken),
    /// It was to be said how the informer of a type is, and somebody reads that type already.
    #[error(
        "the informer of {kind} runs already: say what it has before anybody asks for its objects, or make one with Plane::informer"
    )]
    Runs {
        /// Of which.
        kind: String,
    },
    /// Not all ended when the plane was stopped.
    #[error("these did not end within {after:?} after they were told to: {}", .what.join(", "))]
    NotEnded {
        /// What, by name.
        what: Vec<String>,
        /// How long each step was waited for.
        after: std::time::Duration,
    },
    /// An informer of a kind was asked for when the plane had stopped.
    #[error("the plane has stopped")]
    Stopped,
}
