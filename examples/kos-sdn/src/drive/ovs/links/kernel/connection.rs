//! A netlink connection to one namespace, and requests over it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use futures::TryStreamExt as _;
use machinery::tokio::time::sleep;
use machinery::tokio_util::task::TaskTracker;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::{AddressMessageBuilder, Handle, LinkMessageBuilder, LinkUnspec};
use rustix::io::Errno;

use super::thread::NamespaceThread;
use crate::drive::ovs::links::{InterfaceAddress, Link, LinkChange, LinkError, LinkPlace};
use crate::plan::Mac;

/// A connection to a namespace. While it exists, the namespace does, too.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    handle: Handle,
    place: LinkPlace,
}

/// The loopback interface is the first of its namespace.
const LOOPBACK_INDEX: u32 = 1;
const BUSY_ATTEMPTS: usize = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(5);

impl Connection {
    /// Connects to an open namespace. The task ends with the last clone of the connection.
    pub(super) async fn open(
        thread: &NamespaceThread,
        tasks: &TaskTracker,
        namespace: OwnedFd,
        place: LinkPlace,
    ) -> Result<Self, LinkError> {
        let (connection, handle, _) = thread.run_in(namespace, rtnetlink::new_connection).await?;
        tasks.spawn(connection);
        Ok(Self { handle, place })
    }

    /// Creates an unnamed namespace with a mark, and returns it.
    pub(super) async fn create_namespace(
        thread: &NamespaceThread,
        tasks: &TaskTracker,
        mark: &str,
    ) -> Result<OwnedFd, LinkError> {
        let open = || {
            let file = super::named::open_namespace("/proc/thread-self/ns/net".as_ref())?;
            Ok((file, rtnetlink::new_connection()?))
        };
        let (file, (connection, handle, _)) = thread.run_in_new(open).await?;
        tasks.spawn(connection);
        let message = LinkUnspec::new_with_index(LOOPBACK_INDEX).alias(mark).build();
        let marked = handle.link().change(message).execute().await;
        marked.map_err(|error| LinkError::of_netlink("marking a network namespace", &error))?;
        Ok(file)
    }

    /// Returns the mark of the namespace, and whether its loopback interface is up.
    pub(super) async fn mark(&self) -> Result<(Option<String>, bool), LinkError> {
        let found = self.handle.link().get().match_index(LOOPBACK_INDEX).execute().try_next().await;
        let found = found.map_err(|error| self.failed("reading the mark", &error))?;
        let Some(message) = found else { return Ok((None, false)) };
        let is_up = message.header.flags.contains(LinkFlags::Up);
        let alias = message.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::IfAlias(alias) => Some(alias),
            _ => None,
        });
        Ok((alias, is_up))
    }

    /// Lists the links, without loopback interfaces, by index.
    pub(super) async fn list(&self) -> Result<Vec<Link>, LinkError> {
        // The kernel refuses a dump while the dump of a dropped future runs on the same socket.
        for _ in 0..BUSY_ATTEMPTS {
            match self.list_once().await {
                Err((_, error)) if errno(&error) == Some(Errno::BUSY) => sleep(BUSY_PAUSE).await,
                result => return result.map_err(|(what, error)| self.failed(what, &error)),
            }
        }
        self.list_once().await.map_err(|(what, error)| self.failed(what, &error))
    }

    async fn list_once(&self) -> Result<Vec<Link>, (&'static str, rtnetlink::Error)> {
        let links: Vec<LinkMessage> = self
            .handle
            .link()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(|error| ("listing links", error))?;
        let mut request = self.handle.address().get();
        request.message_mut().header.family = AddressFamily::Inet;
        let addresses: Vec<AddressMessage> =
            request.execute().try_collect().await.map_err(|error| ("listing addresses", error))?;
        let mut by_index: BTreeMap<u32, Vec<InterfaceAddress>> = BTreeMap::new();
        for message in addresses {
            if let Some(address) = interface_address(&message) {
                by_index.entry(message.header.index).or_default().push(address);
            }
        }
        let is_loopback = |message: &LinkMessage| message.header.flags.contains(LinkFlags::Loopback);
        let mut links: Vec<_> = links
            .into_iter()
            .filter(|message| !is_loopback(message))
            .filter_map(|message| {
                let addresses = by_index.remove(&message.header.index).unwrap_or_default();
                link(message, self.place.clone(), addresses)
            })
            .collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// Returns the index of a link, or `None` if it is missing.
    pub(super) async fn index(&self, name: &str) -> Result<Option<u32>, LinkError> {
        match self.handle.link().get().match_name(name).execute().try_next().await {
            Ok(message) => Ok(message.map(|message| message.header.index)),
            Err(error) if errno(&error) == Some(Errno::NODEV) => Ok(None),
            Err(error) => Err(self.failed(&format!("finding {name}"), &error)),
        }
    }

    /// Changes attributes of a link.
    pub(super) async fn set(&self, name: &str, change: LinkChange) -> Result<(), LinkError> {
        let mut builder = LinkUnspec::new_with_name(name);
        if let Some(Mac(mac)) = change.mac {
            builder = builder.address(mac.to_vec());
        }
        if let Some(mtu) = change.mtu {
            builder = builder.mtu(mtu);
        }
        builder = match change.up {
            Some(true) => builder.up(),
            Some(false) => builder.down(),
            None => builder,
        };
        self.change(&format!("setting {name}"), name, builder).await
    }

    /// Moves a link into another namespace.
    pub(super) async fn move_to(&self, name: &str, index: u32, to: &OwnedFd) -> Result<(), LinkError> {
        let builder = LinkUnspec::new_with_index(index).setns_by_fd(to.as_raw_fd());
        self.change(&format!("moving {name}"), name, builder).await
    }

    /// Adds an address. One that the link has is no error.
    pub(super) async fn add_address(&self, name: &str, address: InterfaceAddress) -> Result<(), LinkError> {
        let index = self.required_index(name).await?;
        let InterfaceAddress { address, prefix } = address;
        match self.handle.address().add(index, IpAddr::V4(address), prefix).execute().await {
            Err(error) if errno(&error) != Some(Errno::EXIST) => {
                Err(self.failed(&format!("adding {address}/{prefix} to {name}"), &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes an address. A missing one is no error.
    pub(super) async fn delete_address(
        &self,
        name: &str,
        address: InterfaceAddress,
    ) -> Result<(), LinkError> {
        let index = self.required_index(name).await?;
        let InterfaceAddress { address, prefix } = address;
        let message = AddressMessageBuilder::<Ipv4Addr>::new().index(index).address(address, prefix).build();
        match self.handle.address().del(message).execute().await {
            Err(error) if errno(&error) != Some(Errno::ADDRNOTAVAIL) => {
                Err(self.failed(&format!("removing {address}/{prefix} from {name}"), &error))
            }
            _ => Ok(()),
        }
    }

    /// Deletes a link. A missing one is no error.
    pub(super) async fn delete(&self, name: &str, index: u32) -> Result<(), LinkError> {
        match self.handle.link().del(index).execute().await {
            Err(error) if errno(&error) != Some(Errno::NODEV) => {
                Err(self.failed(&format!("deleting {name}"), &error))
            }
            _ => Ok(()),
        }
    }

    async fn change(
        &self,
        operation: &str,
        name: &str,
        builder: LinkMessageBuilder<LinkUnspec>,
    ) -> Result<(), LinkError> {
        match self.handle.link().change(builder.build()).execute().await {
            Err(error) if errno(&error) == Some(Errno::NODEV) => Err(self.missing(name)),
            Err(error) => Err(self.failed(operation, &error)),
            Ok(()) => Ok(()),
        }
    }

    async fn required_index(&self, name: &str) -> Result<u32, LinkError> {
        self.index(name).await?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> LinkError {
        LinkError::LinkMissing { place: self.place.clone(), name: name.into() }
    }

    fn failed(&self, operation: &str, error: &rtnetlink::Error) -> LinkError {
        LinkError::of_netlink(&format!("{operation} in {}", self.place), error)
    }
}

/// Returns the error number that the kernel answered.
pub(in crate::drive::ovs::links) fn errno(error: &rtnetlink::Error) -> Option<Errno> {
    match error {
        rtnetlink::Error::NetlinkError(message) => {
            Some(Errno::from_raw_os_error(message.raw_code().checked_neg()?))
        }
        _ => None,
    }
}

fn link(message: LinkMessage, place: LinkPlace, mut addresses: Vec<InterfaceAddress>) -> Option<Link> {
    addresses.sort_unstable();
    let (index, flags) = (message.header.index, message.header.flags);
    let (mut name, mut mac, mut mtu) = (None, None, 0);
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text),
            LinkAttribute::Address(bytes) => mac = bytes.try_into().ok().map(Mac),
            LinkAttribute::Mtu(bytes) => mtu = bytes,
            _ => {}
        }
    }
    let (up, carrier) = (flags.contains(LinkFlags::Up), flags.contains(LinkFlags::LowerUp));
    Some(Link { place, index, name: name?, mac, mtu, up, carrier, addresses })
}

fn interface_address(message: &AddressMessage) -> Option<InterfaceAddress> {
    let prefix = message.header.prefix_len;
    // `Local` is the interface's own; `Address` is the peer's on point-to-point links.
    message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(IpAddr::V4(address)) => Some(InterfaceAddress { address: *address, prefix }),
        _ => None,
    })
}
