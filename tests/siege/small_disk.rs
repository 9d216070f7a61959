//! A small file system in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A small file system in memory, which is unmounted when it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts it on a new directory. Returns None if this user cannot mount.
    ///
    /// # Panics
    /// If it cannot be mounted although the variable `CI` is `true`: nothing is skipped there.
    pub fn mount(path: &Path, size: &str) -> Option<Self> {
        fs::create_dir(path).expect("created");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            let path = path.to_owned();
            return Some(SmallDisk { path });
        }
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!in_ci, "this user cannot mount a file system");
        None
    }

    /// Makes it read-only; returns whether that worked.
    pub fn remount_read_only(&self) -> bool {
        let status = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.path)
            .status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}
