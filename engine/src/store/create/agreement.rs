//! Whether a store has the options that a caller asks for.

use std::fmt::{self, Display};

use super::options::{CreateOptions, round_log_bytes};
use crate::byte_size::ByteSize;
use crate::filter::FilterSpec;
use crate::lines::{KeyOptionsError, KeyRulePart, RecordedKey};
use crate::seen_set::CreateError;
use crate::store::error::StoreError;
use crate::store::format::superblock::Superblock;

/// An option of [`CreateOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateOption {
    /// [`CreateOptions::filter`].
    Filter,
    /// [`CreateOptions::memory`].
    Memory,
    /// [`CreateOptions::seed`].
    Seed,
    /// [`CreateOptions::log_size`].
    LogSize,
    /// [`CreateOptions::audit`].
    Audit,
    /// [`CreateOptions::normalization`], or that of [`CreateOptions::key`].
    Normalization,
    /// The selector of [`CreateOptions::key`].
    Key,
    /// The dropped parameters of [`CreateOptions::key`].
    DropParameters,
    /// The line end of [`CreateOptions::key`].
    LineEnd,
    /// The time of [`CreateOptions::key`].
    Time,
    /// The importance of [`CreateOptions::key`].
    Importance,
    /// [`CreateOptions::window`].
    Window,
    /// [`CreateOptions::max_fpr`].
    MaxFpr,
    /// [`CreateOptions::shards`].
    Shards,
}

impl Display for CreateOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CreateOption::Filter => "filter",
            CreateOption::Memory => "memory",
            CreateOption::Seed => "seed",
            CreateOption::LogSize => "log size",
            CreateOption::Audit => "audit",
            CreateOption::Normalization => "normalization",
            CreateOption::Key => "key",
            CreateOption::DropParameters => "dropped parameters",
            CreateOption::LineEnd => "line end",
            CreateOption::Time => "time",
            CreateOption::Importance => "importance",
            CreateOption::Window => "window in seconds",
            CreateOption::MaxFpr => "limit of the false positive rate",
            CreateOption::Shards => "shards",
        })
    }
}

impl CreateOptions {
    /// Checks that every option that is set agrees with the store of a superblock.
    pub(in crate::store) fn check_agreement(&self, store: &Superblock) -> Result<(), StoreError> {
        let parameters = &store.parameters;
        if let Some(bits) = self
            .memory_bits
            .clone()
            .transpose()
            .map_err(CreateError::from)?
        {
            let stored = parameters.memory_bits;
            agree(
                CreateOption::Memory,
                stored == bits,
                &size(stored),
                &size(bits),
            )?;
        }
        if let Some(filter) = &self.filter {
            // Compared as specs: the text of an older version may leave out a parameter.
            let same = parameters.filter.parse::<FilterSpec>().as_ref() == Ok(filter);
            agree(CreateOption::Filter, same, &parameters.filter, filter)?;
        }
        if let Some(seconds) = self.window {
            let spec = parameters.filter.parse::<FilterSpec>().ok();
            agree_on_window(spec.and_then(|it| it.window_seconds()), seconds)?;
        }
        if let Some(seed) = self.seed {
            let stored = parameters.seed;
            agree(CreateOption::Seed, stored == seed, &stored, &seed)?;
        }
        if let Some(requested) = self
            .log_size
            .clone()
            .transpose()
            .map_err(CreateError::from)?
        {
            let stored = store.layout.log_bytes;
            let same = stored == round_log_bytes(requested.bytes());
            let stored = ByteSize::from_bytes(stored);
            agree(CreateOption::LogSize, same, &stored, &requested)?;
        }
        if let Some(requested) = self.audit.clone().transpose().map_err(CreateError::from)? {
            let stored = ByteSize::from(store.audit_bytes);
            agree(
                CreateOption::Audit,
                stored == requested,
                &stored,
                &requested,
            )?;
        }
        if let Some(requested) = self.max_fpr {
            let same = store.max_fpr == Some(requested);
            let stored = store.max_fpr.map(|rate| rate.to_string());
            let stored = stored.unwrap_or_else(|| "none".to_owned());
            agree(CreateOption::MaxFpr, same, &stored, &requested)?;
        }
        match (&self.key, &self.normalization) {
            (Some(key), _) => parameters.key_rule(key).map(|_| ()),
            (None, Some(requested)) => {
                let stored = RecordedKey::normalization_name(&parameters.normalization);
                let shown = |name: &str| match name {
                    "" => "none".to_owned(),
                    name => name.to_owned(),
                };
                agree(
                    CreateOption::Normalization,
                    stored == requested,
                    &shown(stored),
                    &shown(requested),
                )
            }
            (None, None) => Ok(()),
        }
    }
}

impl From<KeyOptionsError> for StoreError {
    fn from(error: KeyOptionsError) -> Self {
        match error {
            KeyOptionsError::Mismatch {
                part,
                stored,
                requested,
            } => StoreError::OptionMismatch {
                option: match part {
                    KeyRulePart::Selector => CreateOption::Key,
                    KeyRulePart::Normalization => CreateOption::Normalization,
                    KeyRulePart::DropParameters => CreateOption::DropParameters,
                    KeyRulePart::LineEnd => CreateOption::LineEnd,
                    KeyRulePart::Time => CreateOption::Time,
                    KeyRulePart::Importance => CreateOption::Importance,
                },
                stored,
                requested,
            },
            error => StoreError::Key(error),
        }
    }
}

/// Fails unless a filter has a window of so many seconds.
pub(super) fn agree_on_window(found: Option<u64>, requested: u64) -> Result<(), StoreError> {
    let stored = found.map_or("none".to_owned(), |seconds| seconds.to_string());
    let same = found == Some(requested);
    agree(CreateOption::Window, same, &stored, &requested)
}

/// Fails unless the stored and the requested value are the same.
pub(in crate::store) fn agree(
    option: CreateOption,
    same: bool,
    stored: &dyn Display,
    requested: &dyn Display,
) -> Result<(), StoreError> {
    match same {
        true => Ok(()),
        false => Err(StoreError::OptionMismatch {
            option,
            stored: stored.to_string(),
            requested: requested.to_string(),
        }),
    }
}

fn size(bits: u64) -> String {
    match bits.is_multiple_of(8) {
        true => ByteSize::from_bytes(bits / 8).to_string(),
        false => format!("{bits} bits"),
    }
}
