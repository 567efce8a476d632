//! Calls that may panic.

use machinery_sync::contained;

#[test]
fn a_panic_goes_nowhere() {
    struct Touchy(u32);
    impl Drop for Touchy {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Touchy(self.0 - 1));
            }
        }
    }
    assert_eq!(contained(|| 1), Some(1));
    assert_eq!(contained(|| -> u32 { panic!("it cannot") }), None);
    for depth in 0..4 {
        assert_eq!(contained(|| -> u32 { std::panic::panic_any(Touchy(depth)) }), None);
    }
}
