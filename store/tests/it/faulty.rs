//! The faulty disk shows every behaviour that a disk may show, and no other.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use machinery_store::faulty::{DiskCall, DiskFault, FaultEffect, FaultyDisk, Gate, PowerLoss, SECTOR};
use machinery_store::files::{File, Files};

/// Makes a disk with one durable file `a` of two sectors.
fn disk() -> (FaultyDisk, Box<dyn File>) {
    let disk = FaultyDisk::new();
    let file = disk.create("a").unwrap();
    file.write_at(&[1; 2 * SECTOR], 0).unwrap();
    file.sync().unwrap();
    disk.sync().unwrap();
    assert_eq!(disk.pending(), 0);
    (disk, file)
}

fn bytes(disk: &FaultyDisk, name: &str) -> Vec<u8> {
    disk.contents().remove(name).unwrap_or_default()
}

fn names(disk: &FaultyDisk) -> Vec<String> {
    disk.contents().into_keys().collect()
}

#[test]
fn synced_data_survives_every_power_cut() {
    let (disk, file) = disk();
    file.write_at(&[2; SECTOR], 0).unwrap();
    for lost in [
        PowerLoss::Everything,
        PowerLoss::Nothing,
        PowerLoss::After,
        PowerLoss::Some,
        PowerLoss::Torn,
        PowerLoss::Only(0),
    ] {
        for seed in 0..50 {
            let after = disk.crash(lost, seed);
            assert_eq!(bytes(&after, "a")[SECTOR..], [1; SECTOR]);
            assert_eq!(after.pending(), 0);
        }
    }
    assert_eq!(bytes(&disk, "a")[..SECTOR], [2; SECTOR], "the disk itself is as it was");
}

#[test]
fn any_subset_of_unsynced_sectors_may_persist() {
    let (disk, file) = disk();
    file.write_at(&[2; 2 * SECTOR], 0).unwrap();
    file.write_at(&[3; 100], SECTOR as u64 + 10).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let after = bytes(&disk.crash(PowerLoss::Torn, seed), "a");
        assert_eq!(after.len(), 2 * SECTOR);
        assert!(after[..SECTOR].iter().all(|byte| *byte == after[0]), "a sector is whole");
        seen.insert((after[0], after[SECTOR], after[SECTOR + 10]));
    }
    // A sector that persists includes all earlier writes to it.
    let all = [1, 2].into_iter().flat_map(|first| [(first, 1, 1), (first, 2, 2), (first, 2, 3)]);
    assert_eq!(seen, all.collect());
    assert_eq!(bytes(&disk.crash(PowerLoss::AllBut(1), 0), "a")[..SECTOR], [1; SECTOR]);
    assert_eq!(bytes(&disk.crash(PowerLoss::Only(1), 0), "a"), [2; 2 * SECTOR]);
}

#[test]
fn a_grown_file_may_be_short_hollow_or_hold_stale_data() {
    let (disk, file) = disk();
    disk.remove("a").unwrap();
    drop(file);
    let file = disk.create("b").unwrap();
    disk.sync().unwrap();
    file.write_at(&[2; 2 * SECTOR], 0).unwrap();
    let seen: BTreeSet<_> = (0..500).map(|seed| bytes(&disk.crash(PowerLoss::Torn, seed), "b")).collect();
    for (what, length, first, last) in [
        ("empty", 0, None, None),
        ("whole", 2, Some(2), Some(2)),
        ("short", 1, Some(2), Some(2)),
        ("hollow", 2, Some(0), Some(2)),
        ("stale", 2, Some(1), Some(2)),
        ("stale at its end", 2, Some(2), Some(1)),
    ] {
        let found = seen.iter().any(|bytes| {
            (bytes.len(), bytes.first().copied(), bytes.last().copied()) == (length * SECTOR, first, last)
        });
        assert!(found, "{what}");
    }
}

#[test]
fn names_are_lost_independently_of_data() {
    let (disk, _) = disk();
    let file = disk.create("b.tmp").unwrap();
    file.write_at(&[2], 0).unwrap();
    file.sync().unwrap();
    disk.rename("b.tmp", "b").unwrap();
    disk.remove("a").unwrap();
    assert_eq!(names(&disk), ["b"]);
    let seen: BTreeSet<_> = (0..200).map(|seed| names(&disk.crash(PowerLoss::Torn, seed))).collect();
    for possible in [&["a"][..], &["a", "b"], &["a", "b.tmp"], &["a", "b", "b.tmp"], &["b"], &["b.tmp"], &[]]
    {
        assert!(seen.iter().any(|names| names == possible), "{possible:?} of {seen:?}");
    }
    assert_eq!(names(&disk.crash(PowerLoss::Everything, 0)), ["a"]);
    assert_eq!(names(&disk.crash(PowerLoss::Nothing, 0)), ["b"]);
    assert_eq!(names(&disk.kill()), ["b"]);
    disk.sync().unwrap();
    assert_eq!(names(&disk.crash(PowerLoss::Everything, 0)), ["b"]);
    assert_eq!(bytes(&disk.crash(PowerLoss::Everything, 0), "b"), [2]);
}

#[test]
fn stops_before_or_in_any_step() {
    let work = |disk: &FaultyDisk| -> std::io::Result<()> {
        let file = disk.create("a")?;
        file.write_at(&[1; 100], 0)?;
        file.sync()?;
        disk.rename("a", "b")?;
        disk.sync()?;
        disk.remove("b")
    };
    let whole = FaultyDisk::new();
    work(&whole).unwrap();
    let steps = [
        DiskCall::Create,
        DiskCall::Write,
        DiskCall::Sync,
        DiskCall::Rename,
        DiskCall::SyncNames,
        DiskCall::Remove,
    ];
    assert_eq!(whole.trace().into_iter().map(|(call, _)| call).collect::<Vec<_>>(), steps);
    for step in 0..whole.steps() {
        let disk = FaultyDisk::new();
        disk.crash_at(step);
        work(&disk).unwrap_err();
        assert_eq!(disk.steps(), step);
        disk.list().unwrap_err();
        assert_eq!(disk.kill().list().unwrap().len(), usize::from(step > 0));
    }
    let disk = FaultyDisk::new();
    disk.crash_in(1, 7);
    work(&disk).unwrap_err();
    assert_eq!(bytes(&disk.kill(), "a"), [1; 7]);
}

#[test]
fn a_failed_sync_may_forget_for_good() {
    let (disk, file) = disk();
    file.write_at(&[2; 2 * SECTOR], 0).unwrap();
    disk.inject(DiskFault::new(DiskCall::Sync, FaultEffect::Forget(ErrorKind::Other)));
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(bytes(&disk.kill(), "a"), [2; 2 * SECTOR], "it can be read");
    assert_ne!(bytes(&disk.crash(PowerLoss::Nothing, 0), "a"), [2; 2 * SECTOR], "and is lost");
    file.write_at(&[2; 2 * SECTOR], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(
        bytes(&disk.crash(PowerLoss::Everything, 0), "a"),
        [2; 2 * SECTOR],
        "until it is written again"
    );
}

#[test]
fn a_lying_sync_loses_data_at_the_power_cut() {
    for call in [DiskCall::Write, DiskCall::Sync, DiskCall::Create, DiskCall::Rename, DiskCall::SyncNames] {
        let disk = FaultyDisk::new();
        disk.inject(DiskFault::new(call, FaultEffect::Lie));
        let file = disk.create("a").unwrap();
        file.write_at(&[1], 0).unwrap();
        file.sync().unwrap();
        disk.rename("a", "b").unwrap();
        disk.sync().unwrap();
        assert_eq!(bytes(&disk.kill(), "b"), [1]);
        assert_ne!(
            bytes(&disk.crash(PowerLoss::Everything, 0), "b"),
            if call == DiskCall::Create { [0] } else { [1] }
        );
        assert_eq!(disk.fired()[&(call, "lie")], 1);
    }
}

#[test]
fn injected_errors_occur_as_configured() {
    let (disk, file) = disk();
    disk.inject(DiskFault::error(DiskCall::Write, ErrorKind::Other).after(1));
    disk.inject(DiskFault::new(DiskCall::Write, FaultEffect::Short(3, ErrorKind::Other)).after(1));
    disk.inject(DiskFault::error(DiskCall::Read, ErrorKind::Other).of("b").for_ever());
    disk.inject(DiskFault::new(DiskCall::Read, FaultEffect::Flip(9)));
    file.write_at(&[2], 0).unwrap();
    file.write_at(&[3], 0).unwrap_err();
    file.write_at(&[4; 9], 0).unwrap_err();
    file.write_at(&[5], 5).unwrap();
    let mut found = [0; 6];
    file.read_at(&mut found, 0).unwrap();
    assert_eq!(found, [4, 6, 4, 1, 1, 5], "a short write, and a bit that turned over on its way");
    file.read_at(&mut found, 2 * SECTOR as u64 - 5).unwrap_err();
    let other = disk.create("b").unwrap();
    for _ in 0..3 {
        other.read_at(&mut [], 0).unwrap_err();
    }
    disk.heal();
    other.read_at(&mut [], 0).unwrap();
}

#[test]
fn a_full_disk_writes_a_prefix_and_a_read_only_one_nothing() {
    let (disk, file) = disk();
    disk.limit(2 * SECTOR as u64 + 3);
    file.write_at(&[7; 5], 2 * SECTOR as u64 - 1).unwrap_err();
    assert_eq!(bytes(&disk, "a")[2 * SECTOR - 1..], [7; 4]);
    file.write_at(&[7; 5], 0).unwrap();
    let other = disk.create("b").unwrap();
    assert_eq!(other.write_at(&[1], 0).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.set_read_only(true);
    let before = disk.contents();
    for refused in [
        file.write_at(&[1], 0).map(drop),
        disk.create("c").map(drop),
        disk.open("a").map(drop),
        disk.rename("a", "c"),
        disk.remove("a"),
        disk.lock().map(drop),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    assert_eq!(disk.contents(), before);
}

#[test]
fn a_held_sync_waits_for_its_gate() {
    let (disk, file) = disk();
    let gate = Gate::new();
    disk.inject(DiskFault::hold(DiskCall::Sync, &gate));
    file.write_at(&[2; SECTOR], 0).unwrap();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| file.sync());
        futures::executor::block_on(gate.reached());
        assert!(!held.is_finished());
        assert_eq!(bytes(&disk, "a")[0], 2, "nobody else waits");
        assert_eq!(bytes(&disk.crash(PowerLoss::Everything, 0), "a")[0], 1);
        drop(gate);
        held.join().unwrap().unwrap();
    });
    assert_eq!(bytes(&disk.crash(PowerLoss::Everything, 0), "a")[0], 2);
}

#[test]
fn the_lock_has_one_owner_at_a_time() {
    let (disk, _) = disk();
    let owner = disk.lock().unwrap();
    assert!(owner.is_some());
    assert!(disk.lock().unwrap().is_none());
    assert!(disk.kill().lock().unwrap().is_some(), "the dead own nothing");
    drop(owner);
    assert!(disk.lock().unwrap().is_some());
}
