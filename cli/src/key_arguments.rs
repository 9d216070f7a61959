//! The options that say which part of a line is its key.

use clap::{ArgAction, ArgGroup, Args};
use dedupstore::lines::{
    CRAWL_DROPPED, FieldList, JsonPath, KeyOptions, KeyPattern, KeyReader, KeyRule, KeySelector,
    LineEnd, Normalization, ParameterPattern,
};

use crate::error::Failure;
use crate::importance_arguments::ImportanceArguments;
use crate::time_arguments::TimeArguments;
use crate::value_parsers;

/// Which part of a line is the key, and what ends a line. A store records these options when it
/// is created. Later runs use what it records: options that are given must agree with it.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("separated").multiple(true).args(["fields", "time_field", "importance_field"]))]
pub struct KeyArguments {
    /// Use the N-th field of a line as its key, counted from 1, or several fields, as in 1,7,
    /// 1-3 or 2-
    #[arg(
        long = "field",
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Key",
        group = "key"
    )]
    fields: Option<FieldList>,

    /// The byte that separates fields [default: runs of spaces and tabs]
    #[arg(short = 't', long, value_name = "C", value_parser = value_parsers::delimiter,
          requires = "separated", help_heading = "Key")]
    delimiter: Option<u8>,

    /// Use a value of a JSON line as its key, as in request.url, items[0].link or /request/url
    #[arg(long, value_name = "PATH", help_heading = "Key", group = "key")]
    json_key: Option<JsonPath>,

    /// Use the match of a regular expression as the key: its first group, or all of it if it has
    /// no group
    #[arg(long, value_name = "RE", help_heading = "Key", group = "key")]
    key_regex: Option<KeyPattern>,

    /// Treat different spellings of a URL as one key: by the WHATWG URL standard and without the
    /// fragment (whatwg), or also without tracking and session parameters, and with the other
    /// parameters sorted by name (crawl). Other keys stay unchanged [default: none]
    #[arg(long, value_name = "none|whatwg|crawl", value_parser = value_parsers::normalization(),
          hide_possible_values = true, help_heading = "Key", long_help = normalize_help())]
    normalize: Option<Normalization>,

    /// With --normalize crawl, also drop this query parameter, or all with a prefix, as in ref_*;
    /// repeatable
    #[arg(long, value_name = "NAME", action = ArgAction::Append, help_heading = "Key")]
    drop_parameter: Vec<ParameterPattern>,

    /// Lines end with NUL instead of a newline
    #[arg(
        short = 'z',
        visible_short_alias = '0',
        long,
        conflicts_with = "crlf",
        help_heading = "Key"
    )]
    null: bool,

    /// Lines end with CR LF: the carriage return is not part of the key. Lines are printed
    /// unchanged
    #[arg(long, help_heading = "Key")]
    crlf: bool,

    #[command(flatten)]
    time: TimeArguments,

    #[command(flatten)]
    importance: ImportanceArguments,
}

fn normalize_help() -> String {
    format!(
        "Treat different spellings of a URL as one key. Other keys stay unchanged [default: \
         none]\n\n\
         whatwg: URLs are written by the WHATWG URL standard, as in browsers, and without the \
         fragment.\n\n\
         crawl: as whatwg; besides, an http or https URL loses ;jsessionid=… in its path, empty \
         query parameters, and the query parameters {} (sid only if its value has 20 or more \
         letters and digits and nothing else); its other parameters are sorted by name; an empty \
         query loses its question mark.",
        CRAWL_DROPPED.join(", ")
    )
}

impl KeyArguments {
    /// Returns the options that were given; the others are left unset.
    pub fn options(&self) -> KeyOptions {
        let selector = match (&self.json_key, &self.key_regex, &self.fields) {
            (Some(path), _, _) => Some(KeySelector::Json(path.clone())),
            (_, Some(pattern), _) => Some(KeySelector::Pattern(pattern.clone())),
            (_, _, Some(fields)) => Some(KeySelector::fields(fields.clone(), self.delimiter)),
            (None, None, None) => None,
        };
        KeyOptions {
            selector,
            normalization: self.normalize,
            drop_parameters: (!self.drop_parameter.is_empty()).then(|| self.drop_parameter.clone()),
            line_end: match (self.null, self.crlf) {
                (true, _) => Some(LineEnd::Nul),
                (_, true) => Some(LineEnd::CrLf),
                (false, false) => None,
            },
            time: self.time.options(self.delimiter),
            importance: self.importance.options(self.delimiter),
        }
    }

    /// Returns the byte that separates fields, if it was given.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    /// Returns the rule of a new store, or of a command that uses no store.
    pub fn rule(&self) -> Result<KeyRule, Failure> {
        Ok(self.options().rule()?)
    }

    /// Returns a reader of keys, and the byte that ends a line, for commands that use no store.
    pub fn reader(&self) -> Result<(KeyReader, u8), Failure> {
        let rule = self.rule()?;
        let line_end = rule.line_end.byte();
        Ok((KeyReader::of(rule), line_end))
    }
}
