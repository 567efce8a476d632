//! What informers elsewhere got wrong once, or promise: a test each. `I…` is the semantics of client-go's `tools/cache`.
//!
//! Elsewhere are those of one handler (I4 and I16: `src/deliver/tests/handlers.rs`, where also who is woken for what is gone by then is woken
//! again, I18), of reads of one's writes instead of a cache of mutations (I17: `writes.rs`), of the life of an informer (`phases.rs`),
//! of drift, which a resync does not find (`audits.rs`), and of a slow handler's memory (`tests/soak.rs`).
//! That reads copy (controller-runtime#1274) no test can show: what is kept need not be `Clone`.

mod caches;
mod handlers;
mod sources;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_objects::Capabilities;

fn of(names: &[&str], can: Capabilities) -> FakeSource<TestObject> {
    let fake = FakeSource::of_test_objects(can);
    names.iter().for_each(|name| drop(fake.put(TestObject::new(name))));
    fake
}
