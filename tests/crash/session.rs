//! A store on a simulated disk, beside a model of what it must be.

use dedupstore::store::{CreateOptions, Durability, Medium, OpenOptions, Store, StoreError};
use dedupstore::{Fingerprint, Observation, SeenSet, Verdict, state_digest};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Failure;
use super::medium::{Disk, SimulatedMedium};

/// An audit of a dozen keys, so that its sample is halved often.
const AUDIT_BYTES: u32 = 1024;
/// The seed of every store here.
pub const SEED: u64 = 77;

/// Everything in the calls themselves: no threads, so that a seed names one history.
pub const INLINE: OpenOptions = OpenOptions {
    durability: Durability::None,
    backing: dedupstore::store::Backing::Anonymous,
    verify_first: true,
    threads: false,
};

/// What is observed, and the state after every prefix of it.
pub struct Model {
    options: CreateOptions,
    observations: Vec<Observation>,
    digests: Vec<u64>,
    set: SeenSet,
    /// What crashes have undone, the oldest last: whoever fed it may feed it again.
    undone: Vec<Observation>,
}

impl Model {
    /// Of a store that has observed nothing.
    pub fn new(options: &CreateOptions) -> Self {
        let set = options.in_memory(SEED).expect("small");
        Model {
            options: options.clone(),
            observations: Vec::new(),
            digests: vec![state_digest(set.region(), set.registers())],
            set,
            undone: Vec::new(),
        }
    }

    /// Observations so far.
    pub fn len(&self) -> u64 {
        self.observations.len() as u64
    }

    /// Whether nothing was observed yet.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }

    /// Observes, and remembers the state after it.
    pub fn observe(&mut self, observation: Observation) -> Verdict {
        self.observations.push(observation);
        let verdict = self.set.observe_one(observation);
        let digest = state_digest(self.set.region(), self.set.registers());
        self.digests.push(digest);
        verdict
    }

    /// Forgets all but the first so many.
    pub fn cut(&mut self, length: u64) {
        if length == self.len() {
            return;
        }
        let undone = self.observations.split_off(length as usize);
        self.undone = undone.into_iter().rev().collect();
        self.digests.truncate(length as usize + 1);
        self.set = self.options.in_memory(SEED).expect("small");
        for &observation in &self.observations {
            self.set.observe_one(observation);
        }
    }

    /// That a store holds exactly a prefix, one not shorter than `acknowledged`.
    pub fn check<M: Medium>(&self, store: &Store<M>, acknowledged: u64) -> Result<(), Failure> {
        let recovered = store.sequence();
        if recovered < acknowledged {
            return Err(Failure(format!(
                "acknowledged {acknowledged}, recovered {recovered}"
            )));
        }
        if recovered > self.len() {
            return Err(Failure(format!(
                "appended {}, recovered {recovered}",
                self.len()
            )));
        }
        let found = state_digest(store.region(), store.registers());
        if found != self.digests[recovered as usize] {
            return Err(Failure(format!(
                "the state is not that after {recovered} observations"
            )));
        }
        Ok(())
    }
}

/// The smallest logs, and a region of a few blocks.
pub fn options(filter: &str, blocks: u64) -> CreateOptions {
    let memory_bits = blocks * 8192 * 8 - 5000 - 8 * u64::from(AUDIT_BYTES);
    let mut options = CreateOptions::new(filter.parse().expect("a filter"), memory_bits);
    options.seed = Some(SEED);
    options.log_bytes = Some(4096);
    options.audit_bytes = Some(AUDIT_BYTES);
    options
}

/// A store that lives on a disk until it dies.
pub struct Life {
    /// The disk.
    pub medium: SimulatedMedium,
    /// The store, unless it was closed and could not be opened again.
    pub store: Option<Store<SimulatedMedium>>,
    /// What was known to be durable when it was last asked.
    pub acknowledged: u64,
}

impl Life {
    /// Opens the store on a disk and checks what it recovered; what the model had beyond
    /// that is forgotten.
    pub fn begin(disk: Disk, model: &mut Model, acknowledged: u64) -> Result<Self, Failure> {
        let medium = SimulatedMedium::holding(disk);
        let store = Store::open_on(medium.clone(), INLINE)
            .map_err(|error| Failure(format!("refused: {error}")))?;
        model.check(&store, acknowledged)?;
        let recovered = store.sequence();
        if store.durable_sequence() != recovered {
            return Err(Failure("what was recovered is not durable".to_owned()));
        }
        model.cut(recovered);
        Ok(Life {
            medium,
            store: Some(store),
            acknowledged: recovered,
        })
    }

    /// One random thing that a program may do with a store.
    pub fn act(
        &mut self,
        model: &mut Model,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let done = match rng.next_u64() % 32 {
            0..16 => observe(store, model, rng),
            16..21 => store.sync(),
            21..23 => store.begin_checkpoint(),
            23..30 => store.advance_by(1 + rng.next_u64() % 2),
            30 => store.checkpoint(),
            _ => self.close_and_open(),
        };
        if let Some(store) = &self.store {
            self.acknowledged = self.acknowledged.max(store.durable_sequence());
        }
        done
    }

    fn close_and_open(&mut self) -> Result<(), StoreError> {
        let Some(store) = self.store.take() else {
            return Ok(());
        };
        let sequence = store.sequence();
        store.close()?;
        self.acknowledged = sequence;
        self.store = Some(Store::open_on(self.medium.clone(), INLINE)?);
        Ok(())
    }
}

/// Spreads small numbers over all fingerprints.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn observe(
    store: &mut Store<SimulatedMedium>,
    model: &mut Model,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), StoreError> {
    // Often of one size, so that frames of different lives lie at the same places; and
    // often what was fed before, so that they are alike.
    let count = match rng.next_u64() % 4 {
        0 => 1 + rng.next_u64() % 40,
        _ => 8,
    };
    let again = rng.next_u64() % 4 != 3;
    let observations: Vec<Observation> = (0..count)
        .map(|_| match model.undone.pop().filter(|_| again) {
            Some(undone) => undone,
            None => Fingerprint((rng.next_u64() % 700).wrapping_mul(SPREAD)).into(),
        })
        .collect();
    let expected: Vec<Verdict> = observations.iter().map(|&o| model.observe(o)).collect();
    let mut verdicts = vec![Verdict::New; observations.len()];
    store.observe_batch(&observations, &mut verdicts)?;
    assert_eq!(verdicts, expected, "a verdict differs from the model's");
    Ok(())
}
