//! The requests of a session: bundles and dumps.

use super::error_codes::SwitchRefusal;
use super::flow_desc::{PORTS_REQUEST, decode_flows, decode_ports, dump_request};
use super::flow_mod::put_flow_mod;
use super::message::{
    Body, Message, bundle, kind, multipart, put_bundle_add, put_bundle_control, put_message, put_multipart,
};
use super::session::OpenFlowSession;
use super::session_errors::unexpected;
use super::{FlowChange, FoundFlow, OpenFlowError, SwitchPort};

const BUNDLE: &str = "a bundle of flow changes";
const REDUCE: &str = "remove the flows of other programs, or raise the limit";

impl OpenFlowSession<'_> {
    /// Applies changes as one atomic, ordered bundle, followed by a barrier.
    pub(super) async fn apply(&mut self, changes: &[FlowChange]) -> Result<(), OpenFlowError> {
        if changes.is_empty() {
            return Ok(());
        }
        let first = self.stage(changes).await?;
        let (commit, barrier) = (self.xid(), self.xid());
        put_bundle_control(&mut self.out, bundle::COMMIT, commit);
        put_message(&mut self.out, kind::BARRIER_REQUEST, barrier, |_| ());
        self.commit(changes, first, commit, barrier).await.map_err(|error| match error {
            OpenFlowError::Refused { .. } | OpenFlowError::RefusedFlow { .. } => error,
            error => OpenFlowError::UnknownOutcome { reason: error.to_string() },
        })
    }

    /// Opens a bundle and adds the changes; returns the identifier of the first. After an error the
    /// bundle is discarded.
    async fn stage(&mut self, changes: &[FlowChange]) -> Result<u32, OpenFlowError> {
        let open = self.xid();
        put_bundle_control(&mut self.out, bundle::OPEN, open);
        let first = open.wrapping_add(1);
        for change in changes {
            let xid = self.xid();
            put_bundle_add(&mut self.out, xid, |out| put_flow_mod(out, xid, change));
        }
        let barrier = self.xid();
        put_message(&mut self.out, kind::BARRIER_REQUEST, barrier, |_| ());
        self.begin_time_limit();
        let mut refused = None;
        loop {
            let Message { xid, body } = self.response(BUNDLE).await?;
            match body {
                Body::Bundle(bundle::OPEN) if xid == open => {}
                Body::Refusal(refusal) if xid == open => {
                    refused.get_or_insert(refusal_of_bundle(refusal));
                }
                Body::Refusal(refusal) => {
                    let error = refusal_of_change(changes, xid.wrapping_sub(first), refusal);
                    if let Some(error) = error {
                        refused.get_or_insert(error);
                    }
                }
                Body::BarrierReply if xid == barrier => break,
                body => self.observe(body)?,
            }
        }
        let Some(error) = refused else { return Ok(first) };
        self.discard().await?;
        Err(error)
    }

    /// Discards the open bundle. A switch may have done so already, and refuses then.
    async fn discard(&mut self) -> Result<(), OpenFlowError> {
        let discard = self.xid();
        put_bundle_control(&mut self.out, bundle::DISCARD, discard);
        self.begin_time_limit();
        loop {
            let Message { xid, body } = self.response(BUNDLE).await?;
            match body {
                Body::Bundle(bundle::DISCARD) | Body::Refusal(_) if xid == discard => return Ok(()),
                body => self.observe(body)?,
            }
        }
    }

    /// Awaits the responses to a commit and the barrier after it.
    async fn commit(
        &mut self,
        changes: &[FlowChange],
        first: u32,
        commit: u32,
        barrier: u32,
    ) -> Result<(), OpenFlowError> {
        self.begin_time_limit();
        let (mut is_committed, mut refused) = (false, None);
        loop {
            let Message { xid, body } = self.response(BUNDLE).await?;
            match body {
                Body::Bundle(bundle::COMMIT) if xid == commit => is_committed = true,
                // The error of a change comes before that of the commit.
                Body::Refusal(refusal) if xid == commit => {
                    refused.get_or_insert(refusal_of_bundle(refusal));
                }
                Body::Refusal(refusal) => {
                    if let Some(error) = refusal_of_change(changes, xid.wrapping_sub(first), refusal) {
                        refused = Some(error);
                    }
                }
                Body::BarrierReply if xid == barrier => break,
                body => self.observe(body)?,
            }
        }
        match refused {
            Some(error) => Err(error),
            None if is_committed => Ok(()),
            None => Err(unexpected(&Body::BarrierReply)),
        }
    }

    /// Returns all flows.
    pub(super) async fn dump(&mut self) -> Result<Vec<FoundFlow>, OpenFlowError> {
        self.collect("a flow dump", multipart::FLOW_DESC, &dump_request(), decode_flows).await
    }

    /// Returns all ports.
    pub(super) async fn ports(&mut self) -> Result<Vec<SwitchPort>, OpenFlowError> {
        self.collect("a port description", multipart::PORT_DESC, &PORTS_REQUEST, decode_ports).await
    }

    /// Sends a multipart request and decodes all parts of its response.
    async fn collect<T>(
        &mut self,
        request: &'static str,
        part: u16,
        body: &[u8],
        decode: fn(&[u8]) -> Result<Vec<T>, OpenFlowError>,
    ) -> Result<Vec<T>, OpenFlowError> {
        let number = self.xid();
        put_multipart(&mut self.out, part, number, body);
        self.begin_time_limit();
        let mut all = Vec::new();
        loop {
            let Message { xid, body } = self.response(request).await?;
            match body {
                Body::Multipart { kind, has_more, bytes } if kind == part && xid == number => {
                    all.extend(decode(&bytes)?);
                    self.begin_time_limit();
                    let limit = self.settings.max_flows;
                    if all.len() > limit {
                        return Err(OpenFlowError::TooLarge { subject: request, limit, remedy: REDUCE });
                    }
                    if !has_more {
                        return Ok(all);
                    }
                }
                Body::Refusal(refusal) if xid == number => {
                    return Err(OpenFlowError::Refused { request, reason: refusal.to_string() });
                }
                body => self.observe(body)?,
            }
        }
    }
}

fn refusal_of_bundle(refusal: SwitchRefusal) -> OpenFlowError {
    if refusal.is_unknown_request() {
        let remedy = "OpenFlow 1.5 with bundles is needed: Open vSwitch 2.8 or later";
        return OpenFlowError::Unsupported { feature: "bundles", remedy };
    }
    OpenFlowError::Refused { request: BUNDLE, reason: refusal.to_string() }
}

/// Returns the error that names a change by its number in the bundle; `None` for another request.
fn refusal_of_change(changes: &[FlowChange], number: u32, refusal: SwitchRefusal) -> Option<OpenFlowError> {
    let change = changes.get(usize::try_from(number).ok()?)?;
    if refusal.is_unknown_request() {
        return Some(refusal_of_bundle(refusal));
    }
    Some(OpenFlowError::RefusedFlow { flow: change.to_string(), reason: refusal.to_string() })
}
