//! Bits that flip, files that end early, blocks in the wrong place.

use std::io;
use std::sync::Arc;

use dedupstore::store::{Medium, Store, StoreError, StoreFile};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::life::{INLINE, Life, Model, options};
use super::medium::SimulatedMedium;
use super::{Failure, Outcome};

/// A store at rest, and what it must hold.
pub struct AtRest {
    files: Arc<[Vec<u8>; 5]>,
    model: Model,
    acknowledged: u64,
    name: String,
}

impl AtRest {
    /// A store that has observed nothing.
    pub fn fresh(filter: &str) -> Self {
        let options = options(filter, 1);
        AtRest {
            files: SimulatedMedium::with_store(&options).disk().files(),
            model: Model::new(&options),
            acknowledged: 0,
            name: format!("fresh {filter}"),
        }
    }

    /// A store with two whole images, the log behind the newer one, and everything observed
    /// acknowledged.
    pub fn between_checkpoints(filter: &str) -> Result<Self, Failure> {
        Self::busy(filter, false, 9, 1)
    }

    /// Another store with a like history of other keys.
    pub fn another(filter: &str) -> Result<Self, Failure> {
        Self::busy(filter, false, 10, 1 << 40)
    }

    /// A store in the middle of a checkpoint, with two images and both logs in use, and
    /// everything observed acknowledged.
    pub fn in_a_checkpoint(filter: &str) -> Result<Self, Failure> {
        Self::busy(filter, true, 9, 1)
    }

    fn busy(filter: &str, in_a_checkpoint: bool, id: u8, key_factor: u64) -> Result<Self, Failure> {
        let options = options(filter, 1);
        let mut model = Model::new(&options);
        let disk = SimulatedMedium::with_store_named(&options, id)
            .disk()
            .clone();
        let mut life = Life::begin(disk, &mut model, 0)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let failed = |error: StoreError| Failure(error.to_string());
        for _ in 0..60 {
            life.act(&mut model, &mut rng).map_err(failed)?;
        }
        let Some(store) = &mut life.store else {
            return Err(Failure("it was closed".to_owned()));
        };
        store.checkpoint().map_err(failed)?;
        for _ in 0..3 {
            let observation = dedupstore::Fingerprint(model.len() * key_factor).into();
            model.observe(observation);
            store.observe_one(observation).map_err(failed)?;
        }
        if in_a_checkpoint {
            store.begin_checkpoint().map_err(failed)?;
        }
        for _ in 0..3 {
            let observation = dedupstore::Fingerprint(model.len() * key_factor).into();
            model.observe(observation);
            store.observe_one(observation).map_err(failed)?;
        }
        store.sync().map_err(failed)?;
        let acknowledged = store.sequence();
        let files = life.medium.disk().files();
        Ok(AtRest {
            files,
            model,
            acknowledged,
            name: match in_a_checkpoint {
                true => format!("{filter} in a checkpoint"),
                false => format!("{filter} between checkpoints"),
            },
        })
    }

    /// Opens a damaged copy. It may refuse, naming the damage, or hold exactly what it must.
    fn judge(&self, damage: Alteration) -> Result<(), Failure> {
        let told = |text: String| Failure(format!("{}, {damage:?}: {text}", self.name));
        let medium = RottenMedium {
            files: Arc::clone(&self.files),
            damage: damage.clone(),
        };
        match Store::open_on(medium, INLINE) {
            Ok(store) => self
                .model
                .check(&store, self.acknowledged)
                .map_err(|failure| told(failure.to_string())),
            Err(
                StoreError::Corrupt(_)
                | StoreError::NewerVersion { .. }
                | StoreError::UnknownFeatures { .. },
            ) => Ok(()),
            Err(error) => Err(told(format!("an error of the wrong kind: {error}"))),
        }
    }

    /// Flips every `step`-th bit of every file, from `first` on, one at a time.
    pub fn every_bit(&self, first: u64, step: u64) -> Outcome {
        let mut states = 0;
        for file in StoreFile::ALL {
            let bits = 8 * self.files[file as usize].len() as u64;
            for bit in (first..bits).step_by(step as usize) {
                self.judge(Alteration::Flip { file, bit })?;
                states += 1;
            }
        }
        Ok(states)
    }

    /// Puts every file of another store of the same shape and history in its place.
    pub fn every_foreign_file(&self, other: &AtRest) -> Outcome {
        for file in StoreFile::ALL {
            let bytes = other.files[file as usize].clone();
            self.judge(Alteration::Overwrite {
                file,
                offset: 0,
                bytes,
            })?;
        }
        Ok(StoreFile::ALL.len() as u64)
    }

    /// Cuts every file off at every length that is a multiple of `step`.
    pub fn every_truncation(&self, step: usize) -> Outcome {
        let mut states = 0;
        for file in StoreFile::ALL {
            for length in (0..self.files[file as usize].len()).step_by(step) {
                self.judge(Alteration::Truncate { file, length })?;
                states += 1;
            }
        }
        Ok(states)
    }

    /// Puts every sector of every file in the place of every other of the same kind of file:
    /// what a disk does that writes to the wrong place.
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
                    self.judge(Alteration::Overwrite {
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

/// One thing wrong with the files.
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

/// Files at rest with one thing wrong, seen by whoever reads; what is written is dropped.
struct RottenMedium {
    files: Arc<[Vec<u8>; 5]>,
    damage: Alteration,
}

impl Medium for RottenMedium {
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
}
