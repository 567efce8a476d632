//! Finalizers: clean-up of external state before an object is deleted.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{
    Fence, NameError, NameRule, Object, Patch, PatchFormat, Preconditions, ResourceVersion, SourceError, Uid,
    WriteError, WriteToken, Writer,
};
use machinery_workqueue::Next;
use serde_json::json;

/// Keeps an object until the external state that it stands for is cleaned up: a switch port, an
/// address, a machine. The counterpart of kube-rs' `finalizer()`.
///
/// The finalizer is added before anything is created, so an object cannot vanish without clean-up.
/// It is removed when the clean-up is done.
pub struct Finalizer<O> {
    name: Arc<str>,
    writer: Arc<dyn Writer<O>>,
}

/// Work to do for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalizerEvent {
    /// The object exists: create or update its external state.
    Apply,
    /// The object is being deleted: clean up, possibly repeatedly. [`Next::Done`] reports
    /// completion.
    Cleanup,
}

/// Result of [`Finalizer::run`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalizerOutcome {
    /// Return value for the reconciler.
    pub next: Next,
    /// Token of the write that added or removed the finalizer, for
    /// [`Run::wrote`](crate::Run::wrote).
    pub token: Option<WriteToken>,
}

/// Error of [`Finalizer::run`].
///
/// It implements `Error` for every displayable `E`, so that `?` converts it to a boxed error also
/// where `E` is a boxed error, which does not implement `Error` itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FinalizerError<E> {
    /// The finalizer cannot be added. Nothing was created.
    Add(WriteError),
    /// The application or the clean-up failed with this error.
    Act(E),
    /// The finalizer cannot be removed. The clean-up is complete.
    Remove(WriteError),
}

/// Next step, from the state of the object. Pure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalizerStep {
    Add,
    Act(FinalizerEvent),
    /// The object is being deleted without this finalizer.
    Nothing,
}

const fn step(is_deleting: bool, is_present: bool) -> FinalizerStep {
    match (is_deleting, is_present) {
        (false, false) => FinalizerStep::Add,
        (false, true) => FinalizerStep::Act(FinalizerEvent::Apply),
        (true, true) => FinalizerStep::Act(FinalizerEvent::Cleanup),
        (true, false) => FinalizerStep::Nothing,
    }
}

impl<O: Object> Finalizer<O> {
    /// Creates a finalizer of this name, which has a prefix as in `example.com/port`.
    ///
    /// # Errors
    /// The name is not a valid finalizer name.
    pub fn new(name: &str, writer: Arc<dyn Writer<O>>) -> Result<Self, NameError> {
        NameRule::LabelKey.check(name)?;
        Ok(Self { name: name.into(), writer })
    }

    /// Performs one step for an object. If the finalizer is missing, adds it and requests the next
    /// run, as the event of an own write would not. Calls `act` with the finalizer present, and
    /// removes the finalizer after a completed clean-up.
    ///
    /// # Errors
    /// The finalizer was not written, or `act` returned an error.
    pub async fn run<A, E>(
        &self,
        object: &O,
        fence: Option<&Fence>,
        act: impl FnOnce(FinalizerEvent) -> A + Send,
    ) -> Result<FinalizerOutcome, FinalizerError<E>>
    where
        A: Future<Output = Result<Next, E>> + Send,
    {
        let is_present = object.finalizers().iter().any(|finalizer| **finalizer == *self.name);
        match step(object.is_deleting(), is_present) {
            FinalizerStep::Nothing => Ok(FinalizerOutcome { next: Next::Done, token: None }),
            FinalizerStep::Add => {
                let token = self.add(object, fence).await.map_err(FinalizerError::Add)?;
                Ok(FinalizerOutcome { next: Next::After(Duration::ZERO), token: Some(token) })
            }
            FinalizerStep::Act(event) => match (event, act(event).await.map_err(FinalizerError::Act)?) {
                (FinalizerEvent::Cleanup, Next::Done) => {
                    match self.remove(object, fence).await {
                        Ok(token) => Ok(FinalizerOutcome { next: Next::Done, token: Some(token) }),
                        // The object is deleted: another client removed the finalizer.
                        Err(WriteError::NotFound) => Ok(FinalizerOutcome { next: Next::Done, token: None }),
                        Err(error) => Err(FinalizerError::Remove(error)),
                    }
                }
                (_, next) => Ok(FinalizerOutcome { next, token: None }),
            },
        }
    }

    /// Appends the finalizer, on the condition that the object is unchanged.
    async fn add(&self, object: &O, fence: Option<&Fence>) -> Result<WriteToken, WriteError> {
        let finalizers: Vec<&str> =
            object.finalizers().iter().map(String::as_str).chain([&*self.name]).collect();
        // A JSON Patch cannot append to an absent list; a merge replaces it, hence the version.
        let body = json!({ "metadata": { "finalizers": finalizers } });
        self.write(object, PatchFormat::Merge, &body, object.version(), fence).await
    }

    /// Removes the finalizer without a condition on the version: `act` may have written the object
    /// itself.
    async fn remove(&self, object: &O, fence: Option<&Fence>) -> Result<WriteToken, WriteError> {
        let index = object.finalizers().iter().position(|finalizer| **finalizer == *self.name);
        let path = format!("/metadata/finalizers/{}", index.unwrap_or_default());
        // The test guards the index: in a list that has changed it is another finalizer.
        let body = json!([
            { "op": "test", "path": path, "value": &*self.name },
            { "op": "remove", "path": path },
        ]);
        self.write(object, PatchFormat::Json, &body, None, fence).await
    }

    async fn write(
        &self,
        object: &O,
        format: PatchFormat,
        body: &serde_json::Value,
        version: Option<ResourceVersion>,
        fence: Option<&Fence>,
    ) -> Result<WriteToken, WriteError> {
        if !self.writer.capabilities().patches {
            return Err(SourceError::Unsupported { what: "patch" }.into());
        }
        let patch = Patch { format, body: body.to_string().into_bytes().into(), status: false };
        // The object comes from a cache: by now its name may belong to another one.
        let uid = object.uid().and_then(Uid::new);
        let only_if = Preconditions { uid, version, fence: fence.cloned() };
        Ok(self.writer.patch(&object.key(), &patch, &only_if).await?.token)
    }
}

impl<E: fmt::Display> fmt::Display for FinalizerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(error) => write!(f, "the finalizer was not added, so nothing was created: {error}"),
            Self::Act(error) => error.fmt(f),
            Self::Remove(error) => {
                write!(f, "the clean-up is complete, but the finalizer was not removed: {error}")
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display + 'static> std::error::Error for FinalizerError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::Act(error) = self else { return None };
        let boxed = (error as &dyn Any).downcast_ref::<Box<dyn std::error::Error + Send + Sync>>();
        boxed.and_then(|error| error.source())
    }
}

impl<O> Clone for Finalizer<O> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), writer: self.writer.clone() }
    }
}

impl<O> fmt::Debug for Finalizer<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finalizer({})", self.name)
    }
}
