//! Drops of user values: at the right time, and free to use the map.

use machinery_snapshot::Map;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Reads and writes its map when it is dropped.
struct Nosy {
    number: u32,
    map: Arc<OnceLock<Weak<Nosies>>>,
}

type Nosies = Map<u32, Option<Arc<Nosy>>>;

impl Drop for Nosy {
    fn drop(&mut self) {
        let Some(map) = self.map.get().and_then(Weak::upgrade) else { return };
        let seen = map.snapshot().len();
        map.insert(1000 + self.number, None);
        assert!(map.len() >= seen);
    }
}

/// Turns a deadlock into a failure.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (done, finished) = channel::<()>();
    let worker = std::thread::spawn(move || {
        let _done = done;
        work();
    });
    assert_eq!(
        finished.recv_timeout(Duration::from_secs(60)),
        Err(RecvTimeoutError::Disconnected),
        "it hangs"
    );
    worker.join().unwrap();
}

#[test]
fn a_drop_may_read_and_write_the_map() {
    within_a_minute(|| {
        let link: Arc<OnceLock<_>> = Arc::default();
        let nosy = |number| Some(Arc::new(Nosy { number, map: link.clone() }));
        let mut builder = Map::builder(1);
        builder.index(|key: &u32, _| [*key]);
        let map = Arc::new(builder.build());
        link.set(Arc::downgrade(&map)).unwrap();

        map.insert(1, nosy(1));
        map.insert(1, nosy(2)); // in place
        assert!(map.get(&1001).is_some());
        let snapshot = map.snapshot();
        map.insert(1, nosy(3)); // beside a snapshot, which is the last to hold the one before
        drop(snapshot);
        assert!(map.get(&1002).is_some());
        map.remove(&1);
        assert!(map.get(&1003).is_some());

        let mut writer = map.write(); // several, some of which were never seen outside
        for number in 4..8 {
            writer.insert(2, nosy(number));
        }
        writer.insert(3, nosy(8));
        writer.remove(&3);
        writer.clear();
        writer.insert(4, nosy(9));
        writer.commit();
        for number in 4..9 {
            assert!(map.get(&(1000 + number)).is_some(), "{number}");
        }
        let mut writer = map.write(); // undone
        writer.insert(5, nosy(10));
        drop(writer);
        assert!(map.get(&1010).is_some());
        let mut writer = map.write();
        writer.insert(5, nosy(11));
        writer.insert(6, nosy(12));
        drop(writer);
        assert!(map.get(&1011).is_some() && map.get(&1012).is_some());
        map.update(&4, |value| *value = None);
        assert!(map.get(&1009).is_some());
    });
}

#[test]
fn unreachable_values_are_dropped() {
    let map: Map<u32, Arc<()>> = Map::builder(1).build();
    let value = Arc::new(());
    for key in 0..1000 {
        map.insert(key, value.clone());
    }
    let snapshot = map.snapshot();
    for key in 0..1000 {
        map.insert(key, Arc::new(()));
    }
    assert_eq!(Arc::strong_count(&value), 1001, "the snapshot has all of them");
    drop(snapshot);
    assert_eq!(Arc::strong_count(&value), 1, "and nobody else");
    for key in 0..1000 {
        map.insert(key, value.clone());
    }
    let mut writer = map.write();
    writer.clear();
    writer.commit();
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A long load that sets one key repeatedly.
#[test]
fn a_change_does_not_keep_what_it_replaced() {
    let map: Map<u32, Arc<()>> = Map::builder(1).build();
    let value = Arc::new(());
    let mut writer = map.write();
    for _ in 0..1000 {
        writer.replace(1, value.clone());
        writer.replace(2, value.clone());
        writer.take(&2);
    }
    assert!(Arc::strong_count(&value) <= 3, "{}", Arc::strong_count(&value));
    writer.commit();
    assert_eq!(Arc::strong_count(&value), 2);
}
