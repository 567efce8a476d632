//! The server side of the model: one Lease.

use std::sync::Arc;

use machinery_objects::{Conflict, Object, Uid, WriteError};

use crate::lease::Lease;
use crate::lease::election::messages::Input;

/// A request to the store, or its response.
pub(super) enum Message {
    Read,
    Create(Lease),
    Update(Lease),
    Answer(Input),
}

/// The stored Lease.
#[derive(Default)]
pub(super) struct Store {
    pub(super) lease: Option<Lease>,
    pub(super) version: u64,
    uids: u64,
}

impl Store {
    pub(super) fn put(&mut self, lease: &Lease, uid: &str) -> Lease {
        self.version += 1;
        let mut value = serde_json::to_value(lease).unwrap();
        value["metadata"]["resourceVersion"] = self.version.to_string().into();
        value["metadata"]["uid"] = uid.into();
        let stored: Lease = serde_json::from_value(value).unwrap();
        self.lease = Some(stored.clone());
        stored
    }

    pub(super) fn answer(&mut self, message: Message) -> Input {
        match (message, self.lease.clone()) {
            (Message::Read, there) => Input::Read(Ok(there.map(Arc::new))),
            (Message::Create(_), Some(_)) => Input::Wrote(Err(WriteError::AlreadyExists { uid: None })),
            (Message::Create(lease), None) => {
                self.uids += 1;
                let uid = format!("u{}", self.uids);
                Input::Wrote(Ok(self.put(&lease, &uid)))
            }
            (Message::Update(_), None) => Input::Wrote(Err(WriteError::NotFound)),
            (Message::Update(lease), Some(there)) if lease.version() == there.version() => {
                Input::Wrote(Ok(self.put(&lease, there.uid().unwrap())))
            }
            (Message::Update(_), Some(_)) => {
                Input::Wrote(Err(WriteError::Conflict(Conflict::Version { found: None })))
            }
            (Message::Answer(_), _) => unreachable!("answers are not for the store"),
        }
    }

    /// Returns whether the store would accept a write under this fence.
    pub(super) fn holds(&self, (uid, epoch): &(Uid, u64)) -> bool {
        self.lease
            .as_ref()
            .is_some_and(|lease| lease.typed_uid().as_ref() == Some(uid) && lease.epoch() == Some(*epoch))
    }
}
