//! Events for people.

use std::sync::Arc;

use jiff::Timestamp;
use machinery_controllers::{EventLimits, EventObject, Recorder};
use machinery_objects::Writer;

use super::handle::Plane;
use super::transport::Transport;

impl Plane {
    /// Writes events for people, in the name of a component, as long as the plane runs; it holds up nobody. One is enough for a program.
    #[must_use]
    pub fn recorder(&self, component: &str) -> Recorder {
        let writer: Arc<dyn Writer<EventObject>> = match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, .. } => {
                Arc::new(server.handle_of::<EventObject>(EventObject::kind(), super::transport::identity()))
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { client, server } => {
                let kind = EventObject::kind();
                Arc::new(machinery_kube::Remote::<EventObject>::new(client.clone(), kind, server.clone()))
            }
        };
        let recorder = Recorder::new(component, writer, Timestamp::now, EventLimits::default());
        self.registry().recorder(component, &recorder);
        self.run_as(&format!("the recorder {component}"), |stopping| recorder.run(stopping));
        recorder
    }
}
