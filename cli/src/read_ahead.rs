//! Reads in a separate thread, a few blocks ahead.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const BLOCK_BYTES: usize = 256 << 10;
/// Enough to absorb a slow block on either side.
const BLOCKS_AHEAD: usize = 4;

/// A reader that is read in a separate thread. After it is dropped, the thread ends with its
/// next block.
pub struct ReadAhead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Returns used blocks to the thread.
    used: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    /// The position in `block`.
    at: usize,
}

impl ReadAhead {
    pub fn start(mut reader: impl Read + Send + 'static) -> io::Result<Self> {
        let (full, blocks) = sync_channel(BLOCKS_AHEAD);
        let (used, empty) = sync_channel::<Vec<u8>>(BLOCKS_AHEAD + 2);
        let work = move || {
            loop {
                let mut block = empty.try_recv().unwrap_or_default();
                block.resize(BLOCK_BYTES, 0);
                let sent = match reader.read(&mut block) {
                    Ok(0) => return,
                    Ok(count) => {
                        block.truncate(count);
                        full.send(Ok(block))
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        let _ = full.send(Err(error));
                        return;
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("dedupstore read".to_owned())
            .spawn(work)?;
        Ok(ReadAhead {
            blocks,
            used,
            block: Vec::new(),
            at: 0,
        })
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.at == self.block.len() {
                // Waits for the first block only.
                let next = match filled {
                    0 => self.blocks.recv().ok(),
                    _ => self.blocks.try_recv().ok(),
                };
                let Some(next) = next else { break };
                match next {
                    Ok(block) => {
                        let used = std::mem::replace(&mut self.block, block);
                        let _ = self.used.try_send(used);
                        self.at = 0;
                    }
                    Err(error) if filled == 0 => return Err(error),
                    // The thread has ended, so the error must be kept for the next read.
                    Err(error) => {
                        self.keep_error(error);
                        break;
                    }
                }
            }
            let count = (self.block.len() - self.at).min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&self.block[self.at..self.at + count]);
            self.at += count;
            filled += count;
        }
        Ok(filled)
    }
}

impl ReadAhead {
    /// Makes the next read fail with this error.
    fn keep_error(&mut self, error: io::Error) {
        let (send, blocks) = sync_channel(1);
        let _ = send.send(Err(error));
        self.blocks = blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces(Vec<io::Result<Vec<u8>>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Ok(0),
                false => {
                    let piece = self.0.remove(0)?;
                    buffer[..piece.len()].copy_from_slice(&piece);
                    Ok(piece.len())
                }
            }
        }
    }

    #[test]
    fn all_bytes_arrive_in_order() {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7) as u8).collect();
        let mut ahead = ReadAhead::start(io::Cursor::new(bytes.clone())).expect("a thread");
        let mut read = Vec::new();
        ahead.read_to_end(&mut read).expect("read");
        assert!(read == bytes);
    }

    #[test]
    fn bytes_before_an_error_are_delivered_first() {
        let pieces = vec![
            Ok(b"one".to_vec()),
            Ok(b"two".to_vec()),
            Err(io::ErrorKind::InvalidData.into()),
        ];
        let mut ahead = ReadAhead::start(Pieces(pieces)).expect("a thread");
        let mut read = Vec::new();
        let error = ahead.read_to_end(&mut read).expect_err("an error");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(read, b"onetwo");
    }
}
