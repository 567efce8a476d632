//! The plan of faults: calls and their effects.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::super::gate::{Door, Gate};

/// A call to the disk.
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

/// The effect of a fault on a call.
#[derive(Clone, Debug)]
pub enum FaultEffect {
    /// Fails without effect.
    Fail(io::ErrorKind),
    /// A write fails after this many bytes.
    Short(usize, io::ErrorKind),
    /// A sync fails and drops the dirty state of its data, except for some sectors: a later sync
    /// succeeds, and a power cut still loses the data, which is readable until then.
    Forget(io::ErrorKind),
    /// Reports success, but the change is never durable, whatever is synced later.
    Lie,
    /// A read returns this bit of its buffer flipped.
    Flip(usize),
    /// Waits at a gate, then executes.
    #[doc(hidden)]
    Hold(GateHandle),
}

/// The side of a gate at which calls wait.
#[derive(Clone, Debug)]
pub struct GateHandle(pub(super) Arc<Door>);

/// A fault: an effect on matching calls.
#[derive(Clone, Debug)]
pub struct DiskFault {
    call: DiskCall,
    part: String,
    skip: u64,
    times: u64,
    effect: FaultEffect,
}

impl DiskFault {
    /// Applies `effect` to the next `call`.
    #[must_use]
    pub const fn new(call: DiskCall, effect: FaultEffect) -> Self {
        Self { call, part: String::new(), skip: 0, times: 1, effect }
    }

    /// Fails the next `call` with an error of `kind`.
    #[must_use]
    pub const fn error(call: DiskCall, kind: io::ErrorKind) -> Self {
        Self::new(call, FaultEffect::Fail(kind))
    }

    /// Holds the next `call` at `gate`.
    #[must_use]
    pub fn hold(call: DiskCall, gate: &Gate) -> Self {
        Self::new(call, FaultEffect::Hold(GateHandle(gate.door())))
    }

    /// Skips the first `calls` matching calls.
    #[must_use]
    pub const fn after(mut self, calls: u64) -> Self {
        self.skip = calls;
        self
    }

    /// Applies to every later matching call.
    #[must_use]
    pub const fn for_ever(mut self) -> Self {
        self.times = u64::MAX;
        self
    }

    /// Matches only files with `part` in their names. A rename has the old name.
    #[must_use]
    pub fn of(mut self, part: impl Into<String>) -> Self {
        self.part = part.into();
        self
    }

    /// Returns the effect if the fault is due.
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
    /// Returns whether the call is a step: it changes something or makes it durable.
    const fn is_step(self) -> bool {
        !matches!(self, Self::Read | Self::Open | Self::OpenToRead | Self::List | Self::Lock)
    }

    /// Returns whether a read-only file system refuses the call.
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

/// The planned faults, and those that happened.
#[derive(Default)]
pub(super) struct FaultPlan {
    pub(super) faults: Vec<DiskFault>,
    /// The step at which the disk stops, and the bytes it writes if it is a write.
    pub(super) stop: Option<(usize, usize)>,
    pub(super) stopped: bool,
    pub(super) limit: Option<u64>,
    pub(super) read_only: bool,
    pub(super) trace: Vec<(DiskCall, String)>,
    pub(super) fired: BTreeMap<(DiskCall, &'static str), u64>,
}

impl FaultPlan {
    /// Returns the effect on a call, or `None` to execute it.
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

    /// Fails if the disk is stopped.
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
