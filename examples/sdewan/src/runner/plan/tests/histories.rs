use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Change {
    Scale(i32),
    Roll(u8),
    Unready(usize),
    Ready(usize),
    Kill(usize),
    Step,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..5).prop_map(Change::Scale),
        (0_u8..3).prop_map(Change::Roll),
        (0_usize..6).prop_map(Change::Unready),
        (0_usize..6).prop_map(Change::Ready),
        (0_usize..6).prop_map(Change::Kill),
        Just(Change::Step),
        Just(Change::Step),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_history_ends_with_the_desired_pods_of_the_newest_template(changes in prop::collection::vec(change(), 0..40)) {
        let mut cluster = Cluster::new(json!({"replicas": 2}));
        let (mut replicas, mut image) = (2, "v9".to_owned());
        cluster.roll(&image);
        for change in changes {
            match change {
                Change::Scale(to) => { replicas = to; cluster.scale(to); }
                Change::Roll(to) => { image = format!("v{to}"); cluster.roll(&image); }
                Change::Unready(number) => cluster.set_ready(number, false),
                Change::Ready(number) => cluster.set_ready(number, true),
                Change::Kill(number) => if number < cluster.pods.len() { cluster.pods.remove(number); },
                Change::Step => { cluster.step(); }
            }
        }
        cluster.settle();
        let images = cluster.images();
        prop_assert_eq!(images.len(), usize::try_from(replicas).unwrap());
        prop_assert!(images.iter().all(|one| *one == image), "{:?}", images);
        prop_assert_eq!(cluster.plan(), vec![]);
    }
}
