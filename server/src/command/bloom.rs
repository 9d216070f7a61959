//! RedisBloom's commands, with its replies and errors.

use super::{Context, Flow, OpenStore, no_keys, wrong_number};
use crate::batch::{Kind, Other};
use crate::resp::Arguments;
use crate::resp::reply;
use crate::session::{Flavor, InformationField, Shape};
use crate::settings::Reserve;
use crate::stores::Wanted;

const NOT_FOUND: &str = "ERR not found";
/// As in RedisBloom.
const MAX_CAPACITY: i64 = 1 << 30;
const MAX_EXPANSION: i64 = 1 << 15;

/// `BF.ADD store key`
pub fn add(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    observe(context, arguments, Shape::Singles, None)
}

/// `BF.MADD store key…`
pub fn add_many(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    observe(context, arguments, Shape::Array, None)
}

#[inline]
fn observe(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    shape: Shape,
    reserve: Option<Reserve>,
) -> Flow {
    match context.store(arguments.get(1), Wanted::Created(reserve)) {
        OpenStore::Open(store) => {
            let keys = arguments.from(2);
            context.push_keys(store, Kind::Observe, shape, Flavor::Boolean, keys)
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => Flow::Next,
    }
}

/// `BF.EXISTS store key`
pub fn exists(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    look_up(context, arguments, Shape::Singles, Flavor::Boolean)
}

/// `BF.MEXISTS store key…`
pub fn exist_many(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    look_up(context, arguments, Shape::Array, Flavor::Boolean)
}

/// Looks keys up. Nothing is in a store that does not exist.
pub(super) fn look_up(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    shape: Shape,
    flavor: Flavor,
) -> Flow {
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => {
            context.push_keys(store, Kind::Contains, shape, flavor, arguments.from(2))
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => {
            context.session.reply(|output, protocol| {
                let protocol = match flavor {
                    Flavor::Boolean => protocol,
                    Flavor::Integer => reply::Protocol::Two,
                };
                if shape == Shape::Array {
                    reply::array(output, arguments.len() - 2);
                }
                for _ in 2..arguments.len() {
                    reply::boolean(output, protocol, false);
                }
            });
            Flow::Next
        }
    }
}

/// `BF.CARD store`, `SCARD store`
pub fn cardinality(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => context.push_other(store, Other::Cardinality, no_keys()),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => {
            context.session.reply(|output, _| reply::integer(output, 0));
            Flow::Next
        }
    }
}

/// `BF.INFO store [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]`
pub fn information(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let field = match arguments.len() {
        2 => None,
        3 => match InformationField::parse(arguments.get(2)) {
            Some(field) => Some(field),
            None => return error(context, "Invalid information value"),
        },
        _ => return error(context, &wrong_number("bf.info")),
    };
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => {
            let flow = context.push_other(store, Other::Information, no_keys());
            if let Some(field) = field {
                context.session.field_of_last(field);
            }
            flow
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => error(context, NOT_FOUND),
    }
}

impl InformationField {
    fn parse(text: &[u8]) -> Option<Self> {
        let fields = [
            ("capacity", InformationField::Capacity),
            ("size", InformationField::Size),
            ("filters", InformationField::Filters),
            ("items", InformationField::Items),
            ("expansion", InformationField::Expansion),
        ];
        let mut fields = fields.into_iter();
        let found = fields.find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, field)| field)
    }
}

/// `BF.RESERVE store error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW seconds]`
pub fn reserve(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let words = Words {
        bad_rate: "ERR bad error rate",
        bad_capacity: "ERR bad capacity",
        bad_expansion: "ERR bad expansion",
    };
    let mut options = ReserveOptions::default();
    let parsed = options
        .error_rate(arguments.get(2), &words)
        .and_then(|()| options.capacity(arguments.get(3), &words))
        .and_then(|()| options.rest(arguments, 4, &words).map(|_| ()))
        .and_then(|()| options.reserve());
    let reserve = match parsed {
        Ok(reserve) => reserve,
        Err(text) => return error(context, &text),
    };
    let name = arguments.get(1);
    if let Some(failure) = context.parking.failure.take() {
        return error(context, &failure);
    }
    if context.parking.created.take().is_some_and(|it| it == name) {
        context
            .session
            .reply(|output, _| reply::simple(output, "OK"));
        return Flow::Next;
    }
    if context.stores.exists(name) {
        return error(context, "ERR item exists");
    }
    match context.store(name, Wanted::Created(Some(reserve))) {
        OpenStore::Flow(flow) => flow,
        _ => error(context, "ERR item exists"),
    }
}

/// `BF.INSERT store [CAPACITY n] [ERROR rate] [EXPANSION n] [NOCREATE] [NONSCALING]
/// [WINDOW seconds] ITEMS key…`
pub fn insert(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let words = Words {
        bad_rate: "Bad error rate",
        bad_capacity: "Bad capacity",
        bad_expansion: "Bad expansion",
    };
    let mut options = ReserveOptions::default();
    let items = match options.rest(arguments, 2, &words) {
        Ok(Some(items)) if items < arguments.len() => items,
        Ok(_) => return error(context, &wrong_number("bf.insert")),
        Err(text) => return error(context, &text),
    };
    let is_given = options.error_rate.is_some() || options.capacity.is_some();
    let wanted = match (options.no_create, options.reserve()) {
        (_, Err(text)) => return error(context, &text),
        (true, _) if is_given => {
            return error(context, "ERR NOCREATE excludes CAPACITY and ERROR");
        }
        (true, _) => Wanted::Existing,
        (false, Ok(reserve)) => {
            Wanted::Created((options != ReserveOptions::default()).then_some(reserve))
        }
    };
    match context.store(arguments.get(1), wanted) {
        OpenStore::Open(store) => {
            let keys = arguments.from(items);
            context.push_keys(store, Kind::Observe, Shape::Array, Flavor::Boolean, keys)
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => error(context, NOT_FOUND),
    }
}

fn error(context: &mut Context<'_>, text: &str) -> Flow {
    context.session.error(text);
    Flow::Next
}

/// The words of errors, which differ between commands in RedisBloom.
struct Words {
    bad_rate: &'static str,
    bad_capacity: &'static str,
    bad_expansion: &'static str,
}

#[derive(Debug, Default, PartialEq)]
struct ReserveOptions {
    error_rate: Option<f64>,
    capacity: Option<u64>,
    expansion: Option<i64>,
    nonscaling: bool,
    no_create: bool,
    window: Option<u64>,
}

impl ReserveOptions {
    fn error_rate(&mut self, text: &[u8], words: &Words) -> Result<(), String> {
        let rate = parse::<f64>(text).filter(|rate| !rate.is_nan());
        match rate {
            None => Err(words.bad_rate.to_owned()),
            Some(rate) if rate > 0.0 && rate < 1.0 => {
                self.error_rate = Some(rate);
                Ok(())
            }
            Some(_) => Err("ERR error rate must be in the range (0.000000, 1.000000)".to_owned()),
        }
    }

    fn capacity(&mut self, text: &[u8], words: &Words) -> Result<(), String> {
        match parse::<i64>(text) {
            None => Err(words.bad_capacity.to_owned()),
            Some(capacity) if (1..=MAX_CAPACITY).contains(&capacity) => {
                self.capacity = Some(capacity as u64);
                Ok(())
            }
            Some(_) => Err(format!(
                "ERR capacity must be in the range [1, {MAX_CAPACITY}]"
            )),
        }
    }

    /// Reads options from an argument on; returns where the keys begin, if there is ITEMS.
    fn rest(
        &mut self,
        arguments: Arguments<'_>,
        from: usize,
        words: &Words,
    ) -> Result<Option<usize>, String> {
        let mut at = from;
        while at < arguments.len() {
            let word = arguments.get(at).to_ascii_uppercase();
            let value = arguments.get(at + 1);
            let has_value = at + 1 < arguments.len();
            match &word[..] {
                b"ITEMS" => return Ok(Some(at + 1)),
                b"NONSCALING" => self.nonscaling = true,
                b"NOCREATE" => self.no_create = true,
                b"EXPANSION" if !has_value => return Err("ERR no expansion".to_owned()),
                b"EXPANSION" => {
                    let expansion = parse::<i64>(value).ok_or(words.bad_expansion)?;
                    if !(0..=MAX_EXPANSION).contains(&expansion) {
                        let text =
                            format!("ERR expansion must be in the range [0, {MAX_EXPANSION}]");
                        return Err(text);
                    }
                    self.expansion = Some(expansion);
                    at += 1;
                }
                b"ERROR" => {
                    self.error_rate(value, words)?;
                    at += 1;
                }
                b"CAPACITY" => {
                    self.capacity(value, words)?;
                    at += 1;
                }
                b"WINDOW" => {
                    let seconds = parse::<u64>(value).filter(|&seconds| seconds > 0);
                    self.window = Some(seconds.ok_or("ERR bad window")?);
                    at += 1;
                }
                _ => return Err("Unknown argument received".to_owned()),
            }
            at += 1;
        }
        Ok(None)
    }

    fn reserve(&self) -> Result<Reserve, String> {
        if self.nonscaling && self.expansion.is_some_and(|expansion| expansion > 0) {
            return Err("Nonscaling filters cannot expand".to_owned());
        }
        Ok(Reserve {
            error_rate: self.error_rate,
            capacity: self.capacity,
            scaling: !self.nonscaling && self.expansion != Some(0),
            window_seconds: self.window,
        })
    }
}

/// Parses a number as Redis does: without spaces, leading zeros or a plus sign.
fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    let is_padded = matches!(text, [b'0', b'0'..=b'9', ..] | [b'+', ..]);
    let text = std::str::from_utf8(text).ok().filter(|_| !is_padded)?;
    text.parse().ok()
}
