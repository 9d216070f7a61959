//! Logs: their lines, formats and times.

use dedupstore::lines::{
    JsonBuffers, JsonPath, LineBuffer, LineClock, Part, Shape, TimeFormat, TimeReader,
};

/// The first bytes of a log.
pub fn shape(input: &[u8]) {
    match Shape::of(input) {
        Shape::JsonLines { paths } => {
            let mut buffers = JsonBuffers::default();
            let first = input.split(|&byte| byte == b'\n').find(|it| !it.is_empty());
            for text in paths {
                let path: JsonPath = text.parse().expect("a path that is offered");
                let _ = path.find(first.unwrap_or_default(), &mut buffers);
            }
        }
        Shape::Table { names, columns, .. } => {
            assert!(columns > 1);
            assert!(names.is_empty() || names.len() == columns);
        }
        _ => {}
    }
    if let Some(mut clock) = LineClock::of(input) {
        let rule = clock.rule_in(input, None);
        if let Some(rule) = rule {
            let mut reader = TimeReader::new(rule);
            input.split(|&byte| byte == b'\n').for_each(|line| {
                let _ = reader.seconds(line);
            });
        }
    }
}

/// A time, in all formats; RFC 3339 is compared with a count of days.
pub fn time(input: &[u8]) {
    let parsed = TimeFormat::ALL.map(|format| format.parse(input));
    if let Some(expected) = naive_rfc3339(input) {
        assert_eq!(
            TimeFormat::Rfc3339.parse(input),
            expected,
            "{}",
            input.escape_ascii()
        );
    }
    if let Ok(text) = str::from_utf8(input)
        && text.len() <= 18
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = text.parse::<i64>()
    {
        assert_eq!(parsed[1], Some(number), "{text}");
        assert_eq!(parsed[2], Some(number / 1000), "{text}");
        assert_eq!(parsed[4], Some(number / 1_000_000_000), "{text}");
    }
}

/// Parses `YYYY-MM-DDTHH:MM:SSZ`; None if the text has another form.
fn naive_rfc3339(text: &[u8]) -> Option<Option<i64>> {
    let form = b"0000-00-00T00:00:00Z";
    let is_form = text.len() == form.len()
        && text.iter().zip(form).all(|(byte, &form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => *byte == form,
        });
    if !is_form {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        text[range]
            .iter()
            .fold(0i64, |sum, byte| 10 * sum + i64::from(byte - b'0'))
    };
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let (hour, minute, second) = (number(11..13), number(14..16), number(17..19));
    // Years that no log has, and leap seconds, may be refused or not.
    if !(1970..2200).contains(&year) || second == 60 || hour == 24 {
        return None;
    }
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of = |year: i64, month: i64| match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return Some(None);
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Some(None);
    }
    let years = (1970..year).map(|year| 365 + i64::from(is_leap(year)));
    let months = (1..month).map(|month| days_of(year, month));
    let days = years.sum::<i64>() + months.sum::<i64>() + day - 1;
    Some(Some(86_400 * days + 3600 * hour + 60 * minute + second))
}

/// A log in pieces, with a limit of its lines: together they must be the log.
pub fn lines(input: &[u8]) {
    let [max_line, piece, log @ ..] = input else {
        return;
    };
    let max_line = usize::from(*max_line);
    let mut buffer = LineBuffer::with_max_line(b'\n', max_line);
    let (mut joined, mut found) = (Vec::new(), Vec::new());
    let mut take = |buffer: &mut LineBuffer| {
        while let Some(part) = buffer.next_part() {
            match part {
                Part::Lines(lines) => {
                    for line in lines {
                        joined.extend_from_slice(line.with_delimiter);
                        found.push(line.content.to_vec());
                    }
                }
                Part::LongLine(piece) => {
                    joined.extend_from_slice(piece.bytes);
                    if piece.is_first {
                        found.push(b"\n".to_vec());
                    }
                }
            }
        }
    };
    for piece in log.chunks(usize::from(*piece).max(1)) {
        let space = buffer.space().expect("memory");
        space[..piece.len()].copy_from_slice(piece);
        buffer.filled(piece.len());
        take(&mut buffer);
    }
    let last = buffer
        .last_line()
        .map(|line| (line.content.to_vec(), line.with_delimiter.to_vec()));
    if let Some((content, bytes)) = last {
        joined.extend_from_slice(&bytes);
        found.push(content);
    }
    assert!(joined == log, "the parts are not the log");
    let mut expected: Vec<&[u8]> = log.split(|&byte| byte == b'\n').collect();
    // After the last delimiter there is no line.
    expected.pop_if(|last| last.is_empty());
    for (at, line) in expected.iter().enumerate() {
        match line.len() > max_line {
            // The last line of an input may be longer: nothing follows that must be kept apart.
            true => {
                let is_last = at + 1 == expected.len();
                assert!(found[at] == b"\n" || (is_last && found[at] == *line));
            }
            false => assert!(found[at] == *line),
        }
    }
}
