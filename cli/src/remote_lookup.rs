//! `contains` for a store on a server or on Redis: lines are looked up many at a time.

use dedupstore::lines::{KeyOptions, KeyReader, KeyRule, Line};
use dedupstore::{KeyHasher, Observation};
use dedupstore_cluster::ClusterStore;

use crate::cli::GlobalArguments;
use crate::cluster_backend;
use crate::command::contains::{Arguments, WORDS};
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::key_report::{KeyReport, Print};
use crate::missing_keys;
use crate::remote_address::RemoteAddress;
use crate::remote_store::{MOST_KEYS, RemoteStore};
use crate::standard_error;

/// Looks up keys that are arguments, or the lines of the input.
pub fn run(
    address: RemoteAddress,
    inputs: &Inputs,
    arguments: &Arguments,
    global: &GlobalArguments,
) -> Result<(), Failure> {
    if arguments.time.at.is_some() {
        let text = "--at is not for a store on a server, whose time is now";
        return Err(Failure::Usage(text.to_owned()));
    }
    let store = match address {
        RemoteAddress::Serve(address) => {
            LookedUp::Serve(Box::new(RemoteStore::open(address, false)?))
        }
        RemoteAddress::Cluster(address, access) => {
            let store = ClusterStore::open(&address, *access);
            LookedUp::Cluster(Box::new(store.map_err(Failure::cluster(&address))?))
        }
    };
    let rule = store.rule(&arguments.key.options())?;
    let line_end = rule.line_end.byte();
    let print = Print::of(global.quiet, arguments.json, line_end);
    let mut lookup = RemoteLookup {
        store,
        keys: KeyReader::of(rule.clone()),
        report: KeyReport::new(print, WORDS)?,
        lines: 0,
        without_key: 0,
    };
    let looked_up = match &arguments.keys[..] {
        [] => inputs
            .for_each_block(line_end, |block| match block {
                Block::Lines(lines) => lookup.lines(lines),
                Block::Unterminated(line) => lookup.lines(std::iter::once(line)),
                Block::LongLine(piece) => lookup.report.long_line(piece),
                Block::Pause => lookup.report.output.flush(),
            })
            .and_then(|_| lookup.report.end_long_line()),
        keys => keys
            .iter()
            .try_for_each(|key| lookup.written_key(key.as_encoded_bytes())),
    };
    let flushed = lookup.report.output.flush();
    looked_up?;
    flushed?;
    let missing =
        missing_keys::message(&rule, lookup.without_key, lookup.lines, "looked up as new");
    if let Some(message) = missing
        && !global.quiet
    {
        standard_error::message(message);
    }
    match lookup.report.all_found() {
        true => Ok(()),
        false => Err(Failure::AnswerIsNo),
    }
}

/// A store that keys are looked up in.
enum LookedUp {
    Serve(Box<RemoteStore>),
    Cluster(Box<ClusterStore>),
}

impl LookedUp {
    fn rule(&self, options: &KeyOptions) -> Result<KeyRule, Failure> {
        match self {
            LookedUp::Serve(store) => store.rule(options),
            LookedUp::Cluster(store) => cluster_backend::key_rule(store, options),
        }
    }

    fn hasher(&self) -> KeyHasher {
        match self {
            LookedUp::Serve(store) => store.hasher(),
            LookedUp::Cluster(store) => store.hasher(),
        }
    }

    /// Returns whether each key was seen. One whose slices do not answer was not.
    fn contains(&mut self, keys: &[Observation]) -> Result<Vec<bool>, Failure> {
        match self {
            LookedUp::Serve(store) => {
                let found = store.client.contains(keys);
                found.map_err(Failure::server(&store.address))
            }
            LookedUp::Cluster(store) => {
                let keys: Vec<_> = keys.iter().map(|key| key.fingerprint).collect();
                let mut verdicts = Vec::new();
                let looked_up = store.contains_batch(&keys, &mut verdicts);
                looked_up.map_err(Failure::cluster(store.address()))?;
                Ok(verdicts.into_iter().map(|it| it.is_seen()).collect())
            }
        }
    }
}

struct RemoteLookup {
    store: LookedUp,
    keys: KeyReader,
    report: KeyReport,
    lines: u64,
    without_key: u64,
}

impl RemoteLookup {
    fn lines<'a>(&mut self, lines: impl Iterator<Item = Line<'a>>) -> Result<(), Failure> {
        let mut lines = lines.peekable();
        while lines.peek().is_some() {
            let batch: Vec<_> = lines.by_ref().take(MOST_KEYS).collect();
            self.batch(&batch)?;
        }
        Ok(())
    }

    fn batch(&mut self, lines: &[Line<'_>]) -> Result<(), Failure> {
        let hasher = self.store.hasher();
        let mut observations: Vec<Observation> = Vec::with_capacity(lines.len());
        let mut keys = Vec::with_capacity(lines.len());
        for line in lines {
            let key = self.keys.key(line.content);
            observations.extend(key.map(|key| Observation::from(hasher.fingerprint(key))));
            keys.push(key.map(|key| key.to_vec()));
        }
        let mut found = self.contains(&observations)?.into_iter();
        for (line, key) in lines.iter().zip(keys) {
            self.lines += 1;
            self.without_key += u64::from(key.is_none());
            let seen = key.is_some() && found.next().unwrap_or(false);
            self.report
                .report(&self.keys, line.content, key.as_deref(), seen)?;
        }
        Ok(())
    }

    /// Looks up a key that is an argument.
    fn written_key(&mut self, written: &[u8]) -> Result<(), Failure> {
        let hasher = self.store.hasher();
        let key = self.keys.written_key(written).to_vec();
        let other = self.keys.written_json_value(written).map(<[u8]>::to_vec);
        let mut observations = vec![Observation::from(hasher.fingerprint(&key))];
        observations.extend(
            other
                .iter()
                .map(|key| Observation::from(hasher.fingerprint(key))),
        );
        let found = self.contains(&observations)?;
        let (key, seen) = match (&found[..], other) {
            ([false, true], Some(other)) => (other, true),
            ([first, ..], _) => (key, *first),
            ([], _) => (key, false),
        };
        self.report.report(&self.keys, written, Some(&key), seen)
    }

    fn contains(&mut self, keys: &[Observation]) -> Result<Vec<bool>, Failure> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.store.contains(keys)
    }
}
