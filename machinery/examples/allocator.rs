//! Printers get any one address of a range, and wait in order while it is full, on a server in this
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
    /// A printer that wants any address.
    #[kube(group = "example.com", version = "v1", kind = "Printer", namespaced, status = "PrinterStatus")]
    pub struct PrinterSpec {}

    /// The address with the lock that holds it, or the time since when the printer waits.
    #[derive(PartialEq, Default)]
    pub struct PrinterStatus {
        address: Option<Ipv4Addr>,
        lock: Option<String>,
        waiting_since: Option<String>,
    }

    /// The lock of an address, named after it.
    #[kube(group = "example.com", version = "v1", kind = "PrinterAddress", namespaced)]
    pub struct PrinterAddressSpec {}
}

#[derive(Clone)]
struct Addresses {
    printers: Objects<Printer>,
    pool: Pool<Ipv4Addr>,
    allocator: Allocator<Ipv4Addr, PrinterAddress>,
}

async fn assign(addresses: Addresses, printer: Arc<Printer>, run: Run) -> machinery::Result<Next> {
    let Addresses { printers, pool, allocator } = addresses;
    let PrinterStatus { address, lock, .. } = printer.status.clone().unwrap_or_default();
    let request = AllocationRequest::of(&pool).recorded_under(address, lock.and_then(|lock| Uid::new(&lock)));
    match allocator.allocate(&*printer, &request, &run).await? {
        Allocation::Held(lock) | Allocation::New(lock) => record(&printers, &printer, &lock, &run).await?,
        Allocation::Full(waiter) => {
            let waiting_since = Some(waiter.since.to_string());
            write(&printers, &printer, PrinterStatus { waiting_since, ..PrinterStatus::default() }, &run)
                .await?;
        }
        Allocation::Deleting => {}
    }
    Ok(Next::Done) // a waiter runs again when an address is free
}

/// Records an address, on the condition that its lock is still held.
async fn record(
    printers: &Objects<Printer>,
    printer: &Printer,
    lock: &HeldLock<Ipv4Addr>,
    run: &Run,
) -> machinery::Result {
    let (address, uid) = (Some(*lock.key()), Some(lock.uid().as_str().to_owned()));
    let status = PrinterStatus { address, lock: uid, waiting_since: None };
    write(&printers.fenced(&lock.fence()?), printer, status, run).await
}

async fn write(
    printers: &Objects<Printer>,
    printer: &Printer,
    status: PrinterStatus,
    run: &Run,
) -> machinery::Result {
    if printer.status.as_ref() != Some(&status) {
        let printer = Printer { status: Some(status), ..printer.clone() };
        run.wrote(&printers.update_status(&printer).await?.token, printers);
    }
    Ok(())
}

/// The pool that a printer waits for, and since when: so waiters keep their order across restarts.
fn waiting(pool: &Pool<Ipv4Addr>, printer: &Printer) -> Option<(Pool<Ipv4Addr>, Timestamp)> {
    Some((pool.clone(), printer.status.as_ref()?.waiting_since.as_ref()?.parse().ok()?))
}

#[machinery::tokio::main(crate = "machinery::tokio", flavor = "current_thread")]
async fn main() -> machinery::Result {
    let plane = machinery::embedded().kinds::<(Printer, PrinterAddress)>().start().await?;
    let printers = plane.objects::<Printer>()?;
    let locks = plane.name_locks::<Printer, Ipv4Addr, PrinterAddress>(|_| {
        PrinterAddress::new("", PrinterAddressSpec {})
    })?;
    let pool =
        Pool::range("default/printers".parse()?, Ipv4Addr::new(10, 0, 0, 1)..=Ipv4Addr::new(10, 0, 0, 2))?;
    let allocator = Allocator::new(&locks, AllocatorSettings::new(Timestamp::now));
    let waits_for = pool.clone();
    let controller = plane
        .controller::<Printer>("addresses")?
        .allocating(&allocator, move |printer: &Printer| waiting(&waits_for, printer))?;
    let addresses = Addresses { printers: printers.clone(), pool, allocator };
    plane.spawn(async { controller.run(with(addresses, assign)).await.map(drop) });

    for name in ["a", "b", "c", "d"] {
        let mut printer = Printer::new(name, PrinterSpec {});
        printer.metadata.namespace = Some("default".into());
        printers.create(&printer).await?;
        until(&printers, name, |status| status.address.is_some() || status.waiting_since.is_some()).await?;
    }
    for (leaves, next) in [("a", "c"), ("b", "d")] {
        let leaving = format!("default/{leaves}").parse()?;
        printers.delete(&leaving).await?;
        let status = until(&printers, next, |status| status.address.is_some()).await?;
        println!("{leaves} is deleted, and {next} has {:?}", status.address);
    }
    plane.stop().await;
    Ok(())
}

async fn until(
    printers: &Objects<Printer>,
    name: &str,
    holds: impl Fn(&PrinterStatus) -> bool,
) -> machinery::Result<PrinterStatus> {
    let key = format!("default/{name}").parse()?;
    let wait = async {
        loop {
            let status = printers.get(&key).and_then(|printer| printer.status.clone()).filter(&holds);
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
