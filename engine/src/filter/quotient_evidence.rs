//! The slots of a quotient table that decide about a key, and what leads to them.

use super::evidence::{Evidence, EvidenceCell, Requirement};
use super::quotient_table::QuotientTable;
use super::slot_key::SlotKey;

/// Returns the slots that decide about a key of a table that begins at a byte of the region. The
/// metadata of the blocks that lead to a run are links, and so are the slots of a run in which the
/// key's fingerprint would not begin.
pub(super) fn evidence_of(
    table: &QuotientTable,
    region: &[u8],
    table_at: usize,
    key: SlotKey,
) -> Evidence {
    let (body, layout) = (&region[table_at..], table.layout());
    let (own, value) = key.place();
    let mut evidence = Evidence::any_equal(own, 1 + value, &mut std::iter::empty());
    if key.cut.is_marked {
        evidence.required = Requirement::Shortened(key);
    }
    for quotient in key.quotients().rev() {
        let run = table.run(body, quotient);
        for index in run.map_or(0..0, |run| run.slots()) {
            let value = layout.remainder(body, index);
            let cell = EvidenceCell {
                index,
                offset_bits: 8 * table_at as u64 + layout.slot_bit(index),
                width_bits: layout.width_bits(),
                meaning: "slot",
                value: 1 + value,
            };
            match key.belongs_to(quotient, value) {
                true => evidence.alternatives.push(vec![cell]),
                false => evidence.links.push(cell),
            }
        }
        let own = layout.block_of(quotient);
        // Where a run would begin is also read if the quotient has none.
        let last = match run {
            Some(run) => layout.block_of(run.end.max(1) - 1).max(own),
            None => table.blocks() - 1,
        };
        let mut link = |meaning, block: u64, bit: u64, width_bits| {
            let offset_bits = 8 * table_at as u64 + bit;
            let index = layout.first_of(block);
            let cell = EvidenceCell::read(meaning, index, offset_bits, width_bits, region);
            evidence.links.push(cell);
        };
        let first = table.last_short_offset(body, own).unwrap_or(0);
        let slots = layout.slots();
        for block in first..=own {
            link("offset", block, 8 * layout.byte_of(block) as u64, 8);
            link("occupied bits", block, layout.occupied_bit(block), slots);
        }
        for block in first..=last {
            link("run ends", block, layout.ends_bit(block), slots);
        }
    }
    evidence
}
