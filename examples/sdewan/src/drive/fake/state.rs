//! The state of a CNF in memory, with its checks of names and references.

use std::collections::{BTreeMap, BTreeSet};

use super::{FakeCall, Fault, FaultKind};
use crate::drive::{CnfError, CnfErrorClass, CnfInterface, ConfigTag, Refusal};
use crate::model::{Desired, Field, Observed, Reference, Shape, is_built_in, references};

/// The state of a CNF.
#[derive(Debug)]
pub(super) struct FakeState {
    pub(super) interface: CnfInterface,
    pub(super) nics: Vec<String>,
    pub(super) config: Observed,
    pub(super) version: u64,
    pub(super) calls: Vec<FakeCall>,
    pub(super) faults: Vec<Fault>,
    pub(super) restarts: usize,
}

impl FakeState {
    pub(super) fn take_fault(&mut self, call: &str) -> Option<FaultKind> {
        let fault = self.faults.iter_mut().find(|fault| fault.count > 0 && call.starts_with(&fault.call))?;
        fault.count -= 1;
        Some(fault.kind.clone())
    }

    pub(super) fn tag(&self) -> ConfigTag {
        ConfigTag(format!("\"{}\"", self.version))
    }

    /// Returns the reasons why a configuration is refused.
    pub(super) fn check(&self, config: &Observed) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        let mut names: BTreeMap<(&str, &str), ()> = BTreeMap::new();
        for (collection, objects) in &config.objects {
            for one in objects {
                let refuse = |code, message: String| Refusal {
                    collection: *collection,
                    name: one.object.name().to_owned(),
                    code,
                    message,
                    is_removal: false,
                };
                let space = collection.row().name_space;
                for name in one.object.taken_names() {
                    let is_nic = space == "mwan3" && self.nics.iter().any(|nic| nic == name);
                    if names.insert((space, name), ()).is_some() || is_nic {
                        refusals.push(refuse(409, "Conflict".into()));
                    }
                }
                if let Some(missing) = self.missing(config, collection.fields(), one.object.fields()) {
                    refusals.push(refuse(428, missing));
                }
            }
        }
        refusals
    }

    /// Returns the reasons why a v2 write is refused: those of its own objects, and the own objects
    /// that it removes although those of others refer to them.
    pub(super) fn check_write(&self, desired: &Desired, config: &Observed) -> Vec<Refusal> {
        let is_own = |refusal: &Refusal| {
            refusal.code != 428 || desired.of(refusal.collection).iter().any(|one| one.name() == refusal.name)
        };
        let mut refusals: Vec<_> = self.check(config).into_iter().filter(is_own).collect();
        let foreign = config.objects.values().flatten();
        let foreign = foreign.filter(|one| one.owner.as_ref() != Some(&desired.owner));
        let used: BTreeSet<_> = foreign.flat_map(|one| references(&one.object)).collect();
        for (collection, name) in used {
            let owned = self.config.get(collection, &name);
            let is_own = owned.is_some_and(|one| one.owner.as_ref() == Some(&desired.owner));
            if is_own && config.get(collection, &name).is_none() {
                let message = format!("{} {name} is used", collection.row().noun);
                refusals.push(Refusal { collection, name, code: 409, message, is_removal: true });
            }
        }
        refusals
    }

    /// Returns the message for the first reference to nothing.
    fn missing(
        &self,
        config: &Observed,
        fields: &[Field],
        values: &serde_json::Map<String, serde_json::Value>,
    ) -> Option<String> {
        fields.iter().find_map(|field| {
            let value = values.get(field.rest_name()?)?;
            if let Shape::Objects(fields) = field.shape {
                let mut items = value.as_array()?.iter().filter_map(serde_json::Value::as_object);
                return items.find_map(|item| self.missing(config, fields, item));
            }
            let texts = match value {
                serde_json::Value::Array(items) => items.iter().filter_map(|item| item.as_str()).collect(),
                value => value.as_str().into_iter().collect::<Vec<_>>(),
            };
            let is_missing = |name: &&str| match field.reference {
                Some(Reference::Object(target)) if is_built_in(target, name) => false,
                Some(Reference::Object(target)) => config.get(target, name).is_none(),
                Some(Reference::Network) => !self.nics.iter().any(|nic| nic == name),
                Some(Reference::Nic) => !name.starts_with('#') && !self.nics.iter().any(|nic| nic == name),
                None => false,
            };
            let missing = texts.into_iter().find(is_missing)?;
            Some(format!("Field[{}] checked failed: {} [{missing}]", field.name, field.message))
        })
    }

    /// Changes one object over v1.
    pub(super) fn change(&mut self, call: &str, change: impl FnOnce(&mut Observed)) -> Result<(), CnfError> {
        let mut config = self.config.clone();
        change(&mut config);
        // Defects of before are no reason to refuse: only those of this change.
        let before = self.check(&self.config);
        if let Some(refusal) = self.check(&config).into_iter().find(|refusal| !before.contains(refusal)) {
            let class = match refusal.code {
                428 if call.starts_with("DELETE") => CnfErrorClass::InUse,
                428 => CnfErrorClass::MissingDependency,
                409 => CnfErrorClass::Conflict,
                _ => CnfErrorClass::Refused,
            };
            return Err(CnfError::new(class, call, refusal.message).with_code(refusal.code));
        }
        (self.config, self.version) = (config, self.version + 1);
        Ok(())
    }
}
