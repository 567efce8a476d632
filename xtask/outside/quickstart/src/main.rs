//! A controller that gives each host an address of its rack. It runs on a server of its own, or
//! with `--kubeconfig FILE` on any other.
use machinery::objects::WriteError;
use machinery::{Next, Objects, Run};
use std::sync::Arc;

machinery::kinds! {
    #[kube(group = "example.com", version = "v1", kind = "Host", namespaced, status = "HostStatus")]
    pub struct HostSpec {
        rack: u8,
    }
    #[derive(PartialEq)]
    pub struct HostStatus {
        address: String,
    }
}

async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
    let address = format!("10.0.{}.1", host.spec.rack);
    let status = Some(HostStatus { address: address.clone() });
    if host.status != status {
        let written = hosts.update_status(&Host { status, ..(*host).clone() }).await?;
        run.wrote(&written.token, &hosts); // the next run of this host sees it
    }
    println!("{:?} is at {address}: {:?}", host.metadata.name, run.causes);
    Ok(Next::Done) // an error, or a panic, is retried with back-off
}

#[machinery::tokio::main(crate = "machinery::tokio")]
async fn main() -> machinery::Result {
    let plane = machinery::from_args().kinds::<(Host,)>().start().await?;
    let hosts = plane.objects::<Host>()?;
    for (name, rack) in [("db-0", 17), ("db-1", 18)] {
        let mut host = Host::new(name, HostSpec { rack });
        host.metadata.namespace = Some("default".into());
        let (Ok(_) | Err(WriteError::AlreadyExists { .. })) = hosts.create(&host).await else {
            return Err("it cannot be made".into());
        };
    }
    let controller = plane.controller::<Host>("hosts")?;
    plane.spawn(async { controller.run(machinery::with(hosts, set_address)).await.map(drop) });
    plane.shutdown_on_signal().await
}
