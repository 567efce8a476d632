//! Real threads, for maps too large for loom: thousands of entries, and indexes with many nodes.

use machinery_snapshot::Map;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The writer moves a token from entry to entry and keeps a sum; every snapshot has exactly one
/// token, in the map and in the index, and the same sum.
#[test]
fn every_snapshot_is_consistent_while_a_writer_writes() {
    const ENTRIES: u32 = 2000;
    let mut builder = Map::builder(7);
    let by_token = builder.index(|_, (token, _): &(bool, u32)| token.then_some(()));
    let by_number = builder.index(|_, (_, number): &(bool, u32)| [*number]);
    let map = Arc::new(builder.build());
    let mut writer = map.write();
    writer.extend((0..ENTRIES).map(|key| (key, (key == 0, key))));
    writer.commit();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut lists = 0_u64;
                    while !stop.load(Relaxed) || lists == 0 {
                        let snapshot = map.snapshot();
                        let sum: u64 = snapshot.iter().map(|(_, (_, number))| u64::from(*number)).sum();
                        assert_eq!(sum, (0..u64::from(ENTRIES)).sum());
                        let tokens = snapshot.iter().filter(|(_, (token, _))| *token);
                        let tokens: Vec<u32> = tokens.map(|(key, _)| *key).collect();
                        assert_eq!(tokens.len(), 1);
                        assert!(snapshot.by(&by_token, &()).map(|(key, _)| key).eq(&tokens));
                        let ordered = snapshot.range::<u32, u32>(&by_number, ..);
                        assert!(ordered.map(|(_, (_, number))| *number).eq(0..ENTRIES));
                        for key in (0..ENTRIES).step_by(37) {
                            assert!(snapshot.get(&key).is_some());
                            assert!(map.get(&key).is_some());
                        }
                        lists += 1;
                    }
                    lists
                })
            })
            .collect();
        let mut holder = 0;
        for round in 0..20_000_u32 {
            let next = (holder + 1 + round * 31 % (ENTRIES - 1)) % ENTRIES;
            let mut writer = map.write();
            let (mut a, mut b) = (writer.remove(&holder).unwrap(), *writer.get(&next).unwrap());
            (a.0, b.0) = (false, true);
            std::mem::swap(&mut a.1, &mut b.1);
            writer.insert(next, b);
            writer.insert(holder, a);
            writer.commit();
            holder = next;
            map.update(&next, |_| ());
        }
        stop.store(true, Relaxed);
        assert!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>() > 0);
    });
}
