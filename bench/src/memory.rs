//! Memory of this process: an allocator that counts live bytes, with one atomic addition per
//! allocation.

use cap::Cap;
use mimalloc::MiMalloc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// Returns the live bytes.
pub(crate) fn live() -> usize {
    ALLOCATOR.allocated()
}

/// Samples [`live`] twice per millisecond.
pub(crate) struct Peak {
    stop: Arc<AtomicBool>,
    watcher: JoinHandle<usize>,
}

impl Peak {
    pub(crate) fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let watcher = std::thread::spawn({
            let stop = stop.clone();
            move || {
                let mut peak = live();
                while !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_micros(500));
                    peak = peak.max(live());
                }
                peak
            }
        });
        Self { stop, watcher }
    }

    /// Stops sampling and returns the maximum.
    pub(crate) fn finish(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.watcher.join().expect("the watcher only loads and sleeps")
    }
}
