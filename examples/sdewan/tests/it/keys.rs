//! The keys under which agents compare secrets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio;
use sdewan::drive::CnfInterface::V2;
use sdewan::drive::fake::FakeCnfs;
use sdewan::drive::{Cnf, CnfConnector, CnfError, PodTarget};

use crate::lab::{Lab, policy};

/// A connector that notes the keys of targets.
struct KeyNoting {
    cnfs: FakeCnfs,
    keys: Arc<Mutex<BTreeSet<Vec<u8>>>>,
}

impl CnfConnector for KeyNoting {
    fn connect(&self, target: &PodTarget) -> Result<Arc<dyn Cnf>, CnfError> {
        self.keys.lock().insert(target.mac_key.to_vec());
        self.cnfs.connect(target)
    }
}

#[tokio::test(start_paused = true)]
async fn each_agent_has_a_key_of_its_own() {
    let mut lab = Lab::new(V2).await;
    lab.deploy("cnf-1", "cnf-1", 2).await;
    lab.create("Mwan3Policy", "p1", policy()).await;
    let mut all = BTreeSet::new();
    for _ in 0..3 {
        let keys = Arc::default();
        let connector = KeyNoting { cnfs: lab.cnfs.clone(), keys: Arc::clone(&keys) };
        let agent = lab.agent_plane(None, Arc::new(connector)).await;
        lab.pass(2).await;
        lab.until_in_sync(&[("Mwan3Policy", "p1")]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        agent.stop().await;
        // One for both pods, and of 32 bytes.
        let keys = std::mem::take(&mut *keys.lock());
        assert_eq!(keys.iter().map(Vec::len).collect::<Vec<_>>(), [32]);
        all.extend(keys);
    }
    assert_eq!(all.len(), 3);
    lab.stop().await;
}
