//! The underlay: a Linux bridge in a network namespace, to which hosts are connected.

use super::tools::{ip, run};
use crate::scratch::Scratch;
use std::rc::Rc;

pub(super) struct Underlay {
    pub(super) namespace: String,
    scratch: Rc<Scratch>,
}

impl Underlay {
    pub(super) fn new(scratch: &Rc<Scratch>) -> anyhow::Result<Self> {
        let namespace = format!("mb{}-underlay", std::process::id());
        scratch.namespace(&namespace);
        let this = Self { namespace, scratch: scratch.clone() };
        let namespace = &this.namespace;
        run(&mut ip(&format!("netns add {namespace}")))?;
        run(&mut ip(&format!("-n {namespace} link add br0 type bridge")))?;
        run(&mut ip(&format!("-n {namespace} link set br0 up")))?;
        Ok(this)
    }
}

impl Drop for Underlay {
    fn drop(&mut self) {
        self.scratch.delete_namespace(&self.namespace);
    }
}
