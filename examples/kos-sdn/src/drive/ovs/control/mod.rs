//! The control socket of ovs-vswitchd.
