//! Several producers at once: all orders in which their messages can reach the sites.
//!
//! A producer is an ordinary [`SlicedFilter`]. Its code runs again and again with the answers that it
//! has got so far, until it asks for one that does not exist yet: this is its next round. So the
//! simulator checks the code that is used, not a model of it. Each message of a round can arrive
//! before or after any message of the others; a site handles one message at a time.
//!
//! **The race.** With vertical slices a key has bits on several sites. Producer A finds the bit at
//! site 1 clear, B finds the one at site 2 clear, and both are told New. A horizontal slice is one
//! site: its test-and-set is atomic, and only one producer is told New. With
//! [`SitePrimitive::Claim`](super::SitePrimitive::Claim) only one is, whatever the slices are.

use super::{BitSite, Request, SiteFailure, SiteGroup, SiteVerdict, SlicedFilter};
use crate::fingerprint::{Fingerprint, reduce};
use crate::rng::Generator;

/// In how many orders of messages how many producers were told New.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interleavings {
    /// The number of orders by the number of producers that were told New: index 0 counts those in
    /// which none was.
    pub told_new: Vec<u64>,
}

impl Interleavings {
    /// Tries every order in which producers can observe their keys, one key per producer. The state
    /// of the filter is where all of them start. Returns None if there are more than `limit` orders.
    pub fn all(
        filter: &SlicedFilter<Vec<BitSite>>,
        keys: &[Fingerprint],
        limit: u64,
    ) -> Option<Self> {
        let mut found = Interleavings::none(keys);
        let mut left = limit;
        let world = World::start(filter, keys);
        explore(&world, &mut found, &mut left).then_some(found)
    }

    /// Tries `count` random orders.
    pub fn random(
        filter: &SlicedFilter<Vec<BitSite>>,
        keys: &[Fingerprint],
        count: u64,
        seed: u64,
    ) -> Self {
        let mut found = Interleavings::none(keys);
        let mut generator = Generator::from_seed(seed);
        for _ in 0..count {
            let mut world = World::start(filter, keys);
            loop {
                let choices = world.choices();
                if choices.is_empty() {
                    break;
                }
                let choice = reduce(generator.draw(0), choices.len() as u64) as usize;
                generator = generator.ahead(1);
                world.deliver(choices[choice]);
            }
            found.count(&world);
        }
        found
    }

    /// Returns the number of orders.
    pub fn total(&self) -> u64 {
        self.told_new.iter().sum()
    }

    /// Returns the number of orders in which more than one producer was told New.
    pub fn races(&self) -> u64 {
        self.told_new.iter().skip(2).sum()
    }

    fn none(keys: &[Fingerprint]) -> Self {
        Interleavings {
            told_new: vec![0; keys.len() + 1],
        }
    }

    fn count(&mut self, world: &World<'_>) {
        let is_new = |producer: &&Producer| producer.verdict.is_some_and(SiteVerdict::is_new);
        self.told_new[world.producers.iter().filter(is_new).count()] += 1;
    }
}

/// Returns false if there are too many orders.
fn explore(world: &World<'_>, found: &mut Interleavings, left: &mut u64) -> bool {
    let choices = world.choices();
    if choices.is_empty() {
        found.count(world);
        let enough = *left > 0;
        *left = left.saturating_sub(1);
        return enough;
    }
    choices.into_iter().all(|choice| {
        let mut next = world.clone();
        next.deliver(choice);
        explore(&next, found, left)
    })
}

/// A message of a producer that has not arrived yet.
#[derive(Clone, Copy, Debug)]
struct Choice {
    producer: usize,
    message: usize,
}

/// The sites and the producers between two messages.
#[derive(Clone, Debug)]
struct World<'a> {
    settings: &'a SlicedFilter<Vec<BitSite>>,
    sites: Vec<BitSite>,
    producers: Vec<Producer>,
}

#[derive(Clone, Debug)]
struct Producer {
    key: Fingerprint,
    answers: Vec<Vec<Message>>,
    /// The present round, and which of its messages have arrived.
    round: Vec<(Message, bool)>,
    verdict: Option<SiteVerdict>,
}

impl<'a> World<'a> {
    fn start(settings: &'a SlicedFilter<Vec<BitSite>>, keys: &[Fingerprint]) -> Self {
        let producer = |&key: &Fingerprint| Producer {
            key,
            answers: Vec::new(),
            round: Vec::new(),
            verdict: None,
        };
        let mut world = World {
            settings,
            sites: settings.sites().clone(),
            producers: keys.iter().map(producer).collect(),
        };
        for producer in &mut world.producers {
            producer.run(settings);
        }
        world
    }

    fn choices(&self) -> Vec<Choice> {
        let producers = self.producers.iter().enumerate();
        let messages = producers.flat_map(|(producer, it)| {
            let waiting = it.round.iter().enumerate().filter(|(_, (_, done))| !done);
            waiting.map(move |(message, _)| Choice { producer, message })
        });
        messages.collect()
    }

    fn deliver(&mut self, choice: Choice) {
        let producer = &mut self.producers[choice.producer];
        let (message, arrived) = &mut producer.round[choice.message];
        message.deliver(&mut self.sites);
        *arrived = true;
        if producer.round.iter().all(|(_, arrived)| *arrived) {
            let round = producer.round.drain(..).map(|(message, _)| message);
            producer.answers.push(round.collect());
            producer.run(self.settings);
        }
    }
}

impl Producer {
    /// Runs the observation with the answers that are known, up to its next round or its end.
    fn run(&mut self, settings: &SlicedFilter<Vec<BitSite>>) {
        let recorded = Recorded {
            bits: settings.sites().iter().map(super::Site::bits).collect(),
            answers: std::mem::take(&mut self.answers),
            next: 0,
            pending: None,
        };
        let Ok(mut filter) = settings.with_sites(recorded) else {
            return;
        };
        let verdict = filter.observe(self.key);
        let recorded = filter.into_sites();
        self.answers = recorded.answers;
        match recorded.pending {
            Some(round) => self.round = round.into_iter().map(|it| (it, false)).collect(),
            None => self.verdict = Some(verdict),
        }
    }
}

/// A message with its answer, if it has one.
#[derive(Clone, Debug)]
enum Message {
    Request(Request),
    Claim(usize, Fingerprint, Result<bool, SiteFailure>),
    Release(usize, Fingerprint, Result<(), SiteFailure>),
}

impl Message {
    fn deliver(&mut self, sites: &mut Vec<BitSite>) {
        match self {
            Message::Request(request) => sites.exchange(std::slice::from_mut(request)),
            Message::Claim(site, key, answer) => *answer = sites.claim(*site, *key),
            Message::Release(site, key, answer) => *answer = sites.release(*site, *key),
        }
    }
}

/// Sites that answer as recorded, and note the first round for which there is no answer. What the
/// caller does after that round is discarded.
#[derive(Clone, Debug)]
struct Recorded {
    bits: Vec<u64>,
    answers: Vec<Vec<Message>>,
    next: usize,
    pending: Option<Vec<Message>>,
}

impl Recorded {
    fn answer(&mut self, round: impl FnOnce() -> Vec<Message>) -> Option<&[Message]> {
        if self.next == self.answers.len() {
            self.pending.get_or_insert_with(round);
            return None;
        }
        self.next += 1;
        Some(&self.answers[self.next - 1])
    }
}

impl SiteGroup for Recorded {
    fn site_count(&self) -> usize {
        self.bits.len()
    }

    fn site_bits(&self, site: usize) -> u64 {
        self.bits[site]
    }

    fn exchange(&mut self, round: &mut [Request]) {
        if round.is_empty() {
            return;
        }
        let asked = || round.iter().cloned().map(Message::Request).collect();
        match self.answer(asked) {
            Some(answers) => {
                for (request, answer) in round.iter_mut().zip(answers) {
                    if let Message::Request(answer) = answer {
                        request.clone_from(answer);
                    }
                }
            }
            None => {
                for request in round {
                    request.outcome = Err(SiteFailure::Unavailable);
                    request.was_set.clear();
                }
            }
        }
    }

    fn claim(&mut self, site: usize, key: Fingerprint) -> Result<bool, SiteFailure> {
        let unanswered = Err(SiteFailure::Unavailable);
        match self.answer(|| vec![Message::Claim(site, key, unanswered)]) {
            Some([Message::Claim(_, _, answer)]) => *answer,
            _ => unanswered,
        }
    }

    fn release(&mut self, site: usize, key: Fingerprint) -> Result<(), SiteFailure> {
        let unanswered = Err(SiteFailure::Unavailable);
        match self.answer(|| vec![Message::Release(site, key, unanswered)]) {
            Some([Message::Release(_, _, answer)]) => *answer,
            _ => unanswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::{SitePrimitive, Testing};

    /// Two bits of this key are on different sites of each filter below.
    const KEY: Fingerprint = Fingerprint(0x0123_4567_89ab_cdef);
    const LIMIT: u64 = 1_000_000;

    fn filter(
        slicing: &str,
        k: u32,
        testing: Testing,
        primitive: SitePrimitive,
    ) -> SlicedFilter<Vec<BitSite>> {
        let slicing = slicing.parse().expect("a slicing");
        let mut filter = SlicedFilter::in_process(slicing, k, 1000).expect("sites");
        filter.set_testing(testing);
        filter.set_primitive(primitive);
        filter
    }

    fn all(
        slicing: &str,
        k: u32,
        testing: Testing,
        primitive: SitePrimitive,
        producers: usize,
    ) -> Interleavings {
        let filter = filter(slicing, k, testing, primitive);
        if slicing.starts_with("vertical") {
            let sites = filter.plan().site_bits_of(KEY).map(|bit| bit.site);
            let distinct: std::collections::BTreeSet<usize> = sites.collect();
            assert_eq!(distinct.len(), k as usize, "{slicing}");
        }
        let found = Interleavings::all(&filter, &vec![KEY; producers], LIMIT);
        found.expect("few orders")
    }

    #[test]
    fn two_producers_of_a_new_key_are_both_told_new_in_a_third_of_the_orders_of_vertical_slices() {
        let found = all(
            "vertical:10",
            2,
            Testing::Pipelined,
            SitePrimitive::TestAndSet,
            2,
        );
        // A1 A2 B1 B2, A1 B1 A2 B2 and A1 B1 B2 A2, and the same with A and B exchanged. Only in
        // the third one does B find its second bit clear.
        assert_eq!(found.told_new, [0, 4, 2]);
        // Parallel messages can arrive in any order: at each site either producer is the first.
        let found = all(
            "vertical:10",
            2,
            Testing::Parallel,
            SitePrimitive::TestAndSet,
            2,
        );
        assert_eq!(found.total(), 24);
        assert_eq!(found.races() * 2, found.total());
    }

    #[test]
    fn a_horizontal_slice_has_no_race_with_test_and_set() {
        for producers in 1..=4 {
            for testing in [Testing::Parallel, Testing::Pipelined] {
                let found = all(
                    "horizontal:10",
                    4,
                    testing,
                    SitePrimitive::TestAndSet,
                    producers,
                );
                assert_eq!(found.told_new[1], found.total());
                assert!(found.total() >= producers as u64);
            }
        }
        // To test first and to set later is a race on any slices.
        let found = all(
            "horizontal:10",
            4,
            Testing::Parallel,
            SitePrimitive::TestThenSet,
            2,
        );
        assert_eq!(found.told_new, [0, 2, 4]);
    }

    #[test]
    fn the_claim_removes_the_race_in_every_order() {
        for (k, testing, producers) in [
            (2, Testing::Parallel, 2),
            (2, Testing::Pipelined, 2),
            (3, Testing::Pipelined, 2),
            (2, Testing::Pipelined, 3),
        ] {
            let racing = all(
                "vertical:10",
                k,
                testing,
                SitePrimitive::TestAndSet,
                producers,
            );
            assert!(racing.races() > 0);
            let found = all("vertical:10", k, testing, SitePrimitive::Claim, producers);
            assert_eq!(
                found.told_new[1],
                found.total(),
                "k = {k}, {testing}, {producers}"
            );
            assert!(found.total() > 20, "{}", found.total());
            if (k, testing, producers) == (2, Testing::Parallel, 2) {
                assert_eq!(found.total(), 1544);
            }
        }
    }

    #[test]
    fn producers_of_different_keys_do_not_disturb_each_other() {
        let filter = filter("vertical:10", 2, Testing::Pipelined, SitePrimitive::Claim);
        let keys = [KEY, Fingerprint(!KEY.0)];
        let found = Interleavings::all(&filter, &keys, LIMIT).expect("few orders");
        assert_eq!(found.told_new[2], found.total());
    }

    #[test]
    fn at_least_one_producer_is_told_new_and_repeats_are_seen() {
        for primitive in [
            SitePrimitive::TestThenSet,
            SitePrimitive::TestAndSet,
            SitePrimitive::Claim,
        ] {
            let found = all("vertical:10", 2, Testing::Parallel, primitive, 2);
            assert_eq!(found.told_new[0], 0, "{primitive}");
            let mut filter = filter("vertical:10", 2, Testing::Parallel, primitive);
            filter.observe(KEY);
            let found = Interleavings::all(&filter, &[KEY, KEY], LIMIT).expect("few orders");
            assert_eq!(found.told_new[0], found.total(), "{primitive}");
        }
    }

    #[test]
    fn random_orders_find_the_race_where_there_are_too_many_orders() {
        let slicing = "vertical:40";
        let racing = filter(slicing, 4, Testing::Parallel, SitePrimitive::TestAndSet);
        assert_eq!(Interleavings::all(&racing, &[KEY; 3], 1000), None);
        let found = Interleavings::random(&racing, &[KEY; 3], 1000, 1);
        assert_eq!(found.total(), 1000);
        assert!(found.races() > 500, "{found:?}");
        let claimed = filter(slicing, 4, Testing::Parallel, SitePrimitive::Claim);
        let found = Interleavings::random(&claimed, &[KEY; 3], 1000, 1);
        assert_eq!(found.told_new[1], 1000);
    }
}
