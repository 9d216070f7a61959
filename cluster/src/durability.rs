//! When a recorded key counts as acknowledged.
//!
//! A node answers when it has changed its memory. A replica gets the change a moment later, and the
//! disk after that. If the node dies in between, what it had answered is lost. With an
//! [`Acknowledgement`], each message ends with `WAIT` or `WAITAOF`: the answer says whether enough
//! copies exist.

use std::time::Duration;

use redis::{Cmd, Value};

/// What must hold a recorded key before it counts as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number of replicas that must have it.
    pub replicas: u32,
    /// Whether it must be on disk: of the node, and of those replicas. Needs Redis 7.2 or Valkey,
    /// with `appendonly yes`.
    pub on_disk: bool,
    /// How long to wait for them.
    pub timeout: Duration,
}

/// What to do about keys whose node has changed its memory, but did not confirm the copies in time.
/// They are counted either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Degrade {
    /// `unknown`: a key that would be New is Unknown. Observe it again; see
    /// [`retry_batch`](crate::ClusterStore::retry_batch).
    #[default]
    Unknown,
    /// `count`: the verdict stands, and the key is only counted.
    Count,
}

impl Acknowledgement {
    pub(crate) fn command(self) -> Cmd {
        let timeout = self.timeout.as_millis().max(1) as u64;
        let mut command = match self.on_disk {
            true => redis::cmd("WAITAOF"),
            false => redis::cmd("WAIT"),
        };
        if self.on_disk {
            command.arg(1);
        }
        command.arg(self.replicas).arg(timeout);
        command
    }

    /// Reads the answer: whether enough copies exist.
    pub(crate) fn is_given_by(self, answer: &Value) -> Result<bool, String> {
        let replicas = i64::from(self.replicas);
        match (answer, self.on_disk) {
            (Value::Int(found), false) => Ok(*found >= replicas),
            (Value::Array(found), true) => match found[..] {
                [Value::Int(local), Value::Int(found)] => Ok(local >= 1 && found >= replicas),
                _ => Err("an answer to WAITAOF that is none".to_owned()),
            },
            (Value::ServerError(error), _) => Err(format!(
                "{} {}",
                error.code(),
                error.details().unwrap_or_default()
            )),
            _ => Err("an answer that is none".to_owned()),
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self.on_disk {
            true => {
                "; waiting for the disk needs WAITAOF: Redis 7.2 or Valkey, with appendonly yes"
            }
            false => "",
        }
    }
}
