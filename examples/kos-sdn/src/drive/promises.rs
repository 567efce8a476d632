//! What every fabric promises: each is held against the same.

use std::sync::Arc;

use machinery::tokio;
use tokio_util::task::TaskTracker;

use super::sim::{SimLimits, Underlay};
use super::{Audit, Fabric, FabricError, Listed, LogFabric};
use crate::model::Vni;
use crate::plan::{Local, Remote};

fn local(vni: u32, low: u8) -> Local {
    Local::new(Vni::new(vni).unwrap(), [10, 0, 0, low].into())
}

fn remote(vni: u32, low: u8, host: u8) -> Remote {
    Remote::new(Vni::new(vni).unwrap(), [10, 0, 0, low].into(), [192, 0, 2, host].into())
}

fn fabrics() -> [Arc<dyn Fabric>; 2] {
    let underlay = Underlay::new(SimLimits::default());
    [Arc::new(LogFabric::new()), Arc::new(underlay.join([192, 0, 2, 1].into()).unwrap())]
}

#[tokio::test]
async fn every_fabric_keeps_its_promises() {
    for fabric in fabrics() {
        assert_eq!(fabric.list().await, Ok(Listed::default()));
        an_address_is_one_interface(&*fabric).await;
        what_is_not_there_is_deleted(&*fabric).await;
        of_two_at_once_one_is_made(fabric.clone()).await;
        assert_eq!(fabric.audit().await, Ok(Audit::default()), "{}", fabric.name());
        assert_eq!(fabric.list().await, Ok(Listed::default()));
    }
}

/// The logger of the original made as many as it was asked for.
async fn an_address_is_one_interface(fabric: &dyn Fabric) {
    let is_taken = |found: Result<(), FabricError>| {
        assert!(matches!(found, Err(FabricError::Taken { .. })), "{found:?}")
    };
    fabric.create_local(&local(1, 2)).await.unwrap();
    is_taken(fabric.create_local(&local(1, 2)).await);
    is_taken(fabric.create_remote(&remote(1, 2, 9)).await);
    fabric.create_remote(&remote(2, 2, 9)).await.unwrap();
    is_taken(fabric.create_remote(&remote(2, 2, 9)).await);
    is_taken(fabric.create_remote(&remote(2, 2, 8)).await);
    is_taken(fabric.create_local(&local(2, 2)).await);
    let listed = Listed { locals: vec![local(1, 2)], remotes: vec![remote(2, 2, 9)] };
    assert_eq!(fabric.list().await, Ok(listed));
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.create_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(2, 2, 9)).await.unwrap();
}

/// With the original a port that was gone could never be deleted.
async fn what_is_not_there_is_deleted(fabric: &dyn Fabric) {
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.create_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 8)).await.unwrap();
    fabric.delete_local(&local(1, 2)).await.unwrap();
    assert_eq!(fabric.list().await.unwrap().remotes, [remote(1, 2, 9)], "what is there instead stays");
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
}

async fn of_two_at_once_one_is_made(fabric: Arc<dyn Fabric>) {
    let tasks = TaskTracker::new();
    let here = tasks.spawn({
        let fabric = fabric.clone();
        async move { fabric.create_local(&local(1, 2)).await }
    });
    let there = tasks.spawn({
        let fabric = fabric.clone();
        async move { fabric.create_remote(&remote(1, 2, 9)).await }
    });
    let made = [here.await.unwrap(), there.await.unwrap()].iter().filter(|made| made.is_ok()).count();
    assert_eq!(made, 1);
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
}
