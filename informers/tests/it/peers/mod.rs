//! Known defects and promises of informers elsewhere, a test each. `I…` is the semantics of
//! client-go's `tools/cache`.
//!
//! In other files: single handlers (I4, I16 and I18: `src/deliver/tests/handlers.rs`), read your
//! writes instead of a mutation cache (I17: `writes.rs`), the life cycle of an informer
//! (`lifecycle.rs`), drift, which a resync does not find (`drift.rs`), and the memory of a slow
//! handler (`tests/soak.rs`). That reads copy (controller-runtime#1274) cannot occur: a cached
//! object need not be `Clone`.

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
