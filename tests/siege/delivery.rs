//! Attacks on the way of a line: a slow reader, a full disk, a dead standard error.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use dedupstore::rng::Generator;

use super::process::{
    Program, append, checked, directory, io, start, wait, wait_with_output, write_lines,
};
use super::{Attempts, Failure, SmallDisk};

const LINES: u64 = 20_000;
const KILLS: u64 = 4;

/// Fails unless every line of the input is a line of the output.
fn check_complete(input: &Path, output: &[u8]) -> Result<(), Failure> {
    let printed: HashSet<&[u8]> = output.split(|&byte| byte == b'\n').collect();
    let input = fs::read(input).map_err(io)?;
    for line in input.split(|&byte| byte == b'\n') {
        if !line.is_empty() && !printed.contains(line) {
            let line = String::from_utf8_lossy(line);
            return Err(Failure(format!("{line} was not delivered")));
        }
    }
    Ok(())
}

/// Kills `filter` while its reader is slow, again and again. The delivered lines must be complete
/// at the end. The store drops no line by chance: it has far more memory than lines.
pub fn kill_with_slow_reader(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let (input, store) = (
        directory.path().join("input"),
        directory.path().join("links.dds"),
    );
    write_lines(&input, 0, LINES)?;
    program.create(&store, 0)?;
    let random = Generator::from_seed(seed);
    let mut delivered = Vec::new();
    for kill in 0..KILLS {
        let mut child = start(&mut program.command([Path::new("filter"), &store, &input]))?;
        let mut pipe = child.stdout.take().ok_or(Failure("no pipe".to_owned()))?;
        let wanted = random.draw(2 * kill) % (LINES * 40);
        let mut block = [0; 4096];
        let mut read = 0;
        while read < wanted {
            let count = pipe.read(&mut block).map_err(io)?;
            if count == 0 {
                break;
            }
            delivered.extend_from_slice(&block[..count]);
            read += count as u64;
            std::thread::sleep(Duration::from_micros(random.draw(2 * kill + 1) % 200));
        }
        child.kill().map_err(io)?;
        wait(&mut child)?;
        // What is left in the pipe was delivered; the reader was only slow.
        pipe.read_to_end(&mut delivered).map_err(io)?;
        // A reader of a pipe ends a torn line itself.
        delivered.push(b'\n');
    }
    let last = program.succeed([Path::new("filter"), &store, &input])?;
    delivered.extend_from_slice(&last.stdout);
    program.succeed([Path::new("verify"), &store])?;
    check_complete(&input, &delivered)?;
    Ok(KILLS)
}

/// Appends to a file on a disk that is full again and again. Each run continues after the last.
pub fn append_on_filling_disk(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let mount = directory.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "4m") else {
        return Ok(0);
    };
    let (input, store) = (
        directory.path().join("input"),
        directory.path().join("links.dds"),
    );
    write_lines(&input, 0, LINES)?;
    program.create(&store, 0)?;
    let (output, ballast) = (mount.join("output"), mount.join("ballast"));
    // An earlier run was killed in the middle of a line.
    fs::write(&output, "https://harbour.ex").map_err(io)?;
    let random = Generator::from_seed(seed);
    let mut runs = 0;
    loop {
        // Leaves a little space, a random number of bytes.
        let mut filler = File::create(&ballast).map_err(io)?;
        while filler.write_all(&[1; 4096]).is_ok() {}
        let length = filler.metadata().map_err(io)?.len();
        let free = 4096 * (1 + random.draw(runs) % 60);
        filler.set_len(length.saturating_sub(free)).map_err(io)?;
        drop(filler);
        if runs >= KILLS {
            fs::remove_file(&ballast).map_err(io)?;
        }
        let mut command = program.command([Path::new("filter"), &store, &input]);
        let child = start(command.stdout(Stdio::from(append(&output)?)))?;
        let ended = checked(&wait_with_output(child)?)?;
        runs += 1;
        match ended.code {
            Some(0) => break,
            Some(2) if ended.message.contains("No space left") => {}
            code => return Err(Failure(format!("exit code {code:?}: {}", ended.message))),
        }
    }
    program.succeed([Path::new("verify"), &store])?;
    check_complete(&input, &fs::read(&output).map_err(io)?)?;
    Ok(runs)
}

/// Runs commands whose standard error is full, closed, or a pipe without a reader. They must do
/// their work and report their result by the exit code.
pub fn dead_standard_error(program: &Program, seed: u64) -> Attempts {
    let directory = directory()?;
    let (input, store) = (
        directory.path().join("input"),
        directory.path().join("links.dds"),
    );
    write_lines(&input, 0, 500)?;
    let full = || File::options().write(true).open("/dev/full").map_err(io);
    let (reader, without_reader) = std::io::pipe().map_err(io)?;
    drop(reader);
    let mut attempts = 0;
    let mut run = |words: &[&Path], expected: i32| -> Result<Vec<u8>, Failure> {
        attempts += 1;
        let mut command = program.command(words);
        match (seed + attempts) % 3 {
            0 => command.stderr(Stdio::from(without_reader.try_clone().map_err(io)?)),
            _ => command.stderr(Stdio::from(full()?)),
        };
        let output = wait_with_output(start(&mut command)?)?;
        match checked(&output)?.code {
            Some(code) if code == expected => Ok(output.stdout),
            code => Err(Failure(format!("{words:?} ended with {code:?}"))),
        }
    };
    // Says that the store was created.
    let printed = run(&[Path::new("filter"), &store, &input], 0)?;
    check_complete(&input, &printed)?;
    // Says that the store was recovered.
    let mut child = start(
        program
            .command([Path::new("filter"), &store])
            .stdin(Stdio::piped()),
    )?;
    let mut pipe = child.stdin.take().ok_or(Failure("no pipe".to_owned()))?;
    pipe.write_all(b"one more\n").map_err(io)?;
    std::thread::sleep(Duration::from_millis(50));
    child.kill().map_err(io)?;
    wait(&mut child)?;
    run(&[Path::new("filter"), &store, &input], 0)?;
    for (words, expected) in [
        (&["verify", "STORE"][..], 0),
        (&["checkpoint", "STORE"], 0),
        (&["inspect", "STORE"], 0),
        (&["create", "STORE"], 2),
        (&["filter", "absent.txt"], 2),
        (&["filter", "--memory", "lots"], 2),
    ] {
        let words: Vec<&Path> = words
            .iter()
            .map(|&word| {
                if word == "STORE" {
                    &store
                } else {
                    Path::new(word)
                }
            })
            .collect();
        run(&words, expected)?;
    }
    Ok(attempts)
}
