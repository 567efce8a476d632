//! The external effect of the sample controller.

use machinery::testing::CrashGate;
use machinery_sync::Mutex;
use std::collections::BTreeMap;

/// The external effect: names of hosts, as a switch would know them.
#[derive(Default)]
pub(crate) struct Outside(Mutex<BTreeMap<String, String>>);

impl Outside {
    pub(crate) fn get(&self, who: &str) -> Option<String> {
        self.0.lock().get(who).cloned()
    }

    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        self.0.lock().clone()
    }

    /// Sets or removes a name; an unchanged one is no effect.
    pub(crate) async fn set(&self, gate: &CrashGate, who: &str, what: Option<&str>) {
        if self.get(who).as_deref() == what {
            return;
        }
        gate.pass(format!("set {who} to {what:?}"), async {
            let mut all = self.0.lock();
            match what {
                Some(what) => all.insert(who.into(), what.into()),
                None => all.remove(who),
            }
        })
        .await;
    }
}
