//! The [`Files`] port of the faulty disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, Ordering};

use super::handle::{FaultyDisk, State};
use super::plan::{DiskCall, FaultEffect};
use super::platter::{FileNumber, Platter};
use crate::disk::LOCK;
use crate::files::{File, FileId, Files, HeldLock};

impl FaultyDisk {
    /// Returns the effect planned for a call. Waits at a gate without holding a lock.
    fn meet(&self, call: DiskCall, name: &str) -> io::Result<Option<FaultEffect>> {
        let effect = self.0.lock().plan.meet(call, name)?;
        match effect {
            Some(FaultEffect::Hold(gate)) => {
                gate.0.pass();
                self.0.lock().plan.check()?;
                Ok(None)
            }
            other => Ok(other),
        }
    }

    /// Changes the directory, subject to the plan.
    fn change(
        &self,
        call: DiskCall,
        name: &str,
        change: impl FnOnce(&mut Platter) -> io::Result<()>,
    ) -> io::Result<()> {
        let effect = self.meet(call, name)?;
        let mut state = self.0.lock();
        match effect {
            None => change(&mut state.platter),
            Some(FaultEffect::Lie) => {
                let before = state.platter.pending.len();
                let done = change(&mut state.platter);
                state.platter.pending.truncate(before);
                done
            }
            Some(other) => Err(other.error()),
        }
    }

    fn look(&self, call: DiskCall, name: &str) -> io::Result<Option<FaultEffect>> {
        match self.meet(call, name)? {
            Some(effect @ (FaultEffect::Fail(_) | FaultEffect::Short(..) | FaultEffect::Forget(_))) => {
                Err(effect.error())
            }
            other => Ok(other),
        }
    }

    fn handle(&self, name: &str) -> io::Result<Box<dyn File>> {
        let number = self.0.lock().platter.find(name)?;
        Ok(Box::new(FaultyFile { disk: self.clone(), number, holds: AtomicBool::new(false) }))
    }
}

impl Files for FaultyDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.change(DiskCall::Create, name, |platter| platter.create(name))?;
        self.handle(name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.look(DiskCall::Open, name)?;
        self.handle(name)
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.look(DiskCall::OpenToRead, name)?;
        self.handle(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(DiskCall::Rename, from, |platter| platter.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(DiskCall::Remove, name, |platter| platter.remove(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.look(DiskCall::List, "")?;
        Ok(self.0.lock().platter.names.keys().cloned().collect())
    }

    fn sync(&self) -> io::Result<()> {
        match self.meet(DiskCall::SyncNames, "")? {
            None => self.0.lock().platter.sync_names(),
            Some(FaultEffect::Lie) => {}
            Some(other) => return Err(other.error()),
        }
        Ok(())
    }

    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.look(DiskCall::Lock, "")?;
        let mut state = self.0.lock();
        if std::mem::replace(&mut state.locked, true) {
            return Ok(None);
        }
        Ok(Some(Box::new(FaultyLock { state: self.0.clone(), number: state.lock_file })))
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        let state = self.0.lock();
        let number = if name == LOCK { state.lock_file } else { state.platter.find(name)? as u64 };
        Ok(FileId { device: u64::from(name == LOCK), number })
    }

    fn salt(&self) -> io::Result<u64> {
        Ok(self.0.lock().dice.roll())
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("faulty").join(name)
    }
}

/// The lock on the directory.
struct FaultyLock {
    state: Arc<Mutex<State>>,
    /// The number of its lock file.
    number: u64,
}

impl HeldLock for FaultyLock {
    fn id(&self) -> FileId {
        FileId { device: 1, number: self.number }
    }
}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        // Another lock file may be locked by another store.
        if state.lock_file == self.number {
            state.locked = false;
        }
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    number: FileNumber,
    /// Whether this handle has the lock of the file.
    holds: AtomicBool,
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        if self.holds.load(Ordering::Relaxed) {
            self.disk.0.lock().locked_files.remove(&self.number);
        }
    }
}

impl FaultyFile {
    /// Returns the current name; empty if the file was removed.
    fn name(&self) -> String {
        let state = self.disk.0.lock();
        let name = state.platter.names.iter().find(|(_, number)| **number == self.number);
        name.map(|(name, _)| name.clone()).unwrap_or_default()
    }
}

impl File for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let effect = self.disk.look(DiskCall::Read, &self.name())?;
        self.disk.0.lock().platter.read(self.number, buffer, offset)?;
        if let Some(FaultEffect::Flip(bit)) = effect
            && let Some(byte) = buffer.get_mut(bit / 8)
        {
            *byte ^= 1 << (bit % 8);
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let effect = self.disk.meet(DiskCall::Write, &self.name())?;
        let state = &mut *self.disk.0.lock();
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let room = state.room(self.number, offset, bytes.len());
        let (fits, error) = match effect {
            Some(FaultEffect::Short(most, kind)) => (most.min(bytes.len()), Some(kind)),
            Some(FaultEffect::Fail(kind) | FaultEffect::Forget(kind)) => (0, Some(kind)),
            _ => (bytes.len(), None),
        };
        let pending = state.platter.pending.len();
        state.platter.write(self.number, &bytes[..fits.min(room)], offset);
        if matches!(effect, Some(FaultEffect::Lie)) {
            state.platter.pending.truncate(pending);
        }
        match error {
            Some(kind) => Err(kind.into()),
            None if room < fits => {
                state.plan.count(DiskCall::Write, "full");
                Err(io::ErrorKind::StorageFull.into())
            }
            None => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let effect = self.disk.meet(DiskCall::Sync, &self.name())?;
        let state = &mut *self.disk.0.lock();
        match effect {
            Some(FaultEffect::Lie) => Ok(()),
            Some(FaultEffect::Forget(kind)) => {
                state.platter.forget(self.number, &mut state.dice);
                Err(kind.into())
            }
            Some(FaultEffect::Fail(kind) | FaultEffect::Short(_, kind)) => Err(kind.into()),
            _ => {
                state.platter.sync(self.number);
                Ok(())
            }
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.disk.0.lock().plan.check()?;
        Ok(self.disk.0.lock().platter.files[self.number].cached.len() as u64)
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId { device: 0, number: self.number as u64 })
    }

    fn lock(&self) -> io::Result<bool> {
        let locks = self.disk.0.lock().locked_files.insert(self.number);
        if locks {
            self.holds.store(true, Ordering::Relaxed);
        }
        Ok(locks || self.holds.load(Ordering::Relaxed))
    }
}

impl State {
    /// Returns the number of bytes that a write can store.
    fn room(&self, file: FileNumber, offset: usize, bytes: usize) -> usize {
        let Some(limit) = self.plan.limit else { return bytes };
        let free = usize::try_from(limit.saturating_sub(self.platter.used())).unwrap_or(usize::MAX);
        let end = self.platter.files[file].cached.len().saturating_add(free);
        end.saturating_sub(offset).min(bytes)
    }
}

impl FaultEffect {
    fn error(&self) -> io::Error {
        match self {
            Self::Fail(kind) | Self::Short(_, kind) | Self::Forget(kind) => (*kind).into(),
            Self::Lie | Self::Flip(_) | Self::Hold(_) => io::Error::other("this effect is not for this call"),
        }
    }
}
