//! A store on a server, for the commands that take its address in place of a path.

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::lines::{KeyOptions, KeyRule};
use dedupstore::store::Parameters;
use dedupstore::{FilterSpec, KeyHasher};
use dedupstore_server::{Client, ClientError, ServerAddress};
use serde_json::Value;

use crate::error::Failure;

/// The largest number of keys per request: with 16 bytes each, no more than a server's limit.
pub const MOST_KEYS: usize = 4096;

/// A store on a server, and what is known of it.
pub struct RemoteStore {
    pub address: ServerAddress,
    pub client: Client,
    pub parameters: Parameters,
    pub filter: AnyFilter,
    pub registers: Registers,
    pub durable: u64,
    pub generation: u64,
}

impl RemoteStore {
    /// Connects to a server and opens the store there, or creates it with the server's defaults.
    pub fn open(address: ServerAddress, create: bool) -> Result<Self, Failure> {
        let failed = |error| Failure::server(&address)(error);
        let mut client = Client::connect(&address).map_err(failed)?;
        let text = client.open(create).map_err(failed)?;
        let description = Description::parse(&text).ok_or_else(|| failed(unexpected(&text)))?;
        let filter = description.parameters.filter.parse::<FilterSpec>().ok();
        let filter = filter
            .and_then(|spec| AnyFilter::build(&spec, description.parameters.memory_bits).ok());
        Ok(RemoteStore {
            filter: filter.ok_or_else(|| failed(unexpected(&text)))?,
            client,
            registers: description.registers,
            durable: description.durable,
            generation: description.generation,
            parameters: description.parameters,
            address,
        })
    }

    /// Asks for the present counters.
    pub fn refresh(&mut self) -> Result<(), Failure> {
        let text = self.client.open(false);
        let text = text.map_err(Failure::server(&self.address))?;
        if let Some(description) = Description::parse(&text) {
            self.registers = description.registers;
            self.durable = description.durable;
            self.generation = description.generation;
        }
        Ok(())
    }

    /// Returns how the key of a line is found: as the store records, or as the options say.
    pub fn rule(&self, options: &KeyOptions) -> Result<KeyRule, Failure> {
        let rule = self.parameters.key_rule(options);
        rule.map_err(|error| Failure::Usage(format!("{}: {error}", self.address)))
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        KeyHasher::new(self.parameters.seed)
    }
}

fn unexpected(text: &str) -> ClientError {
    ClientError::Unexpected(text.chars().take(200).collect())
}

/// What the server says about a store.
struct Description {
    parameters: Parameters,
    registers: Registers,
    durable: u64,
    generation: u64,
}

impl Description {
    fn parse(text: &str) -> Option<Self> {
        let object: Value = serde_json::from_str(text).ok()?;
        let number = |name: &str| object.get(name).and_then(Value::as_u64);
        let words = |name: &str| object.get(name)?.as_str().map(str::to_owned);
        let hexadecimal = words("registers")?;
        let mut registers = [0; Registers::BYTES];
        if hexadecimal.len() != 2 * registers.len() {
            return None;
        }
        for (at, byte) in registers.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hexadecimal.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Description {
            parameters: Parameters {
                filter: words("filter")?,
                memory_bits: number("memory_bits")?,
                seed: number("seed")?,
                normalization: words("key")?,
                created_unix_seconds: number("created_unix_seconds")?,
            },
            registers: Registers::from_bytes(&registers),
            durable: number("durable_sequence")?,
            generation: number("generation")?,
        })
    }
}
