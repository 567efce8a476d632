//! Directories that are foreign, damaged or unusable: each is an error that names the path and the
//! remedy, and no file is changed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use machinery_store::faulty::{self, Dice, PowerLoss};
use machinery_store::{Backend, CommitError, Disk, DiskOptions, OpenError, Transaction};

use crate::crash::options;
use crate::crash_witness::{At, Witness};
use crate::flips;

/// Returns the files of a directory with their content.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { b"not a file".to_vec() };
            (path.file_name().unwrap().to_str().unwrap().to_owned(), bytes)
        })
        .collect()
}

/// Opens a directory, which must fail without a change.
fn refused(directory: &Path) -> OpenError {
    let before = contents(directory);
    let error = Disk::open(directory, options()).expect_err("it does not open");
    assert_eq!(contents(directory), before, "{error}");
    says(&error, directory);
    error
}

/// Asserts that a message names a path and a remedy.
fn says(error: &OpenError, path: &Path) {
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    let ways = ["name ", "stop ", "restore ", "newer version", "may write", "free some"];
    assert!(ways.iter().any(|way| text.contains(way)), "{text}");
}

/// Makes a closed store in a real directory.
async fn real_store(directory: &Path) -> Witness {
    let (store, mut witness) = (Disk::open(directory, options()).unwrap(), Witness::new());
    for _ in 0..10 {
        witness.write_next(&store).await;
    }
    store.close().await.unwrap();
    witness
}

#[tokio::test]
async fn a_directory_of_something_else_is_not_a_store() {
    let place = tempfile::tempdir().unwrap();
    for name in ["notes.txt", "log", "log-1", "checkpoint-x", "log-000000000000000g"] {
        let directory = place.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join(name), "what somebody needs").unwrap();
        assert!(matches!(refused(&directory), OpenError::NotAStore { .. }), "{name}");
    }
    // A valid name with invalid content.
    for name in ["log-0000000000000001", "checkpoint-0000000000000001"] {
        for bytes in [&b""[..], b"m", b"machsto", b"#!/bin/sh\n", &[0; 4096]] {
            let directory = tempfile::tempdir_in(place.path()).unwrap();
            std::fs::write(directory.path().join(name), bytes).unwrap();
            let error = refused(directory.path());
            assert!(matches!(error, OpenError::NotAStore { .. } | OpenError::Damaged { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn a_directory_that_is_a_file_or_cannot_be_made() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for path in [&file, &file.join("below")] {
        let error = Disk::open(path, options()).unwrap_err();
        assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
        says(&error, path);
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[tokio::test]
async fn a_store_of_a_newer_format() {
    let place = tempfile::tempdir().unwrap();
    real_store(place.path()).await;
    let log = contents(place.path()).into_keys().find(|name| name.starts_with("log-")).unwrap();
    let path = place.path().join(log);
    let mut bytes = std::fs::read(&path).unwrap();
    // The format's offset never changes; everything else may, including the checksum.
    bytes[8..12].copy_from_slice(&7_u32.to_le_bytes());
    bytes[12..].fill(0xee);
    std::fs::write(&path, bytes).unwrap();
    let error = refused(place.path());
    assert!(matches!(&error, OpenError::NewerFormat { path: of, found: 7, .. } if *of == path), "{error}");
}

/// Truncates each file to each length, and removes it.
async fn cut_short(disk: &faulty::FaultyDisk, witness: &Witness, what: &str) {
    let (mut found, mut harmless) = (0, BTreeMap::<String, usize>::new());
    let files = disk.contents();
    for (name, bytes) in &files {
        for length in 0..bytes.len() {
            let cut = disk.kill();
            cut.put(name, &bytes[..length]);
            let before = cut.contents();
            match flips::open(&cut) {
                Ok(store) => {
                    let _at = At(|| format!("{what}: {name} cut to {length} of {} bytes", bytes.len()));
                    witness.clone().check(&store).await;
                    *harmless.entry(name.clone()).or_default() += 1;
                }
                Err(error) => {
                    assert_eq!(cut.contents(), before, "{error}");
                    says(&error, &Path::new("faulty").join(name));
                    found += 1;
                }
            }
        }
    }
    println!("{what}: {found} found, harmless {harmless:?}");
    assert!(found > 1000);
}

#[tokio::test]
async fn a_truncated_file_of_a_closed_store() {
    let (disk, store, witness) = flips::store().await;
    store.close().await.unwrap();
    cut_short(&disk.crash(PowerLoss::Everything, 0), &witness, "closed").await;
}

#[tokio::test]
async fn a_truncated_file_of_a_killed_store() {
    let (disk, _store, witness) = flips::store().await;
    cut_short(&disk.kill(), &witness, "killed").await;
}

/// A transaction longer than a segment has a segment of its own.
#[tokio::test]
async fn a_truncated_log_with_one_long_transaction() {
    let (disk, store, mut witness) = flips::store().await;
    let transaction = Transaction::new().put("long", vec![b'x'; 2000]);
    assert!(witness.answered(transaction.clone(), store.commit(transaction).await));
    cut_short(&disk.kill(), &witness, "long").await;
}

#[tokio::test]
async fn a_missing_file_of_a_closed_store() {
    let (disk, store, witness) = flips::store().await;
    store.close().await.unwrap();
    for name in disk.contents().keys() {
        let cut = disk.kill();
        machinery_store::files::Files::remove(&cut, name).unwrap();
        let before = cut.contents();
        match flips::open(&cut) {
            Ok(store) => {
                let _at = At(|| format!("without {name}"));
                witness.clone().check(&store).await;
            }
            Err(error) => {
                assert_eq!(cut.contents(), before, "{error}");
                says(&error, Path::new("faulty"));
            }
        }
    }
}

/// Misdirected sectors and noise. If they hit the end of the log, an earlier state of the store may
/// result; never a wrong one, and never a panic.
#[tokio::test]
async fn bytes_in_the_wrong_place() {
    let (disk, store, witness) = flips::store().await;
    store.close().await.unwrap();
    let files: Vec<_> = disk.contents().into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    let (mut found, mut opened) = (0, 0);
    for seed in 0..4000 {
        let mut dice = Dice::new(seed);
        let damaged = disk.kill();
        let (name, bytes) = &files[dice.below(files.len() as u64) as usize];
        let (_, source) = &files[dice.below(files.len() as u64) as usize];
        let unit = [1, 8, 64, 512][dice.below(4) as usize];
        let from = dice.below(source.len() as u64) as usize / unit * unit;
        let to = dice.below(bytes.len() as u64) as usize / unit * unit;
        let length = (unit * (1 + dice.below(4) as usize)).min(source.len() - from).min(bytes.len() - to);
        let mut bytes = bytes.clone();
        match dice.below(4) {
            0 => (to..to + length).for_each(|at| bytes[at] = dice.roll() as u8),
            1 => bytes[to..to + length].fill(0),
            _ => bytes[to..to + length].copy_from_slice(&source[from..from + length]),
        }
        damaged.put(name, &bytes);
        let before = damaged.contents();
        let _at = At(|| format!("seed {seed}: {name} at {to}, {length} bytes"));
        match flips::open(&damaged) {
            Ok(store) => {
                let current = store.revision().await.unwrap();
                witness.until(current).check(&store).await;
                opened += 1;
            }
            Err(error) => {
                assert_eq!(damaged.contents(), before, "{error}");
                says(&error, Path::new("faulty"));
                found += 1;
            }
        }
    }
    println!("{found} found, {opened} opened");
    assert!(found > 500 && opened > 500);
}

/// Helper process: holds the store given in its environment until its input ends.
#[tokio::test]
async fn holder() {
    let Some(directory) = std::env::var_os("STORE_HOLD_DIRECTORY") else { return };
    let store = Disk::open(directory, options()).unwrap();
    println!("@held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    store.commit(Transaction::new().put("still", *b"mine")).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_second_process_on_the_same_directory() {
    let place = tempfile::tempdir().unwrap();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bad_input::holder", "--nocapture"])
        .env("STORE_HOLD_DIRECTORY", place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.contains("@held")), "the other process opens it");
    let error = refused(place.path());
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    drop(holder.stdin.take());
    assert!(lines.any(|line| line.contains("1 passed")), "the other process goes on, and ends well");
    assert!(holder.wait().unwrap().success());
    let store = Disk::open(place.path(), options()).unwrap();
    assert_eq!(store.revision().await.unwrap().0, 2);
    let twice = refused(place.path());
    assert!(matches!(twice, OpenError::InUse { .. }), "also in one process: {twice}");
    drop(store);
    Disk::open(place.path(), options()).unwrap();
}

#[tokio::test]
async fn a_disk_that_is_full_or_read_only_from_the_beginning() {
    for store in [false, true] {
        let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
        if store {
            let store = crate::crash::open(&disk).unwrap();
            witness.write_next(&store).await;
        }
        let before = disk.contents();
        disk.set_read_only(true);
        let error = crate::crash::open(&disk).unwrap_err();
        assert!(matches!(error, OpenError::ReadOnly { .. }), "{error}");
        says(&error, Path::new("faulty"));
        assert_eq!(disk.contents(), before);
        disk.set_read_only(false);
        disk.limit(0);
        match crate::crash::open(&disk) {
            Ok(opened) => {
                assert!(store, "there is no room to begin one");
                witness.check(&opened).await;
            }
            Err(error) => {
                assert!(matches!(error, OpenError::Full { .. }), "{error}");
                says(&error, Path::new("faulty"));
                assert_eq!(disk.contents(), before);
            }
        }
        disk.limit(u64::MAX);
        witness.check(&crate::crash::open(&disk).unwrap()).await;
    }
}

/// Fails each call of an open: it is an error or harmless, and the next open finds all data.
#[tokio::test]
async fn a_failed_open_changes_no_file() {
    use faulty::{DiskCall, DiskFault, FaultEffect};
    use std::io::ErrorKind;
    let (disk, store, witness) = flips::store().await;
    store.close().await.unwrap();
    let calls = [
        DiskCall::Read,
        DiskCall::OpenToRead,
        DiskCall::Open,
        DiskCall::List,
        DiskCall::Lock,
        DiskCall::Write,
        DiskCall::Sync,
        DiskCall::SyncNames,
        DiskCall::Remove,
        DiskCall::Rename,
        DiskCall::Create,
    ];
    let (mut failed, mut opened) = (0, 0);
    for call in calls {
        for kind in
            [ErrorKind::Other, ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::UnexpectedEof]
        {
            for after in 0.. {
                let trying = disk.kill();
                trying.inject(DiskFault::new(call, FaultEffect::Fail(kind)).after(after));
                let _at = At(|| format!("{call:?} number {after}: {kind}"));
                match flips::open(&trying) {
                    Ok(store) => {
                        witness.clone().check(&store).await;
                        opened += 1;
                    }
                    Err(error) => {
                        assert!(error.to_string().contains("faulty"), "{error}");
                        assert_eq!(trying.contents(), disk.contents());
                        failed += 1;
                    }
                }
                if trying.fired().is_empty() {
                    break;
                }
                witness.clone().check(&flips::open(&trying).unwrap()).await;
            }
        }
    }
    println!("{failed} failed, {opened} opened");
    assert!(failed > 50);
}

/// Helper process: works on a private file system of 256 KiB.
#[tokio::test]
async fn mounted() {
    let Some(directory) = std::env::var_os("STORE_MOUNT_DIRECTORY") else { return };
    let directory = Path::new(&directory);
    let mount = |arguments: &[&str]| {
        let done = Command::new("mount").args(arguments).arg(directory).status();
        done.is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=256k", "none"]) {
        return;
    }
    println!("@mounted");
    let options = || DiskOptions { checkpoint_bytes: u64::MAX, ..options() };
    let (store, mut witness) = (Disk::open(directory, options()).unwrap(), Witness::new());
    let why = loop {
        let transaction = Transaction::new().put("k", vec![b'x'; 3000]);
        let answer = store.commit(transaction.clone()).await;
        let text = answer.as_ref().map_or_else(ToString::to_string, |_| String::new());
        if !witness.answered(transaction, answer) {
            break text;
        }
        assert!(witness.newest().0 < 1000, "it is full at last");
    };
    assert!(why.contains("No space left") && why.contains(directory.to_str().unwrap()), "{why}");
    crate::crash::still_reads(&store, &witness).await;
    let _ = store.close().await;
    // Without free space, the open may fail, with an error and without a change.
    match Disk::open(directory, options()) {
        Ok(store) => witness.check(&store).await,
        Err(error) => {
            says(&error, directory);
            assert!(matches!(error, OpenError::Full { .. }), "{error}");
        }
    }
    assert!(mount(&["-o", "remount,ro"]));
    assert!(matches!(refused(directory), OpenError::ReadOnly { .. }));
    assert!(mount(&["-o", "remount,rw,size=1m"]));
    let store = Disk::open(directory, options()).unwrap();
    witness.check(&store).await;
    witness.write_next(&store).await;
    witness.check(&store).await;
    let transaction = Transaction::new().put("k", *b"more");
    assert!(!matches!(store.commit(transaction).await, Err(CommitError::Refused { .. })));
}

/// The same on a real file system, in an unprivileged mount namespace where the kernel allows it.
#[tokio::test]
async fn a_real_file_system_that_is_full_and_then_read_only() {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "bad_input::mounted", "--nocapture"])
        .env("STORE_MOUNT_DIRECTORY", place.path())
        .output();
    let said = output.as_ref().map_or_else(ToString::to_string, |output| {
        let both = [&output.stdout[..], &output.stderr].concat();
        String::from_utf8_lossy(&both).into_owned()
    });
    if !said.contains("@mounted") {
        // Bypasses the harness, which captures the output of passing tests.
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED: no file system could be mounted in a namespace (`unshare --map-root-user --mount`)"
        );
        return;
    }
    assert!(output.unwrap().status.success(), "{said}");
}

/// A directory with subdirectories is not empty; a symbolic link to a moved file works.
#[tokio::test]
async fn a_directory_with_directories_is_not_empty_and_a_link_is_a_file() {
    let place = tempfile::tempdir().unwrap();
    let etcd = place.path().join("etcd");
    std::fs::create_dir_all(etcd.join("member")).unwrap();
    assert!(matches!(refused(&etcd), OpenError::NotAStore { .. }));

    let (store, elsewhere) = (place.path().join("store"), place.path().join("elsewhere"));
    let mut witness = real_store(&store).await;
    std::fs::create_dir_all(&elsewhere).unwrap();
    for name in contents(&store).into_keys().filter(|name| name.starts_with("log-")) {
        std::fs::rename(store.join(&name), elsewhere.join(&name)).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(&name), store.join(&name)).unwrap();
    }
    let store = Disk::open(&store, options()).unwrap();
    witness.check(&store).await;
    store.close().await.unwrap();
}

/// The root of a file system may be a store.
#[tokio::test]
async fn lost_and_found_is_ignored() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("lost+found")).unwrap();
    Disk::open(place.path(), options()).unwrap().close().await.unwrap();
}

/// The file format has two bytes for the number of operations.
#[tokio::test]
async fn limits_beyond_the_file_format_are_clamped() {
    let place = tempfile::tempdir().unwrap();
    let mut options = DiskOptions::default();
    options.store.limits.operations = 100_000;
    let store = Disk::open(place.path(), options.clone()).unwrap();
    let many = |count: u32| (0..count).fold(Transaction::new(), |all, i| all.put(format!("k{i}"), *b""));
    let refused = store.commit(many(65_536)).await.unwrap_err();
    assert!(matches!(refused, CommitError::TooManyOperations { limit: 65_535, .. }), "{refused}");
    store.commit(many(65_535)).await.unwrap();
    store.close().await.unwrap();
    let store = Disk::open(place.path(), options).unwrap();
    assert_eq!(store.usage().keys, 65_535);
}

/// With a damaged checkpoint, a stale older one, and no logs after that, the error names the
/// damage.
#[tokio::test]
async fn a_damaged_checkpoint_is_reported_and_not_the_logs_it_replaced() {
    let disk = faulty::FaultyDisk::new();
    let store = flips::open(&disk).unwrap();
    let mut old = BTreeMap::new();
    for round in 0..20_u8 {
        store.commit(Transaction::new().put("k", vec![round; 100])).await.unwrap();
        if round == 5 || round == 15 {
            store.checkpoint().await.unwrap();
            old.extend(disk.contents().into_iter().filter(|(name, _)| name.starts_with("checkpoint")));
        }
    }
    store.close().await.unwrap();
    let disk = disk.kill();
    old.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    let newest = old.into_keys().next_back().unwrap();
    disk.flip(&newest, 8 * 90);
    let error = flips::open(&disk).unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { path, .. } if path.ends_with(&newest)), "{error}");
}
