//! The event recorder of a plane.

use std::sync::Arc;

use machinery_controllers::{EventLimits, EventObject, Recorder};
use machinery_objects::Writer;

use super::handle::{Inner, Plane};
use super::transport::Transport;

impl Plane {
    /// Creates an event recorder for a component, which runs until the shutdown and never blocks.
    /// One per program suffices.
    #[must_use]
    pub fn recorder(&self, component: &str) -> Recorder {
        self.0.recorder(component)
    }
}

impl Inner {
    /// As [`Plane::recorder`].
    pub(super) fn recorder(&self, component: &str) -> Recorder {
        let writer: Arc<dyn Writer<EventObject>> = match &self.transport {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, identity, .. } => {
                Arc::new(server.handle_of::<EventObject>(EventObject::kind(), identity.clone()))
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { client, server } => {
                let kind = EventObject::kind();
                Arc::new(machinery_kube::Remote::<EventObject>::new(client.clone(), kind, server.clone()))
            }
        };
        let surroundings = &self.surroundings;
        let writer = surroundings.uncounted_writer(writer);
        let recorder = Recorder::new(component, writer, surroundings.clock(), EventLimits::default());
        self.registry().recorder(component, &recorder);
        self.run_as(&format!("the recorder {component}"), |stopping| recorder.run(stopping));
        recorder
    }
}
