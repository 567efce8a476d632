//! Objects that do not go before what they stand for has.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use machinery_objects::{
    Fence, NameError, NameRule, Object, Patch, PatchFormat, Preconditions, ResourceVersion, SourceError, Uid,
    WriteError, WriteToken, Writer,
};
use machinery_workqueue::Next;
use serde_json::json;

/// Keeps objects from going before what they stand for has gone: a port of a switch, an address, a machine.
///
/// The finalizer is written first, and what it is for is made after that: so nothing is ever made for an object that could go without
/// a word. It is taken away when what it is for is gone.
pub struct Finalizer<O> {
    name: Arc<str>,
    writer: Arc<dyn Writer<O>>,
}

/// What there is to do for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalizerEvent {
    /// It is there: make what it stands for.
    Apply,
    /// It is to go: take that away, however often. [`Next::Done`] says that it is gone.
    Cleanup,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalizerOutcome {
    /// What the reconcile may return.
    pub next: Next,
    /// What was written of the finalizer, if something was: for [`Run::wrote`](crate::Run::wrote).
    pub token: Option<WriteToken>,
}

/// Why it did not come to that.
///
/// It is an error whatever `E` is that can be shown: so `?` makes a boxed error of it, also where `E` is one, which is none by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FinalizerError<E> {
    /// The finalizer cannot be written. Nothing was made.
    Add(WriteError),
    /// What it is for cannot be made, or taken away: this says why.
    Act(E),
    /// The finalizer cannot be taken away. What it was for is gone.
    Remove(WriteError),
}

/// What to do next. Pure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalizerStep {
    Add,
    Act(FinalizerEvent),
    /// It goes without us.
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
    /// The finalizer of this name, which has a prefix as in `example.com/port`.
    ///
    /// # Errors
    /// It is no name for one.
    pub fn new(name: &str, writer: Arc<dyn Writer<O>>) -> Result<Self, NameError> {
        NameRule::LabelKey.check(name)?;
        Ok(Self { name: name.into(), writer })
    }

    /// One step of an object's life. A finalizer that is not there is written, and nothing else is done: the event of that brings the object back.
    /// What is to be done is called when it is there, and when the object is to go; after that the finalizer is taken away.
    ///
    /// # Errors
    /// What was to be written was not, or what was to be done returned an error.
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
                Ok(FinalizerOutcome { next: Next::Done, token: Some(token) })
            }
            FinalizerStep::Act(event) => match (event, act(event).await.map_err(FinalizerError::Act)?) {
                (FinalizerEvent::Cleanup, Next::Done) => {
                    match self.remove(object, fence).await {
                        Ok(token) => Ok(FinalizerOutcome { next: Next::Done, token: Some(token) }),
                        // It has gone, as somebody else took the finalizer away.
                        Err(WriteError::NotFound) => Ok(FinalizerOutcome { next: Next::Done, token: None }),
                        Err(error) => Err(FinalizerError::Remove(error)),
                    }
                }
                (_, next) => Ok(FinalizerOutcome { next, token: None }),
            },
        }
    }

    /// Writes it behind those of others, if the object is as it was read.
    async fn add(&self, object: &O, fence: Option<&Fence>) -> Result<WriteToken, WriteError> {
        let finalizers: Vec<&str> =
            object.finalizers().iter().map(String::as_str).chain([&*self.name]).collect();
        let body = json!({ "metadata": { "finalizers": finalizers } });
        self.write(object, PatchFormat::Merge, &body, object.version(), fence).await
    }

    /// Takes it away, whatever else was written of the object meanwhile, as by what was done.
    async fn remove(&self, object: &O, fence: Option<&Fence>) -> Result<WriteToken, WriteError> {
        let index = object.finalizers().iter().position(|finalizer| **finalizer == *self.name);
        let path = format!("/metadata/finalizers/{}", index.unwrap_or_default());
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
        let uid = object.uid().and_then(Uid::new);
        let only_if = Preconditions { uid, version, fence: fence.cloned() };
        Ok(self.writer.patch(&object.key(), &patch, &only_if).await?.token)
    }
}

impl<E: fmt::Display> fmt::Display for FinalizerError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(error) => write!(f, "the finalizer was not written, so nothing was made: {error}"),
            Self::Act(error) => error.fmt(f),
            Self::Remove(error) => {
                write!(f, "what the object stands for is gone, but its finalizer was not taken away: {error}")
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
