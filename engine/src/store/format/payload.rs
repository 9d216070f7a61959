//! What a frame holds: observations in one of four encodings, keys that were taken out, or a switch
//! to the next log.

use super::frame::{FrameHeader, Kind, STEP_BYTES};
use crate::audit::LogPolicy;
use crate::bytes::{read_u16, read_u32, read_u64, write_u64};
use crate::filter::{LoggedObservations, Observation, Verdict};
use crate::fingerprint::Fingerprint;

/// What a store records of each observation. Chosen when the store is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The fingerprint of every observation.
    Keys,
    /// Fingerprint, tick and importance of every observation.
    Full,
    /// The fingerprints of the observations that replay needs; see [`LogPolicy`].
    Sparse,
    /// The same, with the step at which they count.
    Timed,
}

impl Encoding {
    /// Returns how many observations are sure to fit into `payload_bytes`.
    pub const fn fits(self, payload_bytes: usize) -> usize {
        match self {
            Encoding::Keys => payload_bytes / 8,
            Encoding::Full => payload_bytes / 16,
            // A word of bits goes with up to 64 words of fingerprints.
            Encoding::Sparse => payload_bytes / 8 - (payload_bytes / 8).div_ceil(65),
            Encoding::Timed => Encoding::Sparse.fits(payload_bytes.saturating_sub(STEP_BYTES)),
        }
    }

    /// Returns the shortest payload that records the observations. `step` is the step of the
    /// clock at which they were observed.
    pub fn payload<'a>(
        self,
        step: u64,
        observations: &'a [Observation],
        verdicts: &'a [Verdict],
        log_policy: LogPolicy,
    ) -> Payload<'a> {
        match self {
            Encoding::Keys => Payload::Keys(observations),
            Encoding::Full => Payload::Full(observations),
            Encoding::Timed => Payload::Timed(step, observations, verdicts, log_policy),
            Encoding::Sparse => {
                let mut judged = observations.iter().zip(verdicts);
                // If every fingerprint is kept, the bits add nothing.
                match judged.all(|(o, &verdict)| log_policy.must_log(o.fingerprint, verdict)) {
                    true => Payload::Keys(observations),
                    false => Payload::Sparse(observations, verdicts, log_policy),
                }
            }
        }
    }
}

/// The payload of a frame to be written.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Fingerprints only.
    Keys(&'a [Observation]),
    /// All of an observation.
    Full(&'a [Observation]),
    /// Only the fingerprints that the policy keeps, by observation and verdict.
    Sparse(&'a [Observation], &'a [Verdict], LogPolicy),
    /// The step, then the same as in a sparse payload.
    Timed(u64, &'a [Observation], &'a [Verdict], LogPolicy),
    /// Keys that were taken out.
    Forget(&'a [Fingerprint]),
    /// The checksum of the next log's header.
    Switch(u32),
}

impl Payload<'_> {
    /// Returns the kind that the frame's header names.
    pub fn kind(&self) -> Kind {
        match self {
            Payload::Keys(_) => Kind::Keys,
            Payload::Full(_) => Kind::Full,
            Payload::Sparse(..) => Kind::Sparse,
            Payload::Timed(..) => Kind::Timed,
            Payload::Forget(_) => Kind::Forget,
            Payload::Switch(_) => Kind::Switch,
        }
    }

    /// Returns the number of observations, or of keys that were taken out.
    pub fn entries(&self) -> usize {
        match self {
            Payload::Keys(observations)
            | Payload::Full(observations)
            | Payload::Sparse(observations, ..)
            | Payload::Timed(_, observations, ..) => observations.len(),
            Payload::Forget(keys) => keys.len(),
            Payload::Switch(_) => 0,
        }
    }

    /// Appends the payload to a frame.
    pub fn encode(&self, frame: &mut Vec<u8>) {
        let start = frame.len();
        match self {
            Payload::Switch(checksum) => {
                frame.extend_from_slice(&u64::from(*checksum).to_le_bytes());
            }
            Payload::Keys(observations) => {
                frame.resize(start + 8 * observations.len(), 0);
                let cells = frame[start..].chunks_exact_mut(8);
                for (cell, observation) in cells.zip(*observations) {
                    cell.copy_from_slice(&observation.fingerprint.0.to_le_bytes());
                }
            }
            Payload::Forget(keys) => {
                frame.extend(keys.iter().flat_map(|key| key.0.to_le_bytes()));
            }
            Payload::Sparse(observations, verdicts, log_policy) => {
                encode_sparse(observations, verdicts, *log_policy, frame);
            }
            Payload::Timed(step, observations, verdicts, log_policy) => {
                frame.extend_from_slice(&step.to_le_bytes());
                encode_sparse(observations, verdicts, *log_policy, frame);
            }
            Payload::Full(observations) => {
                for observation in *observations {
                    frame.extend_from_slice(&observation.fingerprint.0.to_le_bytes());
                    frame.extend_from_slice(&observation.tick.to_le_bytes());
                    frame.extend_from_slice(&observation.importance.to_le_bytes());
                    frame.extend_from_slice(&[0; 2]);
                }
            }
        }
    }
}

/// Computes the bits of 64 observations without branches, then copies the fingerprints whose
/// bit is set.
fn encode_sparse(
    observations: &[Observation],
    verdicts: &[Verdict],
    log_policy: LogPolicy,
    frame: &mut Vec<u8>,
) {
    let start = frame.len();
    frame.resize(start + 8 * observations.len().div_ceil(64), 0);
    let chunks = observations.chunks(64).zip(verdicts.chunks(64));
    for (at, (observations, verdicts)) in (start..).step_by(8).zip(chunks) {
        let mut word = 0u64;
        for (i, (observation, verdict)) in observations.iter().zip(verdicts).enumerate() {
            let keep = log_policy.must_log(observation.fingerprint, *verdict);
            word |= u64::from(keep) << i;
        }
        write_u64(frame, at, word);
        let (mut kept, mut count) = ([0; 8 * 64], 0);
        let mut rest = word;
        while rest != 0 {
            let fingerprint = observations[rest.trailing_zeros() as usize].fingerprint;
            // `count` is below 64. The remainder lets the compiler drop the bounds check.
            write_u64(&mut kept, 8 * (count % 64), fingerprint.0);
            count += 1;
            rest &= rest - 1;
        }
        frame.extend_from_slice(&kept[..8 * count]);
    }
}

/// Reads no more fingerprints than the payload has, whatever the bits say.
fn decode_sparse(payload: &[u8], count: usize, into: &mut LoggedObservations) {
    let (bits, fingerprints) = payload.split_at(8 * count.div_ceil(64));
    let mut fingerprints = fingerprints.chunks_exact(8);
    let mut next = 0;
    for (at, cell) in (0..).step_by(64).zip(bits.chunks_exact(8)) {
        let mut word = read_u64(cell, 0);
        while word != 0 {
            let place = at + word.trailing_zeros();
            word &= word - 1;
            let Some(fingerprint) = fingerprints.next() else {
                break;
            };
            let fingerprint = Fingerprint(read_u64(fingerprint, 0));
            into.observations.push(fingerprint.into());
            into.skipped_before.push(place - next);
            next = place + 1;
        }
    }
    into.skipped_after = (count as u32).saturating_sub(next);
}

/// Returns the checksum of the next log's header that a switch frame names.
pub fn switch_target(payload: &[u8]) -> u32 {
    read_u32(payload, 0)
}

fn fingerprints(payload: &[u8]) -> impl Iterator<Item = Fingerprint> {
    let cells = payload.chunks_exact(8);
    cells.map(|cell| Fingerprint(read_u64(cell, 0)))
}

/// Decodes the observations of an intact frame into `into`, replacing its contents.
pub fn decode_payload(header: &FrameHeader, payload: &[u8], into: &mut LoggedObservations) {
    into.clear();
    match header.kind {
        Kind::Switch => {}
        Kind::Keys => into
            .observations
            .extend(fingerprints(payload).map(Observation::from)),
        Kind::Forget => into.forgotten.extend(fingerprints(payload)),
        Kind::Full => into
            .observations
            .extend(payload.chunks_exact(16).map(|cell| Observation {
                fingerprint: Fingerprint(read_u64(cell, 0)),
                tick: read_u32(cell, 8),
                importance: read_u16(cell, 12),
            })),
        Kind::Sparse => decode_sparse(payload, header.entries, into),
        Kind::Timed => {
            into.step = Some(read_u64(payload, 0));
            decode_sparse(&payload[STEP_BYTES..], header.entries, into);
        }
    }
    into.skipped_before.resize(into.observations.len(), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frame::{FRAME_HEADER_BYTES, Place, encode, is_intact};
    use super::super::superblock::LogPosition;
    use super::*;

    proptest! {
        #[test]
        fn a_sparse_or_timed_frame_decodes_to_the_observations_that_the_policy_keeps(
            keys in prop::collection::vec((0u64..16, any::<bool>()), 0..300),
            mask in prop_oneof![Just(u64::MAX), 0u64..16],
            step in prop::option::of(any::<u64>()),
        ) {
            let encoding = if step.is_some() { Encoding::Timed } else { Encoding::Sparse };
            let observations: Vec<Observation> =
                keys.iter().map(|&(key, _)| Fingerprint(key).into()).collect();
            let verdicts: Vec<Verdict> = keys
                .iter()
                .map(|&(_, new)| if new { Verdict::New } else { Verdict::Seen })
                .collect();
            let position = LogPosition { epoch: 1, offset: 512, chain: 2, sequence: 3 };
            let place = Place { store: &[7; 16], position, incarnation: 1, watermark: 0 };
            let mut frame = Vec::new();
            let payload =
                encoding.payload(step.unwrap_or(0), &observations, &verdicts, LogPolicy::new(mask));
            encode(&mut frame, &place, payload);
            let header = FrameHeader::peek(&frame).expect("a frame");
            prop_assert!(is_intact(&[7; 16], 1, 512, &frame));
            prop_assert_eq!(header.frame_bytes(), frame.len());
            prop_assert_eq!(header.sequence_after(), 3 + keys.len() as u64);
            prop_assert!(encoding.fits(header.payload_bytes) <= keys.len());
            let mut recorded = LoggedObservations::default();
            decode_payload(&header, &frame[FRAME_HEADER_BYTES..], &mut recorded);
            prop_assert_eq!(recorded.count(), keys.len() as u64);
            let mut naive = LoggedObservations { step, ..LoggedObservations::default() };
            for (observation, &(key, new)) in observations.iter().zip(&keys) {
                match new || key & mask == 0 {
                    true => {
                        naive.observations.push(*observation);
                        naive.skipped_before.push(std::mem::take(&mut naive.skipped_after));
                    }
                    false => naive.skipped_after += 1,
                }
            }
            prop_assert_eq!(recorded, naive);
        }
    }
}
