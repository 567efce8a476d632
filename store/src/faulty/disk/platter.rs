//! The data of a disk: cached, durable, and the pending changes between them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::super::dice::Dice;

/// Size of a sector, which is written atomically.
pub const SECTOR: usize = 512;

/// Number of a file. Its names may change.
pub(super) type FileNumber = usize;

#[derive(Clone, Default)]
pub(super) struct Platter {
    /// Every file ever created: data of a removed file may reappear in a new one.
    pub(super) files: Vec<FileBytes>,
    pub(super) names: BTreeMap<String, FileNumber>,
    pub(super) durable_names: BTreeMap<String, FileNumber>,
    /// The changes that are not durable, in their order.
    pub(super) pending: Vec<PendingChange>,
}

/// The data of a file. Shared, because a disk is copied for each way to crash.
#[derive(Clone, Default)]
pub(super) struct FileBytes {
    pub(super) cached: Arc<Vec<u8>>,
    pub(super) durable: Arc<Vec<u8>>,
}

/// A change that is not durable.
#[derive(Clone)]
pub(super) enum PendingChange {
    /// The sectors of a file after a write. A cache writes whole sectors: one that persists
    /// includes all earlier writes to it.
    Sectors { file: FileNumber, first: usize, image: Arc<Vec<u8>> },
    /// The name refers to this file; its former name is removed.
    Named { name: String, file: FileNumber, before: Option<String> },
    /// The name is removed.
    Removed { name: String },
}

impl Platter {
    pub(super) fn find(&self, name: &str) -> io::Result<FileNumber> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.names.iter().map(|(name, file)| (name.clone(), self.files[*file].cached.to_vec())).collect()
    }

    /// Returns the bytes of all named files.
    pub(super) fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].cached.len() as u64).sum()
    }

    pub(super) fn put(&mut self, name: &str, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        self.files.push(FileBytes { cached: bytes.clone(), durable: bytes });
        self.names.insert(name.into(), self.files.len() - 1);
        self.durable_names.insert(name.into(), self.files.len() - 1);
    }

    pub(super) fn flip(&mut self, name: &str, bit: usize) {
        let file = self.find(name).unwrap_or_else(|_| panic!("no file {name}"));
        let FileBytes { cached, durable } = &mut self.files[file];
        Arc::make_mut(cached)[bit / 8] ^= 1 << (bit % 8);
        if let Some(byte) = Arc::make_mut(durable).get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
    }

    pub(super) fn create(&mut self, name: &str) -> io::Result<()> {
        if self.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = self.files.len();
        self.files.push(FileBytes::default());
        self.names.insert(name.into(), file);
        self.pending.push(PendingChange::Named { name: name.into(), file, before: None });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.find(from)?;
        self.names.remove(from);
        self.names.insert(to.into(), file);
        self.pending.push(PendingChange::Named { name: to.into(), file, before: Some(from.into()) });
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.find(name)?;
        self.names.remove(name);
        self.pending.push(PendingChange::Removed { name: name.into() });
        Ok(())
    }

    pub(super) fn write(&mut self, file: FileNumber, bytes: &[u8], offset: usize) {
        if bytes.is_empty() {
            return;
        }
        let cached = Arc::make_mut(&mut self.files[file].cached);
        let end = offset + bytes.len();
        // The grown part is written too, with the hole before the bytes.
        let from = offset.min(cached.len()) / SECTOR * SECTOR;
        if cached.len() < end {
            cached.resize(end, 0);
        }
        cached[offset..end].copy_from_slice(bytes);
        let to = end.next_multiple_of(SECTOR).min(cached.len());
        let image = Arc::new(cached[from..to].to_vec());
        self.pending.push(PendingChange::Sectors { file, first: from / SECTOR, image });
    }

    pub(super) fn read(&self, file: FileNumber, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let cached = &self.files[file].cached;
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|offset| cached.get(offset..offset.checked_add(buffer.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    /// Makes a file's data durable.
    pub(super) fn sync(&mut self, file: FileNumber) {
        self.settle(file, || true);
    }

    /// Treats a file's data as durable, although only some sectors are.
    pub(super) fn forget(&mut self, file: FileNumber, dice: &mut Dice) {
        self.settle(file, || dice.coin());
    }

    fn settle(&mut self, file: FileNumber, mut arrives: impl FnMut() -> bool) {
        let pending = std::mem::take(&mut self.pending);
        for pending in pending {
            match &pending {
                PendingChange::Sectors { file: of, first, image } if *of == file => {
                    self.files[file].arrive(*first, image, &mut arrives);
                }
                _ => self.pending.push(pending),
            }
        }
    }

    /// Makes directory changes durable.
    pub(super) fn sync_names(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for pending in pending {
            match pending {
                PendingChange::Sectors { .. } => self.pending.push(pending),
                name => name.name(&mut self.durable_names, true),
            }
        }
    }
}

impl FileBytes {
    /// Makes the sectors of an image durable for which `arrives` returns true.
    pub(super) fn arrive(&mut self, first: usize, image: &[u8], mut arrives: impl FnMut() -> bool) {
        for (at, sector) in image.chunks(SECTOR).enumerate().filter(|_| arrives()) {
            let start = (first + at) * SECTOR;
            let durable = Arc::make_mut(&mut self.durable);
            if durable.len() < start + sector.len() {
                durable.resize(start + sector.len(), 0);
            }
            durable[start..start + sector.len()].copy_from_slice(sector);
        }
    }
}

impl PendingChange {
    /// Applies a directory change. If not `whole`, a renamed file also keeps its old name.
    pub(super) fn name(&self, names: &mut BTreeMap<String, FileNumber>, whole: bool) {
        match self {
            Self::Sectors { .. } => {}
            Self::Removed { name } => drop(names.remove(name)),
            Self::Named { name, file, before } => {
                if let Some(before) = before
                    && whole
                    && names.get(before) == Some(file)
                {
                    names.remove(before);
                }
                names.insert(name.clone(), *file);
            }
        }
    }
}
