//! Superblocks with absurd values and valid checksums.

use std::fs;
use std::path::Path;

use dedupstore::rng::Generator;

use super::process::{Program, directory, io};
use super::{Attempts, Failure};

const FORGERIES: u64 = 16;

/// Byte offsets in a superblock, as docs/FORMAT.md gives them.
mod offset {
    pub const PARAMETERS: usize = 640;
    pub const CHECKSUM: usize = 4092;
    /// The fields before the parameters, from the version to the registers.
    pub const FIELDS: [usize; 14] = [8, 12, 16, 20, 40, 48, 56, 64, 80, 88, 92, 96, 112, 128];
}

/// Forges fields of a superblock. Every command must refuse the store or work, without a panic
/// and in bounded memory; and nothing of the forged text may reach a terminal unescaped.
pub fn forged_header(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let whole = directory.path().join("whole.dds");
    program.create(&whole, seed)?;
    let random = Generator::from_seed(seed);
    for forgery in 0..FORGERIES {
        let store = directory.path().join(format!("{forgery}.dds"));
        fs::create_dir(&store).map_err(io)?;
        for entry in fs::read_dir(&whole).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let name = path.file_name().unwrap_or_default();
            fs::copy(&path, store.join(name)).map_err(io)?;
        }
        let draw = |index: u64| random.draw(8 * forgery + index);
        forge(&store.join("image.0"), draw)?;
        for words in [
            &["inspect"][..],
            &["verify"],
            &["contains", "key"],
            &["explain", "key"],
            &["filter"],
            &["repair"],
        ] {
            let mut arguments = vec![Path::new(words[0]), &store];
            arguments.extend(words[1..].iter().map(Path::new));
            let ended = program.run(arguments)?;
            let shown = [ended.stdout.as_slice(), ended.message.as_bytes()].concat();
            if shown.contains(&0x1B) {
                return Err(Failure(format!("{words:?} printed an escape character")));
            }
        }
        fs::remove_dir_all(&store).map_err(io)?;
    }
    Ok(FORGERIES)
}

/// Changes one field, or the text of the parameters, and makes the checksum right.
fn forge(image: &Path, draw: impl Fn(u64) -> u64) -> Result<(), Failure> {
    let mut bytes = fs::read(image).map_err(io)?;
    let fields = [&offset::FIELDS[..], &[offset::PARAMETERS]].concat();
    let values = [
        0,
        1,
        1 << 20,
        1 << 31,
        1 << 40,
        u64::MAX >> 1,
        u64::MAX,
        draw(3),
    ];
    let at = fields[(draw(0) % fields.len() as u64) as usize];
    let value = values[(draw(1) % values.len() as u64) as usize];
    let width = if draw(2).is_multiple_of(2) { 4 } else { 8 };
    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    if draw(4).is_multiple_of(4) {
        // The filter's text: a length of 8 bytes, then the name.
        let text = offset::PARAMETERS + 8;
        bytes[text..text + 5].copy_from_slice(b"\x1b[31m");
    }
    // CRC-32 of 32 zeros, then of everything before it.
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&[0; 32]);
    checksum.update(&bytes[..offset::CHECKSUM]);
    let checksum = checksum.finalize();
    bytes[offset::CHECKSUM..offset::CHECKSUM + 4].copy_from_slice(&checksum.to_le_bytes());
    fs::write(image, bytes).map_err(io)
}
