//! Values of a parameter to compare with one another.

use super::parameter::{Kind, Value};

/// A value that differs from the default by less than a tenth is not suggested.
const NEAR: u64 = 10;

impl Kind {
    /// Returns up to `limit` values in order, including the default: all values, or the round
    /// ones around the default. Whole numbers grow by thirds and halves (4, 6, 8, 12, 16),
    /// decimals in steps of 1, 2, 5 (0.01, 0.02, 0.05, 0.1).
    pub fn suggested_values(&self, limit: usize) -> Vec<Value> {
        match *self {
            Kind::Choice { options } => {
                let values = options.iter().map(|&word| Value::Choice(word));
                values.take(limit).collect()
            }
            Kind::Integer { min, max, default } => {
                let powers = (0..u64::BITS - 2).map(|power| 1 << power);
                let mut round = powers.flat_map(|power: u64| [power, power + power / 2]);
                let values = around(min, max, default, &mut round, limit).into_iter();
                values.map(Value::Integer).collect()
            }
            Kind::Decimal {
                min_millionths: min,
                max_millionths: max,
                default_millionths: default,
            } => {
                let powers = (0..12).map(|power| 10u64.pow(power));
                let mut round = powers.flat_map(|power| [power, 2 * power, 5 * power]);
                let values = around(min, max, default, &mut round, limit).into_iter();
                values.map(Value::Decimal).collect()
            }
        }
    }
}

fn around(
    min: u64,
    max: u64,
    default: u64,
    round: &mut dyn Iterator<Item = u64>,
    limit: usize,
) -> Vec<u64> {
    let mut values = Vec::new();
    for value in [0].into_iter().chain(round) {
        if !(min..=max).contains(&value) {
            continue;
        }
        let is_apart = value.abs_diff(default) * NEAR > default;
        // 1 and 1.5 round to the same whole number.
        let is_known = values.last() == Some(&value);
        if is_apart && !is_known {
            values.push(value);
        }
    }
    let at = values.partition_point(|&value| value < default);
    values.insert(at, default);
    let first = at
        .saturating_sub(limit / 2)
        .min(values.len().saturating_sub(limit));
    values.into_iter().skip(first).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{FilterSpec, registry};

    fn suggested(filter: &str, parameter: &str) -> Vec<String> {
        let spec: FilterSpec = filter.parse().expect("a filter");
        let (_, parameter) = spec
            .descriptor()
            .parameter(parameter)
            .expect("one of its own");
        let values = parameter.kind.suggested_values(7);
        values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_are_round_and_near_the_default() {
        assert_eq!(
            suggested("bloom", "k"),
            ["1", "2", "3", "4", "6", "8", "12"]
        );
        assert_eq!(suggested("bloom", "layout"), ["shared", "partitioned"]);
        assert_eq!(
            suggested("recent", "bits"),
            ["4", "6", "8", "12", "16", "24", "32"]
        );
        assert_eq!(
            suggested("fpbuffer", "q"),
            ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]
        );
    }

    #[test]
    fn every_value_is_allowed_and_the_default_is_included() {
        for descriptor in registry() {
            for parameter in descriptor.parameters {
                let values = parameter.kind.suggested_values(7);
                assert!((1..=7).contains(&values.len()), "{}", descriptor.name);
                assert!(values.contains(&parameter.kind.default_value()));
                for value in values {
                    let spec = FilterSpec::with_defaults(descriptor);
                    let changed = spec.with(parameter.name, &value.to_string());
                    assert!(
                        changed.is_ok(),
                        "{}:{}={value}",
                        descriptor.name,
                        parameter.name
                    );
                }
            }
        }
    }
}
