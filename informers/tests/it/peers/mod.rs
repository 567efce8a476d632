//! What informers elsewhere got wrong once, or promise: a test each. `I…` is the semantics of client-go's `tools/cache`.
//!
//! Elsewhere are those of one handler (I4 and I16: `src/deliver/tests/handlers.rs`, where also who is woken for what is gone by then is woken
//! again, I18), of reads of one's writes instead of a cache of mutations (I17: `writes.rs`), of the life of an informer (`phases.rs`),
//! of drift, which a resync does not find (`audits.rs`), and of a slow handler's memory (`tests/soak.rs`).
//! That reads copy (controller-runtime#1274) no test can show: what is kept need not be `Clone`.

mod kept;
mod sources;
mod told;

use machinery_informers::testing::{Plane, Thing};
use machinery_objects::Capabilities;

fn of(names: &[&str], can: Capabilities) -> Plane<Thing> {
    let plane = Plane::of_things(can);
    names.iter().for_each(|name| drop(plane.put(Thing::new(name))));
    plane
}
