//! Compressed inputs, and inputs that cannot be read to their end.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::keys_and_inputs::crawl;
use crate::run_command::{assert_fails, assert_prints, run, standard_error};

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("written");
    // As the zstd command does.
    encoder.include_checksum(true).expect("supported");
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    // As the lz4 command does.
    let frame = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(frame, Vec::new());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

type Compress = fn(&[u8]) -> Vec<u8>;

/// The extension, the encoder and the command that checks a file.
const FORMATS: [(&str, Compress, &str); 5] = [
    ("gz", gzip, "gzip -t"),
    ("zst", zstandard, "zstd -t"),
    ("xz", xz, "xz -t"),
    ("bz2", bzip2, "bzip2 -t"),
    ("lz4", lz4, "lz4 -t"),
];

pub fn write(directory: &TempDir, name: &str, bytes: &[u8]) -> (PathBuf, String) {
    let path = directory.path().join(name);
    fs::write(&path, bytes).expect("written");
    let name = path.to_str().expect("text").to_owned();
    (path, name)
}

#[test]
fn compressed_files_are_recognized_by_their_content() {
    let directory = TempDir::new().expect("a directory");
    let (log, new) = crawl();
    let (first, second) = log.split_at(200_000);
    for threads in ["1", "3"] {
        let mut files = vec![
            ("without-extension".to_owned(), gzip(&log)),
            ("wrong-extension.zst".to_owned(), gzip(&log)),
            ("a.log".to_owned(), log.clone()),
            ("a.gz.txt".to_owned(), log.clone()),
        ];
        for (extension, compress, _) in FORMATS {
            files.push((format!("a.{extension}"), compress(&log)));
            // Several members or frames in a row.
            let several = [compress(first), compress(second)].concat();
            files.push((format!("b.{extension}"), several));
        }
        for (name, compressed) in files {
            let (_, name) = write(&directory, &name, &compressed);
            assert_prints(&["filter", "--threads", threads, &name], b"", &new);
            assert_prints(&["filter", "--threads", threads], &compressed, &new);
        }
    }
    let (_, compressed) = write(&directory, "c.gz", &gzip(b"a\nb\n"));
    let (_, plain) = write(&directory, "c", b"b\nc\n");
    assert_prints(
        &["filter", &compressed, "-", &plain],
        &zstandard(b"x\na\n"),
        b"a\nb\nx\nc\n",
    );
    let (_, empty) = write(&directory, "empty.gz", b"");
    assert_prints(&["filter", &empty, &plain], b"", b"b\nc\n");
    assert_prints(
        &["filter", "--decompress", "never", &compressed],
        b"",
        &gzip(b"a\nb\n"),
    );
}

#[test]
fn complete_lines_of_a_truncated_or_corrupt_file_are_delivered() {
    let directory = TempDir::new().expect("a directory");
    let (log, new) = crawl();
    let store = directory.path().join("links.dds");
    let store = store.to_str().expect("text");
    for (extension, compress, check) in FORMATS {
        // Several files in a row, because a decoder of bzip2 or LZ4 checks large blocks.
        let whole = log
            .chunks(50_000)
            .map(compress)
            .collect::<Vec<_>>()
            .concat();
        let mut corrupt = whole.clone();
        let end = corrupt.len() - 3;
        corrupt[end] ^= 1;
        let truncated = whole[..whole.len() * 3 / 4].to_vec();
        for (bytes, what) in [(truncated, "truncated"), (corrupt, "corrupt")] {
            let (_, name) = write(&directory, &format!("a.{extension}"), &bytes);
            for threads in ["1", "2"] {
                let output = run(&["filter", "--threads", threads, &name], b"");
                let message = standard_error(&output);
                assert_eq!(output.status.code(), Some(2), "{message}");
                for part in [name.as_str(), what, check] {
                    assert!(message.contains(part), "{part:?} is not in {message:?}");
                }
                assert!(!output.stdout.is_empty() && new.starts_with(&output.stdout));
                assert!(output.stdout.ends_with(b"\n"), "only complete lines");
            }
            // Delivered lines are recorded, so the complete file gives only the rest.
            let before = run(&["-q", "filter", store, &name, "--memory", "1MiB"], b"").stdout;
            let (_, name) = write(&directory, "whole.gz", &gzip(&log));
            let after = run(&["-q", "filter", store, &name], b"").stdout;
            assert!([before, after].concat() == new);
            fs::remove_dir_all(store).expect("removed");
        }
    }
}

#[test]
fn a_file_that_is_not_compressed_although_its_name_says_so_is_refused() {
    let directory = TempDir::new().expect("a directory");
    for (extension, _, check) in FORMATS {
        let (_, name) = write(&directory, &format!("no.{extension}"), b"plain\n");
        let format = check.split(' ').next().unwrap_or("");
        let format = if format == "zstd" {
            "Zstandard"
        } else {
            format
        };
        let format = if format == "lz4" { "LZ4" } else { format };
        assert_fails(&["filter", &name], &[&name, format, "--decompress never"]);
        assert_prints(&["filter", "--decompress", "never", &name], b"", b"plain\n");
    }
}

/// Frames of LZ4 consist of blocks, and its decoder takes an end between two blocks for the end of
/// the frame.
#[test]
fn an_lz4_file_truncated_between_two_blocks_is_reported() {
    let directory = TempDir::new().expect("a directory");
    let frame = lz4_flex::frame::FrameInfo::new();
    let frame = frame.block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(frame, Vec::new());
    let (log, _) = crawl();
    encoder.write_all(&log).expect("written");
    let whole = encoder.finish().expect("written");
    // The end mark is four zeros; without it, the file ends after a block.
    let (_, name) = write(&directory, "a.lz4", &whole[..whole.len() - 4]);
    let output = run(&["filter", &name], b"");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("truncated"), "{message}");
}

/// The programs themselves write files that the libraries of the tests do not.
#[test]
fn files_of_the_usual_programs_are_read() {
    let directory = TempDir::new().expect("a directory");
    let (log, new) = crawl();
    let (_, name) = write(&directory, "log", &log);
    for command in [
        "gzip",
        "zstd",
        "xz",
        "xz -9e",
        "bzip2",
        "lz4",
        "lz4 -l",
        "lz4 -BD -9",
    ] {
        let script = format!("{command} -c < \"$0\"");
        let compressed = Command::new("sh").args(["-c", &script, &name]).output();
        let compressed = compressed.expect("started");
        if compressed.status.code() == Some(127) {
            eprintln!("skipped: `{command}` is not installed");
            continue;
        }
        let (_, name) = write(&directory, "compressed", &compressed.stdout);
        assert_prints(&["filter", &name], b"", &new);
    }
}

/// As `zcat` does.
#[test]
fn zeros_after_a_gzip_file_are_ignored() {
    let directory = TempDir::new().expect("a directory");
    for zeros in [1, 511, 200_000] {
        let padded = [gzip(b"a\nb\n"), vec![0; zeros]].concat();
        let (_, name) = write(&directory, "padded.gz", &padded);
        assert_prints(&["filter", &name], b"", b"a\nb\n");
        assert_prints(&["filter"], &padded, b"a\nb\n");
        let more = [padded, gzip(b"c\n")].concat();
        assert_prints(&["filter"], &more, b"a\nb\nc\n");
    }
    let (_, name) = write(
        &directory,
        "a.gz",
        &[gzip(b"a\n"), b"garbage, not a member".to_vec()].concat(),
    );
    let output = run(&["filter", &name], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("corrupt"));
}

#[test]
fn the_message_about_standard_input_names_no_file_to_check() {
    let compressed = gzip(b"a\nb\n");
    let output = run(&["filter"], &compressed[..compressed.len() - 4]);
    let message = standard_error(&output);
    assert!(
        message.contains("cannot decompress standard input"),
        "{message}"
    );
    assert!(!message.contains("gzip -t"), "{message}");
}

/// The files after a bad one are read; the exit code says that not all was well.
#[test]
fn files_after_a_bad_one_are_read() {
    let directory = TempDir::new().expect("a directory");
    let whole = gzip(b"a\nb\ncut off");
    let (_, cut) = write(&directory, "cut.gz", &whole[..whole.len() - 9]);
    let (_, not) = write(&directory, "not.xz", b"x\n");
    let (_, good) = write(&directory, "good", b"b\nc\n");
    let store = directory.path().join("links.dds");
    let store = store.to_str().expect("text");
    for arguments in [
        vec!["filter", &cut, &not, &good],
        vec![
            "-q", "filter", store, "--memory", "64KiB", &cut, &not, &good,
        ],
    ] {
        let output = run(&[&arguments[..], &["--stats", "json"]].concat(), b"");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(output.stdout, b"a\nb\nc\n", "{message}");
        let parts = [
            "cannot decompress",
            "not.xz has the extension .xz",
            "\"lines\":4",
            "2 of 3 inputs could not be read to the end",
        ];
        let mut rest = message.as_str();
        for part in parts {
            let at = rest.find(part);
            assert!(
                at.is_some(),
                "{part:?} is not, or not in order, in {message:?}"
            );
            rest = &rest[at.unwrap_or(0)..];
        }
    }
    // A name that does not exist is a mistake in the command; nothing is read.
    assert_fails(&["filter", &good, "/no/such/file"], &["/no/such/file"]);
}

/// The header of a block can ask for a dictionary of 4 GiB.
#[test]
fn an_xz_file_that_needs_gigabytes_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let mut file = xz(b"a\n");
    // The stream header has 12 bytes. The block header: its size, flags, the filter's id and
    // the size of its properties, and the dictionary's size as a code; its last four bytes are
    // its checksum.
    assert_eq!(file[14..16], [0x21, 0x01], "the filter is LZMA2");
    file[16] = 40;
    let header = 12..12 + 4 * (usize::from(file[12]) + 1);
    let (start, end) = (header.start, header.end - 4);
    let checksum = crc32fast::hash(&file[start..end]).to_le_bytes();
    file[end..end + 4].copy_from_slice(&checksum);
    let (_, name) = write(&directory, "a.xz", &file);
    let output = run(&["filter", &name], b"");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("needs more memory than allowed"),
        "{message}"
    );
}

/// A chunk of xz data has up to 2 MiB of text. More of the file must give more of its text, also
/// within a chunk.
#[test]
fn a_truncated_xz_file_gives_what_was_decoded_before_its_end() {
    let directory = TempDir::new().expect("a directory");
    let (log, _) = crawl();
    let whole = xz(&log);
    let mut before = 0;
    for sixteenths in 1..16 {
        let truncated = &whole[..whole.len() * sixteenths / 16];
        let (_, name) = write(&directory, "a.xz", truncated);
        let output = run(&["filter", "--annotate", "--memory", "1MiB", &name], b"");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("truncated"), "{message}");
        let line = |line: &[u8]| {
            line.splitn(2, |&byte| byte == b'\t')
                .nth(1)
                .map(<[u8]>::to_vec)
        };
        let lines = output.stdout.split_inclusive(|&byte| byte == b'\n');
        let text: Vec<u8> = lines.filter_map(line).flatten().collect();
        assert!(log.starts_with(&text));
        let more = text.len() - before;
        // The crawl log has a similar content everywhere.
        assert!(more > log.len() / 64, "{sixteenths}/16: {more} bytes more");
        before = text.len();
    }
}
