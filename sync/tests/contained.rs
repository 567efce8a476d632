//! Calls that may panic.

use machinery_sync::{Panic, contained};

#[test]
fn a_panic_is_contained() {
    struct Touchy(u32);
    impl Drop for Touchy {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Touchy(self.0 - 1));
            }
        }
    }
    assert_eq!(contained(|| 1), Ok(1));
    let said = |said: Result<u32, Panic>| said.unwrap_err().to_string();
    assert_eq!(said(contained(|| panic!("it cannot"))), "it cannot");
    assert_eq!(said(contained(|| panic!("{} cannot", "it"))), "it cannot");
    for depth in 0..4 {
        assert_eq!(said(contained(|| std::panic::panic_any(Touchy(depth)))), "it panicked");
    }
}
