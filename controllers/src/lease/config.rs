//! What an election is for, and its times.

use std::time::Duration;

use machinery_objects::ObjectKey;

/// Which Lease, for whom, and the times of client-go, with its defaults and under its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionConfig {
    /// The Lease: a namespace and a name.
    pub lease: ObjectKey,
    /// Whose name stands in it. No two candidates may have the same, and a process that is started again is another one.
    pub identity: String,
    /// How long the others wait when they see no renewal. It stands in the Lease, so it is of whole seconds. Default: 15 s.
    pub lease_duration: Duration,
    /// How long after its last renewal a leader stops leading. Default: 10 s. What is left until `lease_duration` is the time that work has to
    /// end where the server holds no fences: 5 s, whatever a controller's `Settings::drain` says ([`Term::within`](super::Term::within)).
    pub renew_deadline: Duration,
    /// How often a leader renews; the others look as often as that, or up to 2.2 times as seldom. Default: 2 s.
    pub retry_period: Duration,
    /// What differs from one candidate to the next, so that they do not all look at the same time.
    pub seed: u64,
}

/// What makes no sense in an [`ElectionConfig`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionConfigError {
    /// Leases are in a namespace.
    #[error("the Lease {0} has no namespace: say in which it is")]
    NoNamespace(ObjectKey),
    /// Nobody's name is that of a Lease that is free.
    #[error("the identity is empty, which in a Lease says that it is free")]
    NoIdentity,
    /// A Lease says it in whole seconds, at least one, in 32 bits.
    #[error("a Lease cannot say {0:?}: take whole seconds, from 1 to 2147483647")]
    LeaseDuration(Duration),
    /// A leader must have stopped before others may begin.
    #[error("lease_duration {lease_duration:?} must be longer than renew_deadline {renew_deadline:?}")]
    NoTimeToStop {
        /// How long others wait.
        lease_duration: Duration,
        /// When a leader stops.
        renew_deadline: Duration,
    },
    /// There must be time to try twice.
    #[error("renew_deadline {renew_deadline:?} must be longer than 1.2 times retry_period {retry_period:?}")]
    NoTimeToRetry {
        /// When a leader stops.
        renew_deadline: Duration,
        /// How often it tries.
        retry_period: Duration,
    },
    /// It would ask without a pause.
    #[error("retry_period must be longer than nothing")]
    NoRetryPeriod,
}

impl ElectionConfig {
    /// With the defaults.
    #[must_use]
    pub fn new(lease: ObjectKey, identity: &str, seed: u64) -> Self {
        Self {
            lease,
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            seed,
        }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), ElectionConfigError> {
        let Self { lease, identity, lease_duration, renew_deadline, retry_period, .. } = self;
        let (lease_duration, renew_deadline, retry_period) =
            (*lease_duration, *renew_deadline, *retry_period);
        if lease.namespace().is_none() {
            return Err(ElectionConfigError::NoNamespace(lease.clone()));
        }
        if identity.is_empty() {
            return Err(ElectionConfigError::NoIdentity);
        }
        let is_whole = lease_duration.subsec_nanos() == 0 && !lease_duration.is_zero();
        if !is_whole || i32::try_from(lease_duration.as_secs()).is_err() {
            return Err(ElectionConfigError::LeaseDuration(lease_duration));
        }
        if lease_duration <= renew_deadline {
            return Err(ElectionConfigError::NoTimeToStop { lease_duration, renew_deadline });
        }
        if renew_deadline.as_nanos() * 5 <= retry_period.as_nanos() * 6 {
            return Err(ElectionConfigError::NoTimeToRetry { renew_deadline, retry_period });
        }
        if retry_period.is_zero() { Err(ElectionConfigError::NoRetryPeriod) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p16_the_rules_for_the_times_are_those_of_client_go() {
        let secs = Duration::from_secs;
        let config = ElectionConfig::new("kube-system/hosts".parse().unwrap(), "a", 0);
        assert_eq!(
            (config.lease_duration, config.renew_deadline, config.retry_period),
            (secs(15), secs(10), secs(2))
        );
        let check = |change: &dyn Fn(&mut ElectionConfig), expected: Result<(), ElectionConfigError>| {
            let mut config = config.clone();
            change(&mut config);
            assert_eq!(config.check(), expected);
        };
        let of_times = |lease_duration, renew_deadline, retry_period| {
            move |config: &mut ElectionConfig| {
                *config = ElectionConfig { lease_duration, renew_deadline, retry_period, ..config.clone() };
            }
        };
        let no_stop = |lease_duration, renew_deadline| {
            Err(ElectionConfigError::NoTimeToStop { lease_duration, renew_deadline })
        };
        let no_retry = |renew_deadline, retry_period| {
            Err(ElectionConfigError::NoTimeToRetry { renew_deadline, retry_period })
        };
        check(&|_| (), Ok(()));
        check(&of_times(secs(10), secs(10), secs(2)), no_stop(secs(10), secs(10)));
        check(&of_times(secs(15), secs(12), secs(10)), no_retry(secs(12), secs(10)));
        check(&of_times(secs(15), secs(13), secs(10)), Ok(()));
        check(&of_times(secs(15), secs(0), secs(0)), no_retry(secs(0), secs(0)));
        check(&of_times(secs(15), secs(2), secs(0)), Err(ElectionConfigError::NoRetryPeriod));
        check(
            &of_times(Duration::MAX, secs(2), secs(1)),
            Err(ElectionConfigError::LeaseDuration(Duration::MAX)),
        );
        check(&of_times(secs(15), Duration::MAX, Duration::MAX), no_stop(secs(15), Duration::MAX));
        for odd in [Duration::ZERO, Duration::from_millis(1500), secs(1 << 31)] {
            check(&of_times(odd, secs(1), secs(0)), Err(ElectionConfigError::LeaseDuration(odd)));
        }
        check(&|config| config.identity.clear(), Err(ElectionConfigError::NoIdentity));
        let bare: ObjectKey = "hosts".parse().unwrap();
        check(&|config| config.lease = "hosts".parse().unwrap(), Err(ElectionConfigError::NoNamespace(bare)));
    }
}
