//! Configuration of a leader election.

use std::time::Duration;

use machinery_objects::ObjectKey;

/// Lease, identity and timing of a leader election, with the names, defaults and rules of
/// client-go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionConfig {
    /// Namespace and name of the Lease.
    pub lease: ObjectKey,
    /// Identity of the candidate, written into the Lease. It must be unique, also across restarts
    /// of a process.
    pub identity: String,
    /// Time after which candidates may take an unrenewed Lease. Whole seconds, as in the Lease.
    /// Default: 15 s.
    pub lease_duration: Duration,
    /// Time after its last renewal at which a leader gives up. Default: 10 s. On a server without
    /// fences, the difference to `lease_duration` (5 s) is the time for work to end, even if a
    /// controller's `Settings::drain` is longer ([`Term::within`](super::Term::within)).
    pub renew_deadline: Duration,
    /// Interval of renewals; candidates poll at 1 to 2.2 times this interval. Default: 2 s.
    pub retry_period: Duration,
    /// Seed of the polling jitter; it should differ between candidates.
    pub seed: u64,
}

/// Invalid [`ElectionConfig`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionConfigError {
    /// The Lease has no namespace.
    #[error("the Lease {0} has no namespace: add one")]
    NoNamespace(ObjectKey),
    /// The identity is empty, which marks a free Lease.
    #[error("the identity is empty, which marks a free Lease")]
    NoIdentity,
    /// The duration is not a whole number of seconds from 1 to 2³¹ − 1.
    #[error("a Lease cannot hold {0:?}: use whole seconds, from 1 to 2147483647")]
    LeaseDuration(Duration),
    /// A leader has to stop before others may take the Lease.
    #[error("lease_duration {lease_duration:?} must be longer than renew_deadline {renew_deadline:?}")]
    NoTimeToStop {
        /// The lease duration.
        lease_duration: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
    },
    /// The deadline leaves no time for a retry.
    #[error("renew_deadline {renew_deadline:?} must be longer than 1.2 times retry_period {retry_period:?}")]
    NoTimeToRetry {
        /// The renew deadline.
        renew_deadline: Duration,
        /// The retry period.
        retry_period: Duration,
    },
    /// The retry period is zero.
    #[error("retry_period must not be zero")]
    NoRetryPeriod,
}

impl ElectionConfig {
    /// Creates a configuration with the default timing.
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

    /// Validates the configuration.
    ///
    /// # Errors
    /// The first violated rule.
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
        // 1.2, the jitter factor of client-go, in integers.
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
