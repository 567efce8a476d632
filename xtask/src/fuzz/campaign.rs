//! Fuzzing one target for a time: one thread runs inputs, and this one monitors it.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use machinery_report::Progress;

use super::attempt::attempt;
use super::mutate::{Rng, input};
use super::shrink::shrink;
use super::{Target, corpus};
use crate::shell;
use crate::workspace::Workspace;

/// Timeout of one input; a slower one is reported as a hang.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval in which the rate of inputs is measured.
const RATE_PERIOD: Duration = Duration::from_secs(1);

const SHRINK_ATTEMPTS: usize = 20_000;

/// An input and the panic it leads to.
struct Find {
    input: Vec<u8>,
    panic: String,
}

/// State shared by the two threads.
#[derive(Default)]
struct Shared {
    /// Number of inputs started.
    begun: AtomicU64,
    /// The current input, reported if it hangs.
    #[expect(clippy::disallowed_types, reason = "a tool has no loom models to be seen by")]
    current: std::sync::Mutex<Vec<u8>>,
    /// Set when the time is over.
    stop: AtomicBool,
}

impl Shared {
    fn begin(&self, input: &[u8]) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clear();
        current.extend_from_slice(input);
        self.begun.fetch_add(1, Relaxed);
    }
}

/// Runs `target` on its corpus, then on mutations of it for `seconds`. Returns whether all passed.
pub(super) fn run(workspace: &Workspace, target: &Target, seed: u64, seconds: u64) -> anyhow::Result<bool> {
    let directory = workspace.root.join(target.corpus);
    let entries: Vec<_> = corpus::load(&directory)?.into_iter().map(|(_, input)| input).collect();
    println!("{}: seed {seed}, {} inputs in {}, {seconds} s", target.name, entries.len(), target.corpus);

    let (entries, shared) = (entries.as_slice(), &Shared::default());
    let find = std::thread::scope(|scope| {
        let (send, done) = channel();
        scope.spawn(move || send.send(search(target, entries, seed, shared)).ok());
        watch(workspace, target, shared, &done, Duration::from_secs(seconds))
    })?;
    let Some(find) = find else {
        println!("{}: {} inputs pass", target.name, shared.begun.load(Relaxed));
        return Ok(true);
    };

    println!("{}: found {} bytes that panic; making them fewer", target.name, find.input.len());
    let input = shrink(&find.input, SHRINK_ATTEMPTS, |bytes| attempt(target.run, bytes).is_some());
    let panic = attempt(target.run, &input).unwrap_or(find.panic);
    let file = corpus::save(&directory, "crash", &input)?;
    println!("{panic}");
    report(workspace, target, &file, &input);
    Ok(false)
}

/// Runs the corpus, then mutations of it, until an input panics or the time is over.
fn search(target: &Target, entries: &[Vec<u8>], seed: u64, shared: &Shared) -> Option<Find> {
    let mut rng = Rng::new(seed);
    let mutations =
        std::iter::repeat_with(|| input(&mut rng, entries)).take_while(|_| !shared.stop.load(Relaxed));
    for input in entries.iter().cloned().chain(mutations) {
        shared.begin(&input);
        if let Some(panic) = attempt(target.run, &input) {
            return Some(Find { input, panic });
        }
    }
    None
}

/// Prints progress, stops the search when the time is over, and aborts on an input that hangs.
fn watch(
    workspace: &Workspace,
    target: &Target,
    shared: &Shared,
    done: &Receiver<Option<Find>>,
    length: Duration,
) -> anyhow::Result<Option<Find>> {
    let start = shell::now();
    let mut progress = Progress::endless("");
    let (mut spoke, mut said) = (start, 0);
    let (mut moved, mut seen) = (start, 0);
    loop {
        match done.recv_timeout(Duration::from_millis(100)) {
            Ok(find) => return Ok(find),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let begun = shared.begun.load(Relaxed);
        if begun != seen {
            (moved, seen) = (shell::now(), begun);
        } else if moved.elapsed() >= PATIENCE {
            let input = shared.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let file = corpus::save(&workspace.root.join(target.corpus), "hang", &input)?;
            progress.line(&format!("{}: an input has run for {} s", target.name, PATIENCE.as_secs()));
            report(workspace, target, &file, &input);
            std::process::exit(1); // the thread that hangs cannot be stopped in any other way
        }
        if spoke.elapsed() >= RATE_PERIOD {
            let rate = (begun - said) as f64 / spoke.elapsed().as_secs_f64();
            progress.message(&format!("{begun} inputs, {rate:.0}/s"));
            (spoke, said) = (shell::now(), begun);
        }
        if start.elapsed() >= length {
            shared.stop.store(true, Relaxed);
        }
    }
}

fn report(workspace: &Workspace, target: &Target, file: &Path, input: &[u8]) {
    let file = file.strip_prefix(&workspace.root).unwrap_or(file).display();
    print!("{}", corpus::dump(input));
    println!("{} bytes in {file}; again, with a backtrace:", input.len());
    println!("    cargo xtask fuzz {} --replay {file}", target.name);
    println!("commit the file with the repair: `cargo xtask test` replays it from then on");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_find_is_made_short_and_kept() {
        let root = std::env::temp_dir().join(format!("xtask-campaign-{}", std::process::id()));
        let workspace = Workspace { root: root.clone(), target: root.clone(), packages: Vec::new() };
        let target =
            Target { name: "fragile", corpus: "corpus", run: |bytes| assert!(!bytes.contains(&0xff)) };

        let held = run(&workspace, &target, 1, 60);
        let kept = corpus::load(&root.join(target.corpus));
        std::fs::remove_dir_all(&root).ok();

        assert!(!held.expect("the directory can be written because it is ours"));
        let kept: Vec<_> = kept.expect("it was just written").into_iter().map(|(_, input)| input).collect();
        assert_eq!(kept, [[0xff]]);
    }
}
