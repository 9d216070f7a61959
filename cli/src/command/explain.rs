//! `dedupstore explain`: shows why a store gives a verdict.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::filter::{ClockKind, Evidence, EvidenceCell, PossibleErrors};
use dedupstore::lines::{KeyOptions, KeyReader};
use dedupstore::store::{Directory, KeyLookup, StoreError};
use dedupstore::theory::{CurrentRates, current_rates};
use dedupstore_view::{moment, printable, span};
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::json_bytes;
use crate::local_path;
use crate::lookup_time::{KeyTimes, LookupTime, LookupTimeArguments, when_forgotten};
use crate::output::Output;
use crate::standard_error;
use crate::table::{percent, plural};

/// Show why a store reports a key as new or seen, and how certain that is
///
/// Records nothing. Works while another process writes to the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The key itself, not a line that has it. It is normalized as the store records
    #[arg(value_name = "KEY")]
    key: OsString,

    #[command(flatten)]
    time: LookupTimeArguments,

    /// Print one JSON object. Where `key` or `normalized` is not UTF-8, `key_bytes` or
    /// `normalized_bytes` has its bytes as hexadecimal digits
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore explain links.dds https://harbour.example/
  dedupstore explain pages.dds --at +7d /index.html   will it be new again in a week?";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    local_path::check_store("explain", path)?;
    let mut store = KeyLookup::open(path).map_err(Failure::store(path))?;
    let explanation = Explanation::of(&mut store, &arguments, global.quiet)?;
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", explanation.as_json(&store)))?,
        false => output.text(&explanation.page(&store))?,
    }
    output.flush()
}

struct Explanation {
    key: Vec<u8>,
    normalized: Vec<u8>,
    fingerprint: u64,
    verdict: Verdict,
    /// Whether the verdict New can be wrong: the key may have been forgotten.
    may_have_forgotten: bool,
    evidence: Evidence,
    /// When the key was last new and will be forgotten, if the filter has a window in seconds and
    /// the verdict is Seen.
    times: Option<KeyTimes>,
}

/// The number of cells shown; `--json` has all.
const MAX_ROWS: usize = 32;

impl Explanation {
    fn of(
        store: &mut KeyLookup<Directory>,
        arguments: &Arguments,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let rule = store.parameters().key_rule(&KeyOptions::default());
        let rule = rule.map_err(Failure::store(&arguments.store))?;
        let time = LookupTime::of(store, &rule, arguments.time.at)?;
        if let Some(warning) = time.warning()
            && !quiet
        {
            standard_error::message(warning);
        }
        let key = arguments.key.as_encoded_bytes();
        let mut reader = KeyReader::of(rule);
        let normalized = written_key(store, &mut reader, key);
        let normalized = normalized.map_err(Failure::store(&arguments.store))?;
        let fingerprint = store.hasher().fingerprint(&normalized);
        let evidence = store
            .evidence(fingerprint)
            .map_err(Failure::store(&arguments.store))?;
        let forgotten_at = store
            .forgotten_at_step(fingerprint)
            .map_err(Failure::store(&arguments.store))?;
        Ok(Explanation {
            times: when_forgotten(store, forgotten_at),
            key: key.to_vec(),
            normalized: reader.shown(&normalized).to_vec(),
            fingerprint: fingerprint.0,
            verdict: evidence.verdict(),
            may_have_forgotten: store
                .may_have_forgotten(fingerprint)
                .map_err(Failure::store(&arguments.store))?,
            evidence,
        })
    }

    fn as_json(&self, store: &KeyLookup<Directory>) -> Value {
        let object = |place: &EvidenceCell| {
            json!({
                "meaning": place.meaning,
                "index": place.index,
                "offset_bits": place.offset_bits,
                "width_bits": place.width_bits,
                "value": place.value,
                "steps_ago": self.steps_ago(store, place),
            })
        };
        let links = self.evidence.links.iter().map(object);
        let ways = self.evidence.alternatives.iter().enumerate();
        let cells = ways.flat_map(|(number, way)| {
            way.iter().map(move |place| {
                let mut cell = object(place);
                cell["way"] = json!(number);
                cell
            })
        });
        let mut object = json!({
            "schema": 1,
            "key": "",
            "normalized": "",
            "fingerprint": format!("{:016x}", self.fingerprint),
            "filter": store.spec().to_string(),
            "verdict": verdict_name(self.verdict),
            "because": self.because(store),
            "wanted": self.evidence.requirement_in_words(&store.filter().cell_layout()),
            "places": cells.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "load": store.load(),
            "estimated_fpr": store.false_positive_rate(),
            "may_have_forgotten": self.may_have_forgotten,
            "last_new_unix_seconds": self.times.map(|it| [it.new_from, it.new_until]),
            "forgotten_unix_seconds": self.times.map(|it| it.forgotten),
            "predicted_fnr": rates(store).map(|rates| rates.fnr),
        });
        json_bytes::insert(&mut object, "key", &self.key);
        json_bytes::insert(&mut object, "normalized", &self.normalized);
        object
    }

    fn page(&self, store: &KeyLookup<Directory>) -> String {
        let mut page = String::new();
        let mut row = |label: &str, text: &str| page += &format!("{label:<12} {text}\n");
        row("key", &printable(&String::from_utf8_lossy(&self.key)));
        if self.normalized != self.key {
            row(
                "normalized",
                &printable(&String::from_utf8_lossy(&self.normalized)),
            );
        }
        row("fingerprint", &format!("{:016x}", self.fingerprint));
        row("filter", &store.spec().to_string());
        let links = self.evidence.links.iter();
        let cells: Vec<&EvidenceCell> = links.chain(self.evidence.cells()).collect();
        for place in cells.iter().take(MAX_ROWS) {
            let offset = place.offset_bits;
            let text = format!(
                "{} at byte {} of the region, bit {}: {}{}",
                place.index,
                offset / 8,
                offset % 8,
                place.value,
                self.age(store, place),
            );
            row(place.meaning, &text);
        }
        if cells.len() > MAX_ROWS {
            let more = cells.len() - MAX_ROWS;
            row("…", &format!("{more} more; --json prints all"));
        }
        row("verdict", verdict_name(self.verdict));
        row("because", &self.because(store));
        if let Some(times) = self.times {
            let (from, until) = (moment(times.new_from), moment(times.new_until));
            row("last new", &format!("from {from} to {until}"));
            row("forgotten", &format!("from {} on", moment(times.forgotten)));
        } else if self.verdict.is_seen() && store.filter().tick_clock().is_some() {
            row("forgotten", "unknown: no line had a time yet");
        }
        row("certainty", &self.certainty(store));
        page
    }

    /// Returns how many steps ago a cell was set, if it holds a step.
    fn steps_ago(&self, store: &KeyLookup<Directory>, place: &EvidenceCell) -> Option<u64> {
        let clock = store.filter().window()?;
        let required = self.evidence.required;
        required.steps_ago(place.value, clock.age_limit())
    }

    /// Says when a cell was set, if it holds a step.
    fn age(&self, store: &KeyLookup<Directory>, place: &EvidenceCell) -> String {
        let age = self.steps_ago(store, place);
        let Some((clock, steps)) = store.filter().window().zip(age) else {
            return String::new();
        };
        let left = match steps > clock.age_limit() {
            true => ", has left the window",
            false => "",
        };
        let ago = match (steps, clock.kind()) {
            (0, _) => "in the present step".to_owned(),
            (steps, ClockKind::Seconds) => {
                let length = span(steps.saturating_mul(clock.step()));
                format!("{} ago ({length})", plural(steps, "step"))
            }
            (steps, _) => format!("{} ago", plural(steps, "step")),
        };
        format!(", set {ago}{left}")
    }

    fn because(&self, store: &KeyLookup<Directory>) -> String {
        self.evidence.in_words(&store.filter().cell_layout())
    }

    /// Says how the verdict can be wrong, and how likely that is.
    fn certainty(&self, store: &KeyLookup<Directory>) -> String {
        let errors = store.filter().possible_errors();
        match self.verdict {
            Verdict::Seen => format!(
                "{} of new keys would be reported as seen too (load {})",
                percent(Some(store.false_positive_rate())),
                percent(Some(store.load())),
            ),
            Verdict::New if errors == PossibleErrors::FalsePositives => {
                "certain: this filter has no false negatives".to_owned()
            }
            Verdict::New if !self.may_have_forgotten => {
                "certain: this filter can forget, but has not yet forgotten any key with these \
                 cells"
                    .to_owned()
            }
            Verdict::New => format!(
                "the key may have been seen and forgotten, because this filter can forget: {} \
                 (load {})",
                match rates(store) {
                    Some(rates) => format!(
                        "by theory, {} of repeats are reported as new at present",
                        percent(Some(rates.fnr))
                    ),
                    None => "`dedupstore simulate` measures how often".to_owned(),
                },
                percent(Some(store.load())),
            ),
        }
    }
}

/// Returns the key to hash. Where keys are JSON values, a key such as 7 stands for the number if
/// the store has seen it, and otherwise for the string.
fn written_key(
    store: &mut KeyLookup<Directory>,
    reader: &mut KeyReader,
    key: &[u8],
) -> Result<Vec<u8>, StoreError> {
    if let Some(value) = reader.written_json_value(key)
        && store.contains(value)?.is_seen()
    {
        return Ok(value.to_vec());
    }
    Ok(reader.written_key(key).to_vec())
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// Returns the present error rates by theory, if every key is equally likely to repeat.
fn rates(store: &KeyLookup<Directory>) -> Option<CurrentRates> {
    let registers = store.registers();
    current_rates(
        store.spec(),
        store.parameters().memory_bits,
        registers.observations(),
        registers.new_count(),
        None,
    )
}
