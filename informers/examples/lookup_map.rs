//! A lookup map: which of several informers holds an object of a name.
//! `cargo run -p machinery-informers --example lookup_map`
//!
//! A machine moves from one network to another. Two watches report this in any order, so for a
//! moment the machine is in both or in none; the map reports each change of the answer.

use std::error::Error;
use std::sync::mpsc::channel;

use machinery_informers::{Lookup, LookupMap};
use machinery_objects::{ObjectKey, Revision};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (changed, queue) = channel(); // in a program, a work queue
    let map = LookupMap::new(42, move |name: &ObjectKey| drop(changed.send(name.clone())));
    let machine: ObjectKey = "default/vm-1".parse()?;

    map.put(&17, &machine, "10.0.17.5", Some(Revision(3)));
    assert_eq!(map.lookup(&machine), Lookup::Unique(17, "10.0.17.5"));

    // The addition in network 18 arrives before the deletion in network 17.
    map.put(&18, &machine, "10.0.18.9", Some(Revision(8)));
    assert_eq!(map.lookup(&machine), Lookup::Ambiguous(vec![17, 18]));
    assert_eq!(map.newest(&machine), Lookup::Unique(18, "10.0.18.9"), "the version decides");

    map.remove(&17, &machine, Some(Revision(8)));
    assert_eq!(map.lookup(&machine), Lookup::Unique(18, "10.0.18.9"));

    // The informer of network 18 is stopped: its objects leave the map with it.
    assert_eq!(map.release(&18).len(), 1);
    assert_eq!(map.lookup(&machine), Lookup::Absent);
    let changes = queue.try_iter().filter(|name| *name == machine).count();
    assert_eq!(changes, 4, "each change of the name is reported");
    println!("{machine}: {changes} changes");
    Ok(())
}
