use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum DeploymentChange {
    Scale(i32),
    Roll(u8),
    Unready(usize),
    Ready(usize),
    Kill(usize),
    Step,
}

fn change() -> impl Strategy<Value = DeploymentChange> {
    prop_oneof![
        (0..5).prop_map(DeploymentChange::Scale),
        (0_u8..3).prop_map(DeploymentChange::Roll),
        (0_usize..6).prop_map(DeploymentChange::Unready),
        (0_usize..6).prop_map(DeploymentChange::Ready),
        (0_usize..6).prop_map(DeploymentChange::Kill),
        Just(DeploymentChange::Step),
        Just(DeploymentChange::Step),
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
                DeploymentChange::Scale(to) => { replicas = to; cluster.scale(to); }
                DeploymentChange::Roll(to) => { image = format!("v{to}"); cluster.roll(&image); }
                DeploymentChange::Unready(number) => cluster.set_ready(number, false),
                DeploymentChange::Ready(number) => cluster.set_ready(number, true),
                DeploymentChange::Kill(number) => if number < cluster.pods.len() { cluster.pods.remove(number); },
                DeploymentChange::Step => { cluster.step(); }
            }
        }
        cluster.settle();
        let images = cluster.images();
        prop_assert_eq!(images.len(), usize::try_from(replicas).unwrap());
        prop_assert!(images.iter().all(|one| *one == image), "{:?}", images);
        prop_assert_eq!(cluster.plan(), vec![]);
    }
}
