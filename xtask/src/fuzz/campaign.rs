//! A target under fire for a while: one thread runs inputs, this one watches it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::attempt::{attempt, be_quiet};
use super::mutate::{Rng, input};
use super::shrink::shrink;
use super::{Target, corpus};
use crate::shell;
use crate::workspace::Workspace;

/// An input that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(10);

const SHRINK_ATTEMPTS: usize = 20_000;

/// An input and the panic it leads to.
struct Find {
    input: Vec<u8>,
    panic: String,
}

/// What the two threads share.
#[derive(Default)]
struct Shared {
    /// How many inputs were begun.
    begun: AtomicU64,
    /// The input of now, for the case that it never ends.
    #[expect(clippy::disallowed_types, reason = "a tool has no loom models to be seen by")]
    current: Mutex<Vec<u8>>,
    /// Time is up.
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

/// Runs `target` on its corpus, and then on what comes of it for `seconds`. True: nothing was found.
pub(super) fn run(workspace: &Workspace, target: &Target, seed: u64, seconds: u64) -> anyhow::Result<bool> {
    let directory = workspace.root.join(target.corpus);
    let entries: Vec<_> = corpus::load(&directory)?.into_iter().map(|(_, input)| input).collect();
    println!("{}: seed {seed}, {} inputs in {}, {seconds} s", target.name, entries.len(), target.corpus);

    be_quiet();
    let shared = Shared::default();
    let find = std::thread::scope(|scope| {
        let (send, done) = channel();
        let worker = || {
            let find = search(target, &entries, seed, &shared);
            send.send(find).ok();
        };
        // Plain threads: a target may block, and nothing here is under simulation.
        scope.spawn(worker);
        watch(target, &directory, &shared, &done, Duration::from_secs(seconds))
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

/// The corpus, then mutations of it, until something panics or it is told to stop.
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

/// Says how far it is, ends it when time is up, and gives up on an input that hangs.
fn watch(
    target: &Target,
    directory: &Path,
    shared: &Shared,
    done: &Receiver<Option<Find>>,
    length: Duration,
) -> anyhow::Result<Option<Find>> {
    let start = shell::now();
    let period = Duration::from_secs(if std::io::stdout().is_terminal() { 1 } else { 10 });
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
            let file = corpus::save(directory, "hang", &input)?;
            println!("{}: an input has run for {} s", target.name, PATIENCE.as_secs());
            println!("{}written to {}", corpus::dump(&input), file.display());
            std::process::exit(1); // the thread that hangs cannot be stopped in any other way
        }
        if spoke.elapsed() >= period {
            let rate = (begun - said) as f64 / spoke.elapsed().as_secs_f64();
            println!("{:>6} s  {begun} inputs, {rate:.0}/s", start.elapsed().as_secs());
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
