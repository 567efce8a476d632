//! Hosts get any one address of a range, and wait in order while it is full, on a server in this
//! process: `cargo run -p machinery --example allocator`.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinery::controllers::{Allocation, AllocationRequest, Allocator, AllocatorSettings, HeldLock, Pool};
use machinery::objects::Uid;
use machinery::tokio::time::{sleep, timeout};
use machinery::{Next, Objects, Run, with};

machinery::kinds! {
    /// A host that wants any address.
    #[kube(group = "example.com", version = "v1", kind = "Host", namespaced, status = "AddressedStatus")]
    pub struct AddressedSpec {}

    /// The address with the lock that holds it, or the time since when the host waits.
    #[derive(PartialEq, Default)]
    pub struct AddressedStatus {
        address: Option<Ipv4Addr>,
        lock: Option<String>,
        waiting_since: Option<String>,
    }

    /// The lock of an address, named after it.
    #[kube(group = "example.com", version = "v1", kind = "HostAddress", namespaced)]
    pub struct HostAddressSpec {}
}

#[derive(Clone)]
struct Addresses {
    hosts: Objects<Host>,
    pool: Pool<Ipv4Addr>,
    allocator: Allocator<Ipv4Addr, HostAddress>,
}

async fn assign(addresses: Addresses, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
    let Addresses { hosts, pool, allocator } = addresses;
    let AddressedStatus { address, lock, .. } = host.status.clone().unwrap_or_default();
    let request = AllocationRequest::of(&pool).recorded_under(address, lock.and_then(|lock| Uid::new(&lock)));
    match allocator.allocate(&*host, &request, &run).await? {
        Allocation::Held(lock) | Allocation::New(lock) => record(&hosts, &host, &lock, &run).await?,
        Allocation::Full(waiter) => {
            let waiting_since = Some(waiter.since.to_string());
            write(&hosts, &host, AddressedStatus { waiting_since, ..AddressedStatus::default() }, &run)
                .await?;
        }
        Allocation::Deleting => {}
    }
    Ok(Next::Done) // a waiter runs again when an address is free
}

/// Records an address, on the condition that its lock is still held.
async fn record(
    hosts: &Objects<Host>,
    host: &Host,
    lock: &HeldLock<Ipv4Addr>,
    run: &Run,
) -> machinery::Result {
    let (address, uid) = (Some(*lock.key()), Some(lock.uid().as_str().to_owned()));
    let status = AddressedStatus { address, lock: uid, waiting_since: None };
    write(&hosts.fenced(&lock.fence()?), host, status, run).await
}

async fn write(hosts: &Objects<Host>, host: &Host, status: AddressedStatus, run: &Run) -> machinery::Result {
    if host.status.as_ref() != Some(&status) {
        let host = Host { status: Some(status), ..host.clone() };
        run.wrote(&hosts.update_status(&host).await?.token, hosts);
    }
    Ok(())
}

/// The pool that a host waits for, and since when: so waiters keep their order across restarts.
fn waiting(pool: &Pool<Ipv4Addr>, host: &Host) -> Option<(Pool<Ipv4Addr>, Timestamp)> {
    Some((pool.clone(), host.status.as_ref()?.waiting_since.as_ref()?.parse().ok()?))
}

/// Runs the example.
#[machinery::tokio::main(crate = "machinery::tokio", flavor = "current_thread")]
pub async fn main() -> machinery::Result {
    let plane = machinery::embedded().kinds::<(Host, HostAddress)>().start().await?;
    let hosts = plane.objects::<Host>()?;
    let locks =
        plane.name_locks::<Host, Ipv4Addr, HostAddress>(|_| HostAddress::new("", HostAddressSpec {}))?;
    let pool =
        Pool::range("default/hosts".parse()?, Ipv4Addr::new(10, 0, 0, 1)..=Ipv4Addr::new(10, 0, 0, 2))?;
    let allocator = Allocator::new(&locks, AllocatorSettings::new(Timestamp::now));
    let waits_for = pool.clone();
    let controller = plane
        .controller::<Host>("addresses")?
        .allocating(&allocator, move |host: &Host| waiting(&waits_for, host))?;
    let addresses = Addresses { hosts: hosts.clone(), pool, allocator };
    plane.spawn(async { controller.run(with(addresses, assign)).await.map(drop) });

    for name in ["a", "b", "c", "d"] {
        let mut host = Host::new(name, AddressedSpec {});
        host.metadata.namespace = Some("default".into());
        hosts.create(&host).await?;
        until(&hosts, name, |status| status.address.is_some() || status.waiting_since.is_some()).await?;
    }
    for (leaves, next) in [("a", "c"), ("b", "d")] {
        let leaving = format!("default/{leaves}").parse()?;
        hosts.delete(&leaving).await?;
        let status = until(&hosts, next, |status| status.address.is_some()).await?;
        println!("{leaves} is deleted, and {next} has {:?}", status.address);
    }
    plane.stop().await;
    Ok(())
}

async fn until(
    hosts: &Objects<Host>,
    name: &str,
    holds: impl Fn(&AddressedStatus) -> bool,
) -> machinery::Result<AddressedStatus> {
    let key = format!("default/{name}").parse()?;
    let wait = async {
        loop {
            let status = hosts.get(&key).and_then(|host| host.status.clone()).filter(&holds);
            match status {
                Some(status) => return status,
                None => sleep(Duration::from_millis(2)).await,
            }
        }
    };
    Ok(timeout(Duration::from_secs(60), wait).await?)
}

#[test]
fn the_program_ends() {
    main().unwrap();
}
