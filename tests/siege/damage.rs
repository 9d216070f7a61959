//! Attacks on the files of a store: random damage, and missing files.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use dedupstore::rng::Generator;

use super::process::{Program, directory, io, write_lines};
use super::{Attempts, Failure};

const FILES: [&str; 6] = ["lock", "image.0", "image.1", "log.0", "log.1", "mark"];
const LINES: u64 = 5000;
const DAMAGES: u64 = 12;

/// Creates a store that holds keys in both images and in the log.
fn store_in_use(program: &Program, directory: &Path, seed: u64) -> Result<PathBuf, Failure> {
    let (input, store) = (directory.join("input"), directory.join("whole.dds"));
    // Filters that forget keys would make a lost key look forgotten.
    program.create(&store, seed % 2)?;
    for part in 0..3 {
        write_lines(&input, part * LINES, (part + 1) * LINES)?;
        program.succeed([Path::new("filter"), &store, &input])?;
    }
    write_lines(&input, 0, 3 * LINES)?;
    Ok(store)
}

fn copy_store(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir(to).map_err(io)?;
    for name in FILES {
        fs::copy(from.join(name), to.join(name)).map_err(io)?;
    }
    Ok(())
}

/// Fails unless the store reports every line of the input as seen.
fn check_all_seen(program: &Program, store: &Path, input: &Path) -> Result<(), Failure> {
    let copy = store.with_extension("looked-up.dds");
    copy_store(store, &copy)?;
    let new = program.succeed([Path::new("filter"), &copy, input])?.stdout;
    fs::remove_dir_all(&copy).map_err(io)?;
    match new.is_empty() {
        true => Ok(()),
        false => Err(Failure(format!(
            "{} recorded keys are new",
            new.iter().filter(|&&byte| byte == b'\n').count()
        ))),
    }
}

/// Uses a damaged store as an operator would. It must work, or be refused; and a repair that
/// reports no loss must lose nothing.
fn use_and_repair(program: &Program, store: &Path, input: &Path) -> Result<(), Failure> {
    program.run([Path::new("inspect"), store])?;
    program.run([Path::new("contains"), store, Path::new("key")])?;
    let verified = program.run([Path::new("verify"), store])?;
    let copy = store.with_extension("opened.dds");
    if copy_store(store, &copy).is_ok() {
        let opened = program.run([Path::new("filter"), &copy, input])?;
        if opened.code == Some(0) && !opened.stdout.is_empty() {
            return Err(Failure(
                "a damaged store opened and had lost keys".to_owned(),
            ));
        }
    }
    let _ = fs::remove_dir_all(&copy);
    let repaired = program.run([Path::new("repair"), store])?;
    if repaired.code == Some(0) {
        program.succeed([Path::new("verify"), store])?;
        check_all_seen(program, store, input)?;
    } else if verified.code == Some(0) {
        return Err(Failure(format!(
            "intact, but not repaired: {}",
            repaired.message
        )));
    } else {
        let accepted = program.run([Path::new("repair"), store, Path::new("--accept-loss")])?;
        if accepted.code == Some(0) {
            program.succeed([Path::new("verify"), store])?;
            program.succeed([Path::new("filter"), store, input])?;
        }
    }
    Ok(())
}

/// Overwrites, zeroes and truncates parts of random files.
pub fn random_damage(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let whole = store_in_use(program, directory.path(), seed)?;
    let input = directory.path().join("input");
    let random = Generator::from_seed(seed);
    for damage in 0..DAMAGES {
        let store = directory.path().join(format!("{damage}.dds"));
        copy_store(&whole, &store)?;
        let draw = |index: u64| random.draw(8 * damage + index);
        let path = store.join(FILES[1 + (draw(0) % 5) as usize]);
        let mut file = File::options().write(true).open(&path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let at = draw(1) % length;
        match draw(2) % 4 {
            0 => file.set_len(at).map_err(io)?,
            1 => {
                file.seek(SeekFrom::Start(at)).map_err(io)?;
                let zeros = vec![0; (draw(3) % 9000).min(length - at) as usize];
                file.write_all(&zeros).map_err(io)?;
            }
            _ => {
                file.seek(SeekFrom::Start(at)).map_err(io)?;
                file.write_all(&draw(3).to_le_bytes()[..1 + (draw(4) % 8) as usize])
                    .map_err(io)?;
                file.set_len(length).map_err(io)?;
            }
        }
        drop(file);
        let what = format!("{} at byte {at}", path.display());
        use_and_repair(program, &store, &input).map_err(|failure| failure.at(what))?;
        fs::remove_dir_all(&store).map_err(io)?;
    }
    Ok(DAMAGES)
}

/// Removes each file in turn.
pub fn missing_file(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let whole = store_in_use(program, directory.path(), seed)?;
    let input = directory.path().join("input");
    for name in FILES {
        let store = directory.path().join(format!("{name}.dds"));
        copy_store(&whole, &store)?;
        fs::remove_file(store.join(name)).map_err(io)?;
        use_and_repair(program, &store, &input)
            .map_err(|failure| failure.at(format!("without {name}")))?;
        fs::remove_dir_all(&store).map_err(io)?;
    }
    Ok(FILES.len() as u64)
}
