//! Which call fails, and how.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::super::gate::{Door, Gate};

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskCall {
    /// [`File::write_at`](crate::files::File::write_at).
    Write,
    /// [`File::sync`](crate::files::File::sync).
    Sync,
    /// [`Files::create`](crate::files::Files::create).
    Create,
    /// [`Files::rename`](crate::files::Files::rename).
    Rename,
    /// [`Files::remove`](crate::files::Files::remove).
    Remove,
    /// [`Files::sync`](crate::files::Files::sync).
    SyncNames,
    /// [`File::read_at`](crate::files::File::read_at).
    Read,
    /// [`Files::open`](crate::files::Files::open).
    Open,
    /// [`Files::open_to_read`](crate::files::Files::open_to_read).
    OpenToRead,
    /// [`Files::list`](crate::files::Files::list).
    List,
    /// [`Files::lock`](crate::files::Files::lock).
    Lock,
}

/// What happens to a call.
#[derive(Clone, Debug)]
pub enum FaultEffect {
    /// It fails, and has done nothing.
    Fail(io::ErrorKind),
    /// A write fails after so many bytes.
    Short(usize, io::ErrorKind),
    /// A sync fails, and what it should have made durable is forgotten, but for some sectors: a later sync succeeds, and
    /// it is lost all the same, though it can be read until then.
    Forget(io::ErrorKind),
    /// It says that it is done, and is, until the power is cut; no later sync helps.
    Lie,
    /// A read yields this bit, counted over what was asked for, turned over.
    Flip(usize),
    /// It waits at a gate, and is done then.
    #[doc(hidden)]
    Hold(GateHandle),
}

/// The side of a gate where calls wait.
#[derive(Clone, Debug)]
pub struct GateHandle(pub(super) Arc<Door>);

/// A fault: an effect on the calls that it is about.
#[derive(Clone, Debug)]
pub struct DiskFault {
    call: DiskCall,
    part: String,
    skip: u64,
    times: u64,
    effect: FaultEffect,
}

impl DiskFault {
    /// The next such call fails so.
    #[must_use]
    pub const fn new(call: DiskCall, effect: FaultEffect) -> Self {
        Self { call, part: String::new(), skip: 0, times: 1, effect }
    }

    /// The next such call fails with an error of this kind.
    #[must_use]
    pub const fn error(call: DiskCall, kind: io::ErrorKind) -> Self {
        Self::new(call, FaultEffect::Fail(kind))
    }

    /// The next such call waits at `gate`.
    #[must_use]
    pub fn hold(call: DiskCall, gate: &Gate) -> Self {
        Self::new(call, FaultEffect::Hold(GateHandle(gate.door())))
    }

    /// Lets `calls` of them pass before.
    #[must_use]
    pub const fn after(mut self, calls: u64) -> Self {
        self.skip = calls;
        self
    }

    /// Every such call from then on.
    #[must_use]
    pub const fn for_ever(mut self) -> Self {
        self.times = u64::MAX;
        self
    }

    /// Only calls about files whose names contain `part`. What is renamed has the name it had.
    #[must_use]
    pub fn of(mut self, part: impl Into<String>) -> Self {
        self.part = part.into();
        self
    }

    /// Its effect, if it is its turn.
    fn meet(&mut self, call: DiskCall, name: &str) -> Option<FaultEffect> {
        if self.call != call || !name.contains(&self.part) || self.times == 0 {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times -= 1;
        Some(self.effect.clone())
    }
}

impl DiskCall {
    /// Whether it changes something, or makes it durable: whether it is a step.
    const fn is_step(self) -> bool {
        !matches!(self, Self::Read | Self::Open | Self::OpenToRead | Self::List | Self::Lock)
    }

    /// Whether a file system that is mounted read-only refuses it.
    const fn needs_write(self) -> bool {
        !matches!(self, Self::Read | Self::OpenToRead | Self::List | Self::Sync | Self::SyncNames)
    }
}

impl FaultEffect {
    const fn name(&self) -> &'static str {
        match self {
            Self::Fail(_) => "fail",
            Self::Short(..) => "short",
            Self::Forget(_) => "forget",
            Self::Lie => "lie",
            Self::Flip(_) => "flip",
            Self::Hold(_) => "hold",
        }
    }
}

/// All that is to go wrong, and what did.
#[derive(Default)]
pub(super) struct FaultPlan {
    pub(super) faults: Vec<DiskFault>,
    /// The step that is not taken any more, and how much of it is if it is a write.
    pub(super) stop: Option<(usize, usize)>,
    pub(super) stopped: bool,
    pub(super) limit: Option<u64>,
    pub(super) read_only: bool,
    pub(super) trace: Vec<(DiskCall, String)>,
    pub(super) fired: BTreeMap<(DiskCall, &'static str), u64>,
}

impl FaultPlan {
    /// What is to happen to this call; nothing, if it is simply to be done.
    pub(super) fn meet(&mut self, call: DiskCall, name: &str) -> io::Result<Option<FaultEffect>> {
        self.check()?;
        if call.is_step() {
            if let Some((step, bytes)) = self.stop
                && step == self.trace.len()
            {
                self.stopped = true;
                return Ok(Some(FaultEffect::Short(bytes, io::ErrorKind::Other)));
            }
            self.trace.push((call, name.to_owned()));
        }
        if self.read_only && call.needs_write() {
            self.count(call, "read-only");
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let effect = self.faults.iter_mut().find_map(|fault| fault.meet(call, name));
        if let Some(effect) = &effect {
            self.count(call, effect.name());
        }
        Ok(effect)
    }

    /// Fails if the power is off.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.stopped {
            true => Err(io::Error::other("the power is off")),
            false => Ok(()),
        }
    }

    pub(super) fn count(&mut self, call: DiskCall, effect: &'static str) {
        *self.fired.entry((call, effect)).or_default() += 1;
    }
}
