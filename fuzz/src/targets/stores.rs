//! Files of a store: superblock, parameters, frames, mark, images.

use dedupstore::store::{
    InMemory, KeyLookup, OpenOptions, ReadOnlyStore, inspect_exactly_on, inspect_on, verify_on,
};

use super::sealed_store::{
    FILTERS, Files, LOG_START, SUPERBLOCK_BYTES, fit_sizes, newest_image, read_u64, seal_image,
    seal_log, seal_mark, seal_superblock, valid,
};

const SECONDS: u64 = 1_700_000_100;

fn medium(files: &Files) -> InMemory {
    InMemory::holding(files.clone(), SECONDS)
}

/// Opens the files in every way. Nothing may panic, and all ways must agree.
fn check(files: &Files, with_writer: bool) {
    let keys = [&b"\x01"[..], b"\x1d", b"another"];
    let shared = medium(files);
    let inspected = inspect_on(&shared);
    let _ = verify_on(medium(files));
    if let Ok(inspected) = inspected {
        let text = serde_json::to_string(&inspected).expect("text");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
    }
    let _ = inspect_exactly_on(&shared);
    let read = ReadOnlyStore::open_on(&shared);
    let looked_up = KeyLookup::open_on(medium(files));
    if let (Ok(read), Ok(mut lookup)) = (&read, looked_up) {
        let _ = read.audit();
        let _ = (read.load(), read.false_positive_rate());
        for key in keys {
            let verdict = read.contains(key);
            assert_eq!(lookup.contains(key).expect("readable"), verdict);
            let fingerprint = read.hasher().fingerprint(key);
            let evidence = lookup.evidence(fingerprint).expect("readable");
            assert_eq!(evidence.verdict(), verdict, "{evidence:?}");
            let _ = lookup.may_have_forgotten(fingerprint);
            let _ = read.contains_at(key, SECONDS + 1000);
        }
    }
    if with_writer {
        let opened = OpenOptions::new().threads(false).open_on(medium(files));
        if let Ok(mut store) = opened {
            for key in keys {
                let _ = store.observe(key);
                let _ = store.forget(key);
            }
            let _ = store.checkpoint();
            let _ = store.observe(keys[0]);
            let _ = store.close();
        }
    }
}

/// The first bytes of an input: the filter, and what to do.
fn split(input: &[u8]) -> Option<(Files, u8, &[u8])> {
    let [filter, flags, bytes @ ..] = input else {
        return None;
    };
    Some((valid(usize::from(*filter)).clone(), *flags, bytes))
}

/// Lays bytes over a file, from an offset on.
fn overlay(file: &mut [u8], offset: usize, bytes: &[u8]) {
    let room = file.len().saturating_sub(offset);
    let length = bytes.len().min(room);
    file[offset..offset + length].copy_from_slice(&bytes[..length]);
}

fn with_head(filter: usize, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    let mut input = vec![filter as u8, 1];
    input.extend_from_slice(&bytes[..length]);
    input
}

fn seeds_of(part: impl Fn(&Files) -> Vec<u8>) -> Vec<Vec<u8>> {
    let filters = 0..FILTERS.len();
    filters
        .map(|index| with_head(index, &part(valid(index))))
        .collect()
}

/// A superblock. The checksums of image and log are right, and the files have the sizes that it claims.
pub fn superblock(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    let image = newest_image(&files);
    files[image][..SUPERBLOCK_BYTES].fill(0);
    overlay(&mut files[image][..SUPERBLOCK_BYTES], 0, bytes);
    fit_sizes(&mut files, image);
    if flags & 2 == 0 {
        seal_image(&mut files[image]);
    }
    if flags & 4 != 0 {
        // Without the other image.
        files[1 - image][..SUPERBLOCK_BYTES].fill(0);
    }
    check(&files, flags & 1 != 0);
}

/// Returns the valid superblocks.
pub fn superblock_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| files[newest_image(files)][..SUPERBLOCK_BYTES - 4].to_vec())
}

/// The parameters in a superblock.
pub fn parameters(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    let image = newest_image(&files);
    const PARAMETERS: usize = 640;
    let room = SUPERBLOCK_BYTES - 4 - PARAMETERS;
    files[image][PARAMETERS..SUPERBLOCK_BYTES].fill(0);
    overlay(&mut files[image][..PARAMETERS + room], PARAMETERS, bytes);
    let length = bytes.len().min(room) as u32;
    files[image][92..96].copy_from_slice(&length.to_le_bytes());
    seal_superblock(&mut files[image]);
    check(&files, flags & 1 != 0);
}

/// Returns the valid parameters.
pub fn parameters_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| {
        let image = &files[newest_image(files)];
        let length = u32::from_le_bytes([image[92], image[93], image[94], image[95]]);
        let mut parameters = image[640..640 + length as usize].to_vec();
        // The last field is not empty, so that trailing zeros are not cut off.
        if let Some(last) = parameters.last_mut() {
            *last |= 1;
        }
        parameters
    })
}

/// The frames of a log after its header.
pub fn frames(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    let superblock = files[newest_image(&files)][..SUPERBLOCK_BYTES].to_vec();
    let log = 2 + (read_u64(&superblock, 56) % 2) as usize;
    let start = read_u64(&superblock, 64) as usize;
    files[log][start..].fill(0);
    overlay(&mut files[log], start, bytes);
    if flags & 2 == 0 {
        seal_log(&mut files[log], &superblock);
    }
    if flags & 4 != 0 {
        // Without a mark that says that the frames were durable.
        files[4][16..24].fill(0);
        files[4][4112..4120].fill(0);
        seal_mark(&mut files[4], &superblock);
    }
    check(&files, flags & 1 != 0);
}

/// Returns the valid frames.
pub fn frames_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| {
        let superblock = &files[newest_image(files)];
        let log = &files[2 + (read_u64(superblock, 56) % 2) as usize];
        log[(read_u64(superblock, 64) as usize).max(LOG_START)..].to_vec()
    })
}

/// Both slots of the mark, 28 bytes each, and the header of a log.
pub fn mark(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    let superblock = files[newest_image(&files)][..SUPERBLOCK_BYTES].to_vec();
    let (first, rest) = bytes.split_at(bytes.len().min(28));
    let (second, rest) = rest.split_at(rest.len().min(28));
    overlay(&mut files[4], 0, first);
    overlay(&mut files[4], 4096, second);
    if flags & 2 == 0 {
        seal_mark(&mut files[4], &superblock);
    }
    overlay(&mut files[2 + usize::from(flags & 4 != 0)], 0, rest);
    check(&files, flags & 1 != 0);
}

/// Returns the valid marks.
pub fn mark_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| [&files[4][..28], &files[4][4096..4124]].concat())
}

/// The registers and the region of an image.
pub fn image(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    let image = newest_image(&files);
    let (registers, region) = bytes.split_at(bytes.len().min(512));
    // The sequence number must agree with that of the superblock: observations and forgotten keys.
    let sequence = files[image][48..56].to_vec();
    overlay(&mut files[image], 128, registers);
    if flags & 8 == 0 {
        files[image][136..144].copy_from_slice(&sequence);
        files[image][168..176].fill(0);
    }
    overlay(&mut files[image], SUPERBLOCK_BYTES, region);
    if flags & 2 == 0 {
        seal_image(&mut files[image]);
    }
    check(&files, flags & 1 != 0);
}

/// Returns the valid registers and regions.
pub fn image_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| {
        let image = &files[newest_image(files)];
        let region = read_u64(image, 80) as usize;
        let region = &image[SUPERBLOCK_BYTES..SUPERBLOCK_BYTES + region];
        [&image[128..640], region].concat()
    })
}

/// The sizes of all files, with any content.
pub fn sizes(input: &[u8]) {
    let Some((mut files, flags, bytes)) = split(input) else {
        return;
    };
    for (file, cut) in files.iter_mut().zip(bytes.chunks_exact(2)) {
        file.resize(usize::from(u16::from_le_bytes([cut[0], cut[1]])), 0xA5);
    }
    check(&files, flags & 1 != 0);
}

/// Returns the valid sizes.
pub fn sizes_seeds() -> Vec<Vec<u8>> {
    seeds_of(|files| {
        let sizes = files.iter().map(|file| file.len() as u16);
        sizes.flat_map(u16::to_le_bytes).collect()
    })
}
