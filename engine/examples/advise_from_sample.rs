//! Chooses a filter by running the candidates over a sample of a log.

use std::error::Error;

use dedupstore::advise::{Question, Sample, advise};
use dedupstore::lab::StreamSpec;
use dedupstore::{ByteSize, KeyHasher, SeenSetBuilder};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // Stands for the log: 50,000 keys, of which 60 % are distinct.
    let mut log = "shuffle:60".parse::<StreamSpec>()?.open(50_000, 1);
    let hasher = KeyHasher::new(1);
    let mut sample = Sample::default();
    while let Some((key, _)) = log.next_key() {
        sample.record(hasher.fingerprint(key));
    }

    let memory = "32KiB".parse::<ByteSize>()?;
    let question = Question {
        sample: Some(&sample),
        ..Question::of_memory(memory.bits())
    };
    let advice = advise(&question)?;
    println!("{} in {memory}: {}", advice.choice.filter, advice.reason);
    println!(
        "expected false positive rate {:.4}, false negative rate {:.4}",
        advice.choice.fpr, advice.choice.fnr
    );

    let mut seen = SeenSetBuilder::new(advice.choice.filter)
        .memory(memory)
        .build()?;
    assert!(seen.observe("https://harbour.example/").is_new());
    Ok(())
}
