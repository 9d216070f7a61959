//! What each paper claims, and whether it holds. `docs/PAPERS.md` and the page of `reproduce --html`
//! have the same statements.

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Holds,
    /// It holds with a restriction that the paper does not name.
    Partly,
    /// It does not hold. A test shows it.
    Wrong,
    /// It could not be decided.
    Open,
}

impl Finding {
    /// Returns the finding in words.
    pub const fn name(self) -> &'static str {
        match self {
            Finding::Holds => "holds",
            Finding::Partly => "holds in part",
            Finding::Wrong => "does not hold",
            Finding::Open => "open",
        }
    }
}

/// A claim of a paper and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The number of the paper in this project.
    pub paper: &'static str,
    /// What the paper claims.
    pub claim: &'static str,
    /// Whether it holds.
    pub finding: Finding,
    /// What was found.
    pub answer: &'static str,
    /// The command that shows it.
    pub command: &'static str,
    /// The test that would fail if the finding were not so.
    pub test: Option<&'static str>,
}

use Finding::{Holds, Open, Partly, Wrong};

const fn statement(
    paper: &'static str,
    claim: &'static str,
    finding: Finding,
    answer: &'static str,
    command: &'static str,
    test: Option<&'static str>,
) -> Statement {
    Statement {
        paper,
        claim,
        finding,
        answer,
        command,
        test,
    }
}

/// Every statement, by paper.
pub const STATEMENTS: &[Statement] = &[
    statement(
        "000",
        "Tables 1 to 9: the error rates of RSBF, BSBF, BSBFSD and RLBSBF.",
        Holds,
        "Every cell is reproduced, by 0.13 % in the median and 3 % at most.",
        "dedupstore reproduce 000",
        Some("rlbsbf_has_the_rates_of_bera_2012"),
    ),
    statement(
        "000",
        "Tables 4 to 9: the error rates of SBF in 512 MB.",
        Wrong,
        "512 MB are 2^32 cells, and the 31 bits of C's rand() reach only half of them. With that bug \
         the six published cells are reproduced; without it, SBF misses up to 15 % more repeats.",
        "dedupstore reproduce 000 9 --row '512 MB'",
        Some("a_wrong_column_has_a_note"),
    ),
    statement(
        "000",
        "The rates of RSBF come from Algorithm 1.",
        Wrong,
        "They come from another algorithm: every key is inserted with probability s/i, repeats too, \
         and each insertion clears a bit. Algorithm 1 as printed has half as many false \
         positives again, and about half the false negatives.",
        "dedupstore simulate --stream shuffle:60 --count 10M --memory-bits 10737418 --filter \
         rsbf:k=2 --filter rsbf:k=2,reading=printed",
        Some("rsbf_as_printed_has_other_rates_than_published"),
    ),
    statement(
        "000",
        "Algorithms 2 to 4 as printed.",
        Wrong,
        "DISTINCT and DUPLICATE are exchanged: as printed, an empty filter calls every key a \
         duplicate and never stores one.",
        "dedupstore reproduce 000 8",
        Some("bsbf_as_printed_never_stores_a_key"),
    ),
    statement(
        "000",
        "False negatives fall as the stream grows, while those of SBF do not.",
        Partly,
        "They fall for BSBF, BSBFSD and RLBSBF if there are many bits per distinct key. What is \
         gained is paid in false positives, which the same argument drives towards 1.",
        "dedupstore reproduce 000 'Figure 5'",
        None,
    ),
    statement(
        "000",
        "The proposed filters, RLBSBF above all, outperform those before them.",
        Partly,
        "They outperform SBF, the only one that the paper compares with. A plain Bloom filter with the \
         best k has no false negatives, and fewer false positives than RLBSBF in 15 of the 24 cells of \
         Tables 4 to 9.",
        "dedupstore simulate --stream shuffle:15 --count 10M --memory-bits 42949672 --filter \
         rlbsbf:k=2 --filter bloom:k=6",
        Some("a_bloom_filter_beats_rlbsbf_in_fifteen_of_twenty_four_cells"),
    ),
    statement(
        "001",
        "Figure 1: the false positives of horizontal and vertical slices when sites fail (Eq. 5, 6).",
        Holds,
        "Measured filters agree with the equations within their standard error.",
        "dedupstore reproduce 001 1",
        Some("failed_sites_have_the_rates_of_the_paper_s_equations"),
    ),
    statement(
        "001",
        "Figures 5 and 7: filters sized for 2, 5 and 8 % false positives.",
        Partly,
        "The published rates are means from the empty filter on: 0.47, 1.23 and 2.05 %. At the end \
         of the stream the rate is the one that the filter is sized for.",
        "dedupstore reproduce 001 5",
        Some("the_published_false_positive_rate_is_a_mean_from_empty"),
    ),
    statement(
        "001",
        "Figure 5 (d): a key is a duplicate if at least x of its bits are set on live sites; x = 3 or \
         4 of 8 is best.",
        Wrong,
        "As printed, the rule drops a third of the new keys at x = 3. The sentence fits the rule that \
         all live bits must be set and at least x must be live: the same misses, and few drops.",
        "dedupstore reproduce 001 5 --row '(d) k = 8, x = 3'",
        Some("only_the_live_zero_rule_has_the_shape_that_the_paper_describes"),
    ),
    statement(
        "001",
        "Section 3: the probabilities of the x-of-k rule.",
        Wrong,
        "The sums lack the binomial coefficients. Measured misses follow the binomial distribution.",
        "dedupstore simulate --stream uniform:16.85 --count 100k --memory-bits 143000 --filter \
         bloom:k=8 --slices vertical:40 --failed 8 --rule x-of-k:x=3",
        Some("the_x_of_k_rule_needs_binomial_coefficients"),
    ),
    statement(
        "001",
        "Section 3.3: the false positives of diced filters, and Eq. 7 with failed sites.",
        Wrong,
        "The first lacks the exponent k. In Eq. 7, 1 − f/S should be 1 − f/(S·S').",
        "dedupstore simulate --stream uniform:16.85 --count 100k --memory-bits 143000 --filter \
         bloom:k=4 --slices diced:8x5 --failed 8",
        Some("failed_sites_of_diced_filters_are_a_share_of_all_sites"),
    ),
    statement(
        "001",
        "Multi-level filters: testing top-down reduces false positives.",
        Partly,
        "It does, but as printed it also misses repeats whose key lies in another subtree, which the \
         paper does not mention. Going on upwards misses none.",
        "dedupstore reproduce 001 12",
        Some("top_down_testing_misses_repeats_only_as_printed"),
    ),
    statement(
        "001",
        "Growth: a filter of false positive rate P is added when one is full.",
        Partly,
        "All of them are tested, so the rate grows with their number, to 1 − (1 − P)^L. Later parts \
         with smaller rates keep the sum below P.",
        "dedupstore simulate --stream shuffle:100 --count 1M --memory 4MiB --filter \
         growing:fpr=0.02,tighten=off --filter growing:fpr=0.02",
        Some("as_printed_ten_parts_exceed_the_wanted_rate_and_tightened_ones_do_not"),
    ),
    statement(
        "001",
        "Table 1: hits and accesses of local filters.",
        Holds,
        "Six of the eight numbers are ours, cut off to thousands; two differ by one.",
        "dedupstore reproduce 001 'Table 1'",
        Some("hits_and_accesses_of_local_filters_are_those_of_the_paper"),
    ),
    statement(
        "001",
        "Figures 9 to 12: timers, bursts and trees.",
        Holds,
        "The shapes agree with the text. The figures have no numbers and the data are not \
         available, so no more can be said.",
        "dedupstore reproduce 001 9",
        Some("equal_timers_have_the_shape_that_the_paper_describes"),
    ),
    statement(
        "002",
        "Tables 3 and 4: the weighted errors of BF, SBF, IBF1, IBF2 and IBF4.",
        Holds,
        "BF and SBF are reproduced within 4 %, IBF4 within 10 %, the misses of IBF1 and IBF2 within \
         1 %, if a cell keeps the larger of two values; Algorithm 2 overwrites it.",
        "dedupstore reproduce 002 3",
        Some("bloom_and_stable_have_the_published_weighted_errors"),
    ),
    statement(
        "002",
        "The stream has 70 % duplicates.",
        Wrong,
        "That of the figures has; that of the tables has 44.53 %.",
        "dedupstore reproduce 002 4",
        Some("the_tables_of_the_importance_paper_have_fewer_duplicates_than_its_text"),
    ),
    statement(
        "002",
        "Table 3 for n = 16384, k = 8, and Table 4 for n = 65536, k = 8.",
        Wrong,
        "In the first, BF and IBF5 are exchanged; in the second, the rows are rotated by one. In \
         their places the values are reproduced.",
        "dedupstore reproduce 002 3",
        Some("two_columns_of_the_importance_paper_are_misprinted"),
    ),
    statement(
        "002",
        "IBF3 and IBF5 are the best of the importance-aware filters.",
        Open,
        "Neither is reproduced under any of the readings tried, and the published values of both are \
         alike in every column, which no reading explains.",
        "dedupstore reproduce 002 Readings",
        None,
    ),
    statement(
        "003",
        "Table 2: SBF and RSBF on uniform streams.",
        Holds,
        "They are reproduced, except for the bug of paper 000 at 512 MB and two memories of the \
         shortest stream, which are not explained.",
        "dedupstore reproduce 003 2",
        Some("rsbf_has_the_rates_of_bera_2012"),
    ),
    statement(
        "003",
        "SQF has error rates near 0 in 64 to 128 MB.",
        Wrong,
        "Only because the keys were the numbers from 0 and each was its own fingerprint: a row then \
         stores all keys that can ever belong to it. With hashed keys a third of the new keys is \
         dropped, where a Bloom filter in the same memory drops a sixteenth.",
        "dedupstore reproduce 003 2 --row '1 billion (15 %), 64 MB'",
        Some("an_sqf_errs_as_soon_as_keys_are_hashed"),
    ),
    statement(
        "003",
        "A bucket of r' + log2 r bits is enough; the table starts empty.",
        Wrong,
        "Then no value is left for an empty bucket. If empty means signature 0, a quarter of the \
         repeats is missed, or a quarter of the new keys dropped.",
        "dedupstore reproduce 003 2",
        Some("an_sqf_without_a_value_for_empty_errs_on_a_quarter_of_the_keys"),
    ),
    statement(
        "003",
        "Eq. 10 and Figure 4 (a): false positives fall as the stream grows.",
        Wrong,
        "They grow, as for every filter that fills. The equation drops all but one term of a sum.",
        "dedupstore reproduce 003 'Figure 4'",
        Some("the_false_positives_of_an_sqf_grow_with_the_stream"),
    ),
    statement(
        "003",
        "Table 3: 0.008 % of both errors in 8 MB for 150 million distinct keys of a Zipf stream.",
        Wrong,
        "That is less than half a bit per distinct key; any filter with these rates needs 13.6. The \
         skew is not printed, and no exponent with so many distinct keys has the rates of SBF.",
        "dedupstore reproduce 003 'Table 3'",
        Some("table_3_of_the_sqf_is_below_the_information_bound"),
    ),
    statement(
        "003",
        "Figure 3: r = 2, r' = 1 and k = 4 are the best parameters.",
        Partly,
        "For keys that are their own fingerprints. With hashed keys every choice drops a sixth of the \
         new keys or more.",
        "dedupstore reproduce 003 'Figure 3'",
        None,
    ),
    statement(
        "003",
        "Table 1: click streams of KDD Cup 2000.",
        Open,
        "The data are not available.",
        "dedupstore reproduce 003 'Table 1'",
        None,
    ),
    statement(
        "004",
        "Figure 4: the false negatives of SBF and FPBuffering on a web crawl.",
        Holds,
        "The crawl is not available, but the column `Buffering` says how far back its repeats lay. A \
         stream fitted to that column alone predicts the false negatives of SBF and FPBuffering in \
         all 16 rows, within 6 % where they are above 1 %.",
        "dedupstore reproduce 004 'Figure 4'",
        Some("a_stream_fitted_to_one_column_predicts_the_others"),
    ),
    statement(
        "004",
        "Figure 4: BF uses the best K.",
        Wrong,
        "Its rates are those of K = 2 in every row. With the best K, one cell would be 0.02 % \
         instead of 0.6 %.",
        "dedupstore reproduce 004 'Figure 4' --column BF",
        Some("the_papers_bloom_filter_has_two_hash_functions"),
    ),
    statement(
        "004",
        "Figure 4: the false positives of BF and SBF in the largest memories.",
        Wrong,
        "They do not fall below 1.6 %, as they must. Hash functions that distinguish 2.85 billion \
         keys, one number fitted to one cell, explain the others within a quarter.",
        "dedupstore reproduce 004 'Figure 4' --column 'BF, colliding hashes'",
        Some("colliding_hashes_explain_the_largest_memories"),
    ),
    statement(
        "004",
        "Algorithm 1 as printed.",
        Wrong,
        "It sets the duplicate flag again in the loop that lowers cells, and so takes most new keys \
         for duplicates.",
        "dedupstore reproduce 000 8",
        Some("the_stable_filter_as_printed_takes_new_keys_for_duplicates"),
    ),
    statement(
        "004",
        "Figure 1: the best K depends on Max and FPS only, and is small.",
        Holds,
        "Eq. 16 and 17 give the K that the text names, and filters miss what Eq. 16 says.",
        "dedupstore reproduce 004 'Figure 1'",
        Some("the_chain_equals_the_printed_sum"),
    ),
    statement(
        "004",
        "Figure 2: Max = 3 is better for short gaps, Max = 1 for longer ones.",
        Holds,
        "Filters in the same space show the sign of the difference, and Eq. 16 its size.",
        "dedupstore reproduce 004 'Figure 2'",
        None,
    ),
    statement(
        "004",
        "Figure 3: the fraction of zeros falls until it is stable.",
        Holds,
        "It does on the fitted stream, sooner in a small space, and it stays above the bound of \
         Theorem 3.",
        "dedupstore reproduce 004 'Figure 3'",
        None,
    ),
    statement(
        "004",
        "Figures 5 and 6: SBF misses fewer repeats than FPBuffering, by up to 30 points, and more so \
         the more false positives are allowed.",
        Partly,
        "It does while the space is small. In the largest spaces FPBuffering misses fewer, as the \
         paper says too.",
        "dedupstore reproduce 004 'Figure 6'",
        None,
    ),
];
