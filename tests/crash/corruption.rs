//! Corruption: flipped bits, truncated files, misplaced sectors.

use std::io;
use std::sync::Arc;

use dedupstore::store::{Medium, StoreError, StoreFile};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::session::{INLINE, Model, Session, options};
use super::simulated_medium::SimulatedMedium;
use super::{Failure, Outcome};

/// The files of a store that is not open, and what it must hold.
pub struct StoreAtRest {
    files: Arc<[Vec<u8>; 5]>,
    model: Model,
    acknowledged: u64,
    name: String,
}

impl StoreAtRest {
    /// Returns an empty store.
    pub fn empty(filter: &str) -> Self {
        let options = options(filter, 1);
        StoreAtRest {
            files: SimulatedMedium::with_store(&options).disk().files(),
            model: Model::new(&options),
            acknowledged: 0,
            name: format!("empty {filter}"),
        }
    }

    /// Returns a store with two valid images and a log after the newer one. Everything
    /// observed is acknowledged.
    pub fn between_checkpoints(filter: &str) -> Result<Self, Failure> {
        Self::with_history(filter, false, 9, 1)
    }

    /// Returns a store with another identity and the same history, but other keys.
    pub fn with_other_keys(filter: &str) -> Result<Self, Failure> {
        Self::with_history(filter, false, 10, 1 << 40)
    }

    /// Returns a store in the middle of a checkpoint: one valid image, and both logs in use.
    /// Everything observed is acknowledged.
    pub fn during_checkpoint(filter: &str) -> Result<Self, Failure> {
        Self::with_history(filter, true, 9, 1)
    }

    fn with_history(
        filter: &str,
        during_checkpoint: bool,
        id: u8,
        key_factor: u64,
    ) -> Result<Self, Failure> {
        let options = options(filter, 1);
        let mut model = Model::new(&options);
        let disk = SimulatedMedium::with_store_of(&options, id).disk().clone();
        let disk = disk.with_windows(1024);
        let mut session = Session::open(disk, &mut model, 0)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let failed = |error: StoreError| Failure(error.to_string());
        for _ in 0..60 {
            session.act(&mut model, &mut rng).map_err(failed)?;
        }
        let Some(store) = &mut session.store else {
            return Err(Failure("the store was closed".to_owned()));
        };
        store.checkpoint().map_err(failed)?;
        for _ in 0..3 {
            let observation = model.next_observation(model.len() * key_factor);
            model.observe(observation);
            store.observe_one(observation).map_err(failed)?;
        }
        if during_checkpoint {
            store.begin_checkpoint().map_err(failed)?;
        }
        for _ in 0..3 {
            let observation = model.next_observation(model.len() * key_factor);
            model.observe(observation);
            store.observe_one(observation).map_err(failed)?;
        }
        store.sync().map_err(failed)?;
        let acknowledged = store.sequence();
        let files = session.medium.disk().files();
        Ok(StoreAtRest {
            files,
            model,
            acknowledged,
            name: match during_checkpoint {
                true => format!("{filter} during a checkpoint"),
                false => format!("{filter} between checkpoints"),
            },
        })
    }

    /// Opens a damaged copy. That must fail with an error that names the damage, or recover
    /// exactly what the store must hold.
    fn check(&self, damage: Alteration) -> Result<(), Failure> {
        let here = |failure: Failure| failure.at(format!("{}, {damage:?}", self.name));
        let medium = CorruptMedium {
            files: Arc::clone(&self.files),
            damage: damage.clone(),
        };
        match INLINE.open_on(medium) {
            Ok(store) => self.model.check(&store, self.acknowledged).map_err(here),
            Err(
                StoreError::Corrupt(_)
                | StoreError::NewerVersion { .. }
                | StoreError::UnknownFeatures { .. },
            ) => Ok(()),
            Err(error) => Err(here(Failure(format!(
                "an error of the wrong kind: {error}"
            )))),
        }
    }

    /// Flips every `step`-th bit of every file, starting with `first`, one at a time.
    pub fn every_bit(&self, first: u64, step: u64) -> Outcome {
        let mut states = 0;
        for file in StoreFile::ALL {
            let bits = 8 * self.files[file as usize].len() as u64;
            for bit in (first..bits).step_by(step as usize) {
                self.check(Alteration::Flip { file, bit })?;
                states += 1;
            }
        }
        Ok(states)
    }

    /// Replaces each file by that of another store with the same sizes and history.
    pub fn every_foreign_file(&self, other: &StoreAtRest) -> Outcome {
        for file in StoreFile::ALL {
            let bytes = other.files[file as usize].clone();
            self.check(Alteration::Overwrite {
                file,
                offset: 0,
                bytes,
            })?;
        }
        Ok(StoreFile::ALL.len() as u64)
    }

    /// Truncates every file to every multiple of `step`.
    pub fn every_truncation(&self, step: usize) -> Outcome {
        let mut states = 0;
        for file in StoreFile::ALL {
            for length in (0..self.files[file as usize].len()).step_by(step) {
                self.check(Alteration::Truncate { file, length })?;
                states += 1;
            }
        }
        Ok(states)
    }

    /// Writes every sector over every other sector of the same kind of file, as a disk does
    /// that writes to the wrong place.
    pub fn every_misplacement(&self, sector: usize) -> Outcome {
        let mut states = 0;
        let pairs = [
            (StoreFile::Image0, StoreFile::Image1),
            (StoreFile::Image1, StoreFile::Image0),
            (StoreFile::Log0, StoreFile::Log1),
            (StoreFile::Log1, StoreFile::Log0),
            (StoreFile::Log0, StoreFile::Log0),
            (StoreFile::Log1, StoreFile::Log1),
            (StoreFile::Mark, StoreFile::Mark),
        ];
        for (from, to) in pairs {
            let length = self.files[from as usize].len();
            for source in (0..length).step_by(sector) {
                let targets: Vec<usize> = match from == to {
                    true => (0..length).step_by(sector).collect(),
                    false => vec![source],
                };
                for target in targets {
                    let bytes = self.files[from as usize][source..source + sector].to_vec();
                    self.check(Alteration::Overwrite {
                        file: to,
                        offset: target,
                        bytes,
                    })?;
                    states += 1;
                }
            }
        }
        Ok(states)
    }
}

/// One change of the files.
#[derive(Clone, Debug)]
enum Alteration {
    Flip {
        file: StoreFile,
        bit: u64,
    },
    Truncate {
        file: StoreFile,
        length: usize,
    },
    Overwrite {
        file: StoreFile,
        offset: usize,
        bytes: Vec<u8>,
    },
}

/// A medium that shows the files with one change, and ignores writes.
struct CorruptMedium {
    files: Arc<[Vec<u8>; 5]>,
    damage: Alteration,
}

impl Medium for CorruptMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        match self.damage {
            Alteration::Truncate { file: cut, length } if cut == file => Ok(length as u64),
            _ => Ok(self.files[file as usize].len() as u64),
        }
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        let end = start + buffer.len();
        if end as u64 > self.len(file)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.copy_from_slice(&self.files[file as usize][start..end]);
        match &self.damage {
            Alteration::Flip { file: bad, bit } if *bad == file => {
                let byte = (bit / 8) as usize;
                if (start..end).contains(&byte) {
                    buffer[byte - start] ^= 1 << (bit % 8);
                }
            }
            Alteration::Overwrite {
                file: bad,
                offset,
                bytes,
            } if *bad == file => {
                for (at, byte) in (*offset..).zip(bytes) {
                    if (start..end).contains(&at) {
                        buffer[at - start] = *byte;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&self, _: StoreFile, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self, _: StoreFile) -> io::Result<()> {
        Ok(())
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000_000
    }
}
