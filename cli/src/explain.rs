//! `dedupstore explain`: where a verdict comes from.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::filter::Errs;
use dedupstore::store::{ReadOnlyStore, Store};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::opening;
use crate::output::Output;
use crate::table::percent;

/// Show how a store decides about a key: the cells it looks at, the verdict, the doubt
///
/// Records nothing, and works beside a running writer.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Which store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The key
    #[arg(value_name = "KEY")]
    key: OsString,

    /// Print one object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  dedupstore explain links.dds https://harbour.example/";

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let store = Store::open_read_only(path).map_err(Failure::store(path))?;
    let explanation = Explanation::of(&store, &arguments)?;
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", explanation.as_json(&store)))?,
        false => output.text(&explanation.page(&store))?,
    }
    output.flush()
}

struct Explanation {
    key: String,
    normalized: String,
    fingerprint: u64,
    verdict: Verdict,
    /// Each with what it holds.
    places: Vec<(dedupstore::filter::Place, u64)>,
}

impl Explanation {
    fn of(store: &ReadOnlyStore, arguments: &Arguments) -> Result<Self, Failure> {
        let normalization = opening::normalization(&arguments.store, store.parameters(), None)?;
        let mut normalized = Vec::new();
        let key = arguments.key.as_encoded_bytes();
        let normalized = normalization.apply(key, &mut normalized);
        let fingerprint = store.hasher().fingerprint(normalized);
        let places = store.filter().places(fingerprint).into_iter();
        let read = |place: dedupstore::filter::Place| {
            let value = place.read(store.filter_region());
            (place, value)
        };
        Ok(Explanation {
            key: String::from_utf8_lossy(key).into_owned(),
            normalized: String::from_utf8_lossy(normalized).into_owned(),
            fingerprint: fingerprint.0,
            verdict: store.contains_fingerprint(fingerprint),
            places: places.map(read).collect(),
        })
    }

    fn as_json(&self, store: &ReadOnlyStore) -> Value {
        let place = |(place, value): &(dedupstore::filter::Place, u64)| {
            json!({
                "meaning": place.meaning,
                "index": place.index,
                "offset_bits": place.offset_bits,
                "width_bits": place.width_bits,
                "value": value,
            })
        };
        json!({
            "schema": 1,
            "key": self.key,
            "normalized": self.normalized,
            "fingerprint": format!("{:016x}", self.fingerprint),
            "filter": store.spec().to_string(),
            "verdict": in_a_word(self.verdict),
            "places": self.places.iter().map(place).collect::<Vec<_>>(),
            "load": store.load(),
            "estimated_fpr": store.drop_chance(),
        })
    }

    fn page(&self, store: &ReadOnlyStore) -> String {
        let mut page = String::new();
        let mut row = |label: &str, text: &str| page += &format!("{label:<12} {text}\n");
        row("key", &self.key);
        if self.normalized != self.key {
            row("normalized", &self.normalized);
        }
        row("fingerprint", &format!("{:016x}", self.fingerprint));
        row("filter", &store.spec().to_string());
        for (place, value) in &self.places {
            let offset = place.offset_bits;
            let text = format!(
                "{} at byte {} of the region, bit {}: {value}",
                place.index,
                offset / 8,
                offset % 8,
            );
            row(place.meaning, &text);
        }
        if self.places.is_empty() {
            row("cells", "this filter shows none");
        }
        row("verdict", in_a_word(self.verdict));
        row("doubt", &doubt(store, self.verdict));
        page
    }
}

fn in_a_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// What the verdict may be wrong about. How often such keys come is the stream's affair.
fn doubt(store: &ReadOnlyStore, verdict: Verdict) -> String {
    let errs = store.spec().descriptor().errs;
    match verdict {
        Verdict::Seen => format!(
            "of keys never met, {} would be taken for seen too (load {})",
            percent(Some(store.drop_chance())),
            percent(Some(store.load())),
        ),
        Verdict::New if errs == Errs::DropsNew => {
            "none: this filter never takes a key that it has met for new".to_owned()
        }
        Verdict::New => {
            "it may have been met and forgotten since: this filter forgets; `dedupstore simulate` \
             tells how often, on your log"
                .to_owned()
        }
    }
}
