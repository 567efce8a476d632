//! Random histories of several writers, checked at each revision.

use machinery_apiserver::Handle;
use machinery_objects::{Deletion, Patch, PatchFormat, Preconditions, Revision, Writer};
use machinery_store::{Memory, Options};

use super::subnet::{Auditor, Subnet, SubnetStatus, beside, key, records, subnet, two};

/// Pseudo-random numbers from a seed.
pub(super) struct RandomNumbers(u64);

impl RandomNumbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9))
    }

    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A random subnet of a few networks and ranges, so that some conflict with others.
fn any(numbers: &mut RandomNumbers, name: &str) -> Subnet {
    let mut vnis: Vec<u64> = (0..numbers.below(3)).map(|_| numbers.below(4)).collect();
    vnis.sort_unstable();
    vnis.dedup();
    let from = numbers.below(60);
    let mut subnet = subnet(name, &vnis, from, from + numbers.below(12));
    if numbers.below(4) == 0 {
        subnet.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    }
    subnet
}

/// Makes one random write. The auditor checks the result.
async fn write(handle: &Handle<Subnet>, numbers: &mut RandomNumbers) -> bool {
    let name = format!("s{}", numbers.below(8));
    let none = Preconditions::default();
    let merge =
        |body: String| Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false };
    match numbers.below(8) {
        0..3 => handle.create(&any(numbers, &name), None).await.is_ok(),
        3 => handle.update(&any(numbers, &name), &none).await.is_ok(),
        4 => {
            let mut grown = any(numbers, &name);
            grown.status = Some(SubnetStatus { grown_to: grown.spec.to + numbers.below(12) });
            handle.update_status(&grown, &none).await.is_ok()
        }
        5 => {
            let (vni, from) = (numbers.below(4), numbers.below(60));
            let body = format!(r#"{{"spec":{{"vnis":[{vni}],"from":{from},"to":{}}}}}"#, from + 5);
            handle.patch(&key(&name), &merge(body), &none).await.is_ok()
        }
        6 => {
            let body = r#"{"metadata":{"finalizers":null}}"#.to_owned();
            handle.patch(&key(&name), &merge(body), &none).await.is_ok()
        }
        _ => handle.delete(&key(&name), &Deletion::default()).await.is_ok(),
    }
}

async fn history(seed: u64) {
    let store = Memory::new(Options::default());
    let (servers, handles, _) = two(&store).await;
    let writer = |at: u64| {
        let handle = handles[usize::from(at % 2 == 1)].clone();
        let mut numbers = RandomNumbers::new(seed * 4 + at + 1);
        beside(async move {
            let mut done = 0;
            for _ in 0..150 {
                done += u64::from(write(&handle, &mut numbers).await);
            }
            done
        })
    };
    let mut done = 0;
    for writer in [writer(0), writer(1), writer(2), writer(3)] {
        done += writer.await.unwrap();
    }
    let mut auditor = Auditor::default();
    let at = auditor.audit(&store, Revision(1)).await;
    // Many of 600 have no effect: the name is taken or missing, or another subnet conflicts.
    assert!(done > 100, "seed {seed}: {done} writes");
    let free = (*br#"{"metadata":{"finalizers":null}}"#).into();
    let free = Patch { format: PatchFormat::Merge, body: free, status: false };
    for name in (0..8).map(|at| key(&format!("s{at}"))) {
        let _ = handles[0].patch(&name, &free, &Preconditions::default()).await;
        let _ = handles[1].delete(&name, &Deletion::default()).await;
    }
    auditor.audit(&store, at).await;
    assert_eq!(records(&store).await, 0, "seed {seed}");
    for server in servers {
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_objects_conflict_at_any_revision() {
    for seed in 0..12 {
        println!("seed {seed}");
        history(seed).await;
    }
}
