//! Why a store on Redis cannot be used.

/// Why a store on Redis cannot be used. A node that does not answer is none of these: it fails its
/// slices, and the rule of the store decides.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The address cannot be understood.
    #[error("{0}")]
    Address(String),
    /// A credential or certificate cannot be read.
    #[error("cannot read {what} from {path}: {error}")]
    Secret {
        /// What the file holds.
        what: &'static str,
        /// The path of the file.
        path: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// No node can be reached.
    #[error(
        "cannot connect to {node}: {reason}; check the address, and that Redis or Valkey runs there"
    )]
    Connect {
        /// The address of the node.
        node: String,
        /// The error.
        reason: String,
    },
    /// The password is missing or wrong.
    #[error(
        "{node} refuses the login: {reason}; set DEDUPSTORE_PASSWORD, or DEDUPSTORE_PASSWORD_FILE \
         to a file with the password, and DEDUPSTORE_USERNAME if the user is not `default`"
    )]
    Login {
        /// The address of the node.
        node: String,
        /// The answer of the node.
        reason: String,
    },
    /// There is no store of this name.
    #[error("there is no store `{name}` on {node}")]
    NotFound {
        /// The name.
        name: String,
        /// The address.
        node: String,
    },
    /// There is a store of this name.
    #[error("there is a store `{name}` already; use it, or choose another name")]
    Exists {
        /// The name.
        name: String,
    },
    /// A key that a slice needs holds something else.
    #[error(
        "the Redis key `{key}` is in the way: {found}; delete it (redis-cli -c DEL '{key}') or \
         choose another name for the store"
    )]
    InTheWay {
        /// The Redis key.
        key: String,
        /// What it holds.
        found: String,
    },
    /// The recorded layout is of another version, or damaged.
    #[error("the layout recorded in the Redis key `{key}` cannot be used: {reason}")]
    Layout {
        /// The Redis key.
        key: String,
        /// What was expected and found.
        reason: String,
    },
    /// The wanted layout is impossible.
    #[error("{0}")]
    Impossible(String),
    /// A node refuses a command.
    #[error("{node} answered: {reason}{hint}")]
    Refused {
        /// The address of the node.
        node: String,
        /// The answer.
        reason: String,
        /// What to do next.
        hint: &'static str,
    },
    /// Slices were rebuilt while they do not answer.
    #[error("slice {slice} does not answer, so it cannot be rebuilt; start its node first")]
    Unreachable {
        /// The slice.
        slice: usize,
    },
    /// The local store in front failed.
    #[error("the leaf: {0}")]
    Leaf(#[from] dedupstore::store::StoreError),
}
