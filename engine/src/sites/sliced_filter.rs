//! A Bloom filter on many sites: asks them, decides, records.

use std::ops::Range;

use super::round::Round;
use super::{
    BitSite, FailureRule, Operation, SiteGroup, SitePrimitive, SiteVerdict, SlicePlan, Slicing,
    SlicingError, Tally, Testing, Traffic,
};
use crate::fingerprint::Fingerprint;

/// A Bloom filter on many sites.
///
/// ```
/// use dedupstore::KeyHasher;
/// use dedupstore::sites::{FailureRule, SlicedFilter, SiteVerdict};
///
/// let mut filter = SlicedFilter::in_process("vertical:40".parse()?, 4, 100_000)?;
/// let key = KeyHasher::new(1).fingerprint(b"https://harbour.example/");
/// assert_eq!(filter.observe(key), SiteVerdict::New);
/// assert_eq!(filter.observe(key), SiteVerdict::Seen);
///
/// filter.set_rule(FailureRule::Unknown);
/// for site in filter.sites_mut() {
///     site.fail();
/// }
/// assert_eq!(filter.observe(key), SiteVerdict::Unknown);
/// # Ok::<(), dedupstore::sites::SlicingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlicedFilter<G> {
    pub(super) plan: SlicePlan,
    pub(super) sites: G,
    rule: FailureRule,
    testing: Testing,
    primitive: SitePrimitive,
    pub(super) traffic: Vec<Traffic>,
    round: Round,
    /// Which sites failed to answer during the present observation.
    pub(super) failed: Vec<bool>,
}

impl SlicedFilter<Vec<BitSite>> {
    /// Creates an empty filter whose sites are in this process, with `bits` bits in total and `k`
    /// per key.
    pub fn in_process(slicing: Slicing, k: u32, bits: u64) -> Result<Self, SlicingError> {
        let plan = SlicePlan::new(slicing, k, bits)?;
        let sites = (0..plan.sites()).map(|site| BitSite::new(plan.site_bits(site)));
        SlicedFilter::new(plan, sites.collect())
    }

    /// Returns the share of bits that are set.
    pub fn load(&self) -> f64 {
        let set: u64 = self.sites.iter().map(BitSite::set_bits).sum();
        set as f64 / self.plan.bits() as f64
    }
}

impl<G: SiteGroup> SlicedFilter<G> {
    /// Creates a filter on existing sites, which must have the number and size that the plan says.
    pub fn new(plan: SlicePlan, sites: G) -> Result<Self, SlicingError> {
        if sites.site_count() != plan.sites() {
            return Err(SlicingError::Group(format!(
                "{} has {} sites, found {}",
                plan.slicing(),
                plan.sites(),
                sites.site_count()
            )));
        }
        for site in 0..plan.sites() {
            let (expected, found) = (plan.site_bits(site), sites.site_bits(site));
            if expected != found {
                return Err(SlicingError::Group(format!(
                    "site {site} must have {expected} bits, found {found}"
                )));
            }
        }
        Ok(SlicedFilter {
            traffic: vec![Traffic::default(); plan.sites()],
            failed: vec![false; plan.sites()],
            round: Round::new(plan.sites()),
            plan,
            sites,
            rule: FailureRule::Seen,
            testing: Testing::Parallel,
            primitive: SitePrimitive::TestThenSet,
        })
    }

    /// Returns a filter with the same settings on other sites, which must be alike. It has received
    /// no messages.
    pub fn with_sites<H: SiteGroup>(&self, sites: H) -> Result<SlicedFilter<H>, SlicingError> {
        let mut filter = SlicedFilter::new(self.plan, sites)?;
        filter.rule = self.rule;
        filter.testing = self.testing;
        filter.primitive = self.primitive;
        Ok(filter)
    }

    /// Sets the rule for failed sites. The default is [`FailureRule::Seen`].
    pub fn set_rule(&mut self, rule: FailureRule) {
        self.rule = rule;
    }

    /// Sets how several sites are tested. The default is [`Testing::Parallel`].
    pub fn set_testing(&mut self, testing: Testing) {
        self.testing = testing;
    }

    /// Sets how a key is tested and recorded. The default is [`SitePrimitive::TestThenSet`].
    pub fn set_primitive(&mut self, primitive: SitePrimitive) {
        self.primitive = primitive;
    }

    /// Returns where the bits of keys are.
    pub fn plan(&self) -> &SlicePlan {
        &self.plan
    }

    /// Returns the sites.
    pub fn sites(&self) -> &G {
        &self.sites
    }

    /// Returns the sites, for example to let them fail.
    pub fn sites_mut(&mut self) -> &mut G {
        &mut self.sites
    }

    /// Ends the filter and returns the sites.
    pub fn into_sites(self) -> G {
        self.sites
    }

    /// Returns the messages that each site has received.
    pub fn traffic(&self) -> &[Traffic] {
        &self.traffic
    }

    /// Tests a key and records it if it is New.
    pub fn observe(&mut self, key: Fingerprint) -> SiteVerdict {
        match self.primitive {
            SitePrimitive::TestThenSet => {
                let verdict = self.test(key);
                if verdict.is_new() {
                    self.set_at_live_sites(&[key]);
                }
                verdict
            }
            SitePrimitive::TestAndSet => self.test_and_set(key),
            SitePrimitive::Claim => match self.test(key) {
                SiteVerdict::New => self.claim_and_set(key),
                other => other,
            },
        }
    }

    /// Observes keys in their order. The verdicts are those of [`observe`](SlicedFilter::observe).
    /// Parallel tests of all keys are sent in one round, and so are the sets: one request per site.
    pub fn observe_batch(&mut self, keys: &[Fingerprint], verdicts: &mut Vec<SiteVerdict>) {
        verdicts.clear();
        let operation = match (self.testing, self.primitive) {
            (Testing::Parallel, SitePrimitive::TestThenSet) => Operation::Test,
            (Testing::Parallel, SitePrimitive::TestAndSet) => Operation::TestAndSet,
            _ => {
                verdicts.extend(keys.iter().map(|&key| self.observe(key)));
                return;
            }
        };
        self.start(keys, operation);
        self.exchange_all();
        if operation == Operation::TestAndSet {
            let tallies = self.round.tallies(self.plan.k());
            verdicts.extend(tallies.map(|tally| self.rule.decide(tally)));
            return;
        }
        let rule = self.rule;
        self.round
            .decide_in_order(self.plan.k(), |tally| rule.decide(tally), verdicts);
        let new = keys.iter().zip(&*verdicts).filter(|(_, it)| it.is_new());
        let new: Vec<Fingerprint> = new.map(|(&key, _)| key).collect();
        self.set_at_live_sites(&new);
    }

    /// Tests a key without recording it.
    pub fn test(&mut self, key: Fingerprint) -> SiteVerdict {
        self.start(&[key], Operation::Test);
        self.ask().0
    }

    /// Records a key without testing it.
    pub fn set(&mut self, key: Fingerprint) {
        self.start(&[key], Operation::Set);
        self.exchange_all();
    }

    /// Tests a key and sets all of its bits, in one message per site. If the tests are pipelined,
    /// sites after the decision only set.
    pub fn test_and_set(&mut self, key: Fingerprint) -> SiteVerdict {
        self.start(&[key], Operation::TestAndSet);
        let (verdict, asked) = self.ask();
        if verdict.is_new() {
            self.round.change_operation(asked, Operation::Set);
            self.exchange(asked..self.round.len());
        }
        verdict
    }

    /// Records keys that were tested just before. Sites that failed then are not asked again.
    fn set_at_live_sites(&mut self, keys: &[Fingerprint]) {
        let failed = &self.failed;
        self.round.start(Operation::Set);
        for &key in keys {
            let bits = self.plan.site_bits_of(key);
            self.round.add_key(bits.filter(|bit| !failed[bit.site]));
        }
        self.exchange_all();
    }

    fn start(&mut self, keys: &[Fingerprint], operation: Operation) {
        self.failed.fill(false);
        self.round.start(operation);
        for &key in keys {
            self.round.add_key(self.plan.site_bits_of(key));
        }
    }

    /// Asks the sites of one key. Returns the verdict and the number of sites asked.
    fn ask(&mut self) -> (SiteVerdict, usize) {
        let sites = self.round.len();
        if self.testing == Testing::Parallel {
            self.exchange_all();
            return (self.rule.decide(self.round.tally_of(0..sites)), sites);
        }
        let k = self.plan.k();
        for asked in 0..sites {
            self.exchange(asked..asked + 1);
            let tally = self.round.tally_of(0..asked + 1);
            let missing = k - (tally.set + tally.clear + tally.failed);
            if let Some(verdict) = self.rule.decide_early(tally, missing) {
                return (verdict, asked + 1);
            }
        }
        // Not reached: nothing is missing after the last site.
        (self.rule.decide(Tally::default()), sites)
    }

    fn exchange_all(&mut self) {
        self.exchange(0..self.round.len());
    }

    fn exchange(&mut self, requests: Range<usize>) {
        self.sites
            .exchange(self.round.requests_mut(requests.clone()));
        for sent in self.round.sent(requests) {
            let answered = sent.request.outcome.is_ok();
            let site = sent.request.site;
            self.failed[site] |= !answered;
            let bits = self.plan.site_bits(site);
            for &positions in sent.positions_per_key {
                let traffic = &mut self.traffic[site];
                traffic.count(sent.request.operation, positions as usize, bits, answered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fingerprint::KeyHasher;
    use crate::seen_set::SeenSetBuilder;
    use crate::sites::{SiteBit, SiteFailure};

    const SLICINGS: [&str; 6] = [
        "horizontal:1",
        "horizontal:10",
        "vertical:10",
        "diced:5x2",
        "diced:5x2,order=v-h",
        "general:10,k1=2",
    ];
    const RULES: [FailureRule; 6] = [
        FailureRule::Seen,
        FailureRule::New,
        FailureRule::XOfK { x: 3 },
        FailureRule::LiveZero { x: 2 },
        FailureRule::LiveZero { x: 3 },
        FailureRule::Unknown,
    ];
    const BITS: u64 = 1203;

    /// A stream with repeats, also close ones.
    fn keys() -> Vec<Fingerprint> {
        let number = |i: u64| {
            if i.is_multiple_of(3) {
                i * i % 401
            } else {
                i / 4
            }
        };
        (0..1200)
            .map(|i| KeyHasher::new(7).fingerprint(&number(i).to_le_bytes()))
            .collect()
    }

    fn filter(slicing: &str, failed: &[usize], rule: FailureRule) -> SlicedFilter<Vec<BitSite>> {
        let slicing = slicing.parse().expect("a slicing");
        let mut filter = SlicedFilter::in_process(slicing, 4, BITS).expect("sites");
        filter.set_rule(rule);
        for &site in failed {
            if let Some(site) = filter.sites_mut().get_mut(site) {
                site.fail();
            }
        }
        filter
    }

    fn verdicts(mut filter: SlicedFilter<Vec<BitSite>>) -> Vec<SiteVerdict> {
        keys().iter().map(|&key| filter.observe(key)).collect()
    }

    #[test]
    fn vertical_slices_and_a_single_slice_are_the_bloom_filter() {
        let spec = "bloom:k=4".parse().expect("a filter");
        let set = SeenSetBuilder::new(&spec).memory_bits(BITS).seed(7);
        let mut set = set.build().expect("small");
        let expected: Vec<bool> = keys()
            .into_iter()
            .map(|key| set.observe_one(key.into()).is_seen())
            .collect();
        for slicing in ["horizontal:1", "vertical:1", "vertical:10", "vertical:1203"] {
            let found = verdicts(filter(slicing, &[], FailureRule::Seen));
            let found: Vec<bool> = found.into_iter().map(SiteVerdict::is_seen).collect();
            assert_eq!(found, expected, "{slicing}");
        }
    }

    /// The oracle: a set of bits, read and written one by one.
    #[test]
    fn verdicts_are_those_of_a_plain_set_of_bits() {
        for slicing in SLICINGS {
            for rule in RULES {
                let failed = [1, 4];
                let tested = filter(slicing, &failed, rule);
                let mut set: BTreeSet<SiteBit> = BTreeSet::new();
                let mut expected = Vec::new();
                for key in keys() {
                    let bits: Vec<SiteBit> = tested.plan().site_bits_of(key).collect();
                    let mut tally = Tally::default();
                    for bit in &bits {
                        match failed.contains(&bit.site) {
                            true => tally.failed += 1,
                            false => tally.count(set.contains(bit)),
                        }
                    }
                    let verdict = rule.decide(tally);
                    if verdict.is_new() {
                        set.extend(bits);
                    }
                    expected.push(verdict);
                }
                assert!(verdicts(tested) == expected, "{slicing}, {rule}");
            }
        }
    }

    #[test]
    fn batches_and_pipelined_tests_give_the_same_verdicts_and_the_same_bits() {
        for slicing in SLICINGS {
            for rule in RULES {
                for primitive in [
                    SitePrimitive::TestThenSet,
                    SitePrimitive::TestAndSet,
                    SitePrimitive::Claim,
                ] {
                    let mut one = filter(slicing, &[2, 7], rule);
                    one.set_primitive(primitive);
                    let (mut batched, mut pipelined) = (one.clone(), one.clone());
                    pipelined.set_testing(Testing::Pipelined);
                    let mut found = Vec::new();
                    for batch in keys().chunks(97) {
                        batched.observe_batch(batch, &mut found);
                        let expected: Vec<SiteVerdict> =
                            batch.iter().map(|&key| one.observe(key)).collect();
                        assert_eq!(found, expected, "{slicing}, {rule}, {primitive}");
                        let found = batch.iter().map(|&key| pipelined.observe(key));
                        // A pipelined test that ends with Seen does not set the bits after it.
                        let stops = primitive == SitePrimitive::TestAndSet
                            && matches!(rule, FailureRule::XOfK { .. });
                        assert!(
                            found.eq(expected) || stops,
                            "{slicing}, {rule}, {primitive}"
                        );
                    }
                    assert_eq!(batched.traffic(), one.traffic(), "{slicing}, {primitive}");
                    for (a, b) in batched.sites().iter().zip(one.sites()) {
                        assert_eq!(a.bytes(), b.bytes());
                    }
                    let tests = |filter: &SlicedFilter<Vec<BitSite>>| -> u64 {
                        filter.traffic().iter().map(|it| it.tests).sum()
                    };
                    assert!(tests(&pipelined) <= tests(&one), "{slicing}, {rule}");
                }
            }
        }
    }

    #[test]
    fn without_failed_sites_all_primitives_and_rules_agree() {
        for slicing in SLICINGS {
            let expected = verdicts(filter(slicing, &[], FailureRule::Seen));
            for rule in [
                FailureRule::New,
                FailureRule::Unknown,
                FailureRule::XOfK { x: 4 },
                FailureRule::LiveZero { x: 4 },
            ] {
                for primitive in [SitePrimitive::TestAndSet, SitePrimitive::Claim] {
                    let mut filter = filter(slicing, &[], rule);
                    filter.set_primitive(primitive);
                    assert!(
                        verdicts(filter) == expected,
                        "{slicing}, {rule}, {primitive}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_claim_costs_two_messages_per_new_key() {
        let mut filter = filter("vertical:10", &[], FailureRule::Seen);
        filter.set_primitive(SitePrimitive::Claim);
        let keys = keys();
        let new = keys.iter().filter(|&&key| filter.observe(key).is_new());
        let new = new.count() as u64;
        let claims: u64 = filter.traffic().iter().map(|it| it.claims).sum();
        assert_eq!(claims, 2 * new);
    }

    #[test]
    fn a_site_that_comes_back_empty_keeps_failing_until_it_is_rebuilt() {
        let mut filter = filter("vertical:10", &[], FailureRule::Unknown);
        let keys = keys();
        keys.iter().for_each(|&key| {
            filter.observe(key);
        });
        filter.sites_mut()[3].restart_empty();
        let plan = *filter.plan();
        let mut at_site = 0;
        for &key in &keys {
            let concerned = plan.site_bits_of(key).any(|bit| bit.site == 3);
            let expected = match concerned {
                true => SiteVerdict::Unknown,
                false => SiteVerdict::Seen,
            };
            assert_eq!(filter.observe(key), expected, "never New: no bit was lost");
            at_site += u64::from(concerned);
        }
        assert!(at_site > 100);
        assert_eq!(filter.sites()[3].failure(), Some(SiteFailure::Empty));
        let bits = keys.iter().flat_map(|&key| plan.site_bits_of(key));
        let lost = bits.filter(|bit| bit.site == 3).map(|bit| bit.position);
        filter.sites_mut()[3].rebuild(lost);
        assert!(keys.iter().all(|&key| filter.observe(key).is_seen()));
    }

    #[test]
    fn sites_that_do_not_fit_the_plan_are_refused() {
        let plan =
            SlicePlan::new("vertical:4".parse().expect("a slicing"), 4, 402).expect("a plan");
        let sites = |bits: &[u64]| bits.iter().map(|&bits| BitSite::new(bits)).collect();
        assert!(SlicedFilter::<Vec<BitSite>>::new(plan, sites(&[100, 101, 100, 101])).is_ok());
        let error = SlicedFilter::<Vec<BitSite>>::new(plan, sites(&[100; 3])).expect_err("three");
        assert!(error.to_string().contains("4 sites, found 3"), "{error}");
        let error = SlicedFilter::<Vec<BitSite>>::new(plan, sites(&[100; 4])).expect_err("size");
        assert!(
            error.to_string().contains("site 1 must have 101"),
            "{error}"
        );
    }
}
