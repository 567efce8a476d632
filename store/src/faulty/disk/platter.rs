//! What a disk holds: cached, durable, and between them what a power cut may take.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::super::dice::Dice;

/// How many bytes a disk writes whole or not at all.
pub const SECTOR: usize = 512;

/// A file by its number. Its names may change.
pub(super) type FileNumber = usize;

#[derive(Clone, Default)]
pub(super) struct Platter {
    /// Every file there ever was: what a removed one held may turn up again in a new one.
    pub(super) files: Vec<FileBytes>,
    pub(super) names: BTreeMap<String, FileNumber>,
    pub(super) durable_names: BTreeMap<String, FileNumber>,
    /// In the order in which it was done.
    pub(super) pending: Vec<PendingChange>,
}

/// One file's bytes. Shared, because a disk is copied for each way to crash.
#[derive(Clone, Default)]
pub(super) struct FileBytes {
    pub(super) cached: Arc<Vec<u8>>,
    pub(super) durable: Arc<Vec<u8>>,
}

/// What is done, and not durable.
#[derive(Clone)]
pub(super) enum PendingChange {
    /// Sectors of a file as they were right after a write. A cache writes sectors whole: one that arrives brings with it
    /// all that was written to it before.
    Sectors { file: FileNumber, first: usize, image: Arc<Vec<u8>> },
    /// The name means this file; if it had another name, that one is gone.
    Named { name: String, file: FileNumber, before: Option<String> },
    /// The name means nothing.
    Removed { name: String },
}

impl Platter {
    pub(super) fn find(&self, name: &str) -> io::Result<FileNumber> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.names.iter().map(|(name, file)| (name.clone(), self.files[*file].cached.to_vec())).collect()
    }

    /// FileBytes of all files that have a name.
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
        // What a file grows by is written with it, also the hole before the bytes.
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

    /// Makes a file's bytes durable.
    pub(super) fn sync(&mut self, file: FileNumber) {
        self.settle(file, || true);
    }

    /// Takes a file's bytes for durable, though only some sectors are.
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

    /// Makes names durable.
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
    /// Makes those sectors of an image durable that `arrives` says.
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
    /// Does to the names what this did. If it is not `whole`, a file that got another name keeps the old one, too.
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
