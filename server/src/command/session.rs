//! Commands about the connection.

use super::{COMMANDS, Context, Flow, printable, refuse, wrong_number};
use crate::password;
use crate::resp::Arguments;
use crate::resp::reply::{self, Protocol};
use crate::session::Transaction;

const OK: &str = "OK";
/// The version of Redis whose commands clients may expect.
pub const REDIS_VERSION: &str = "7.2.0";

fn ok(context: &mut Context<'_>) -> Flow {
    context.session.reply(|output, _| reply::simple(output, OK));
    Flow::Next
}

/// `PING [text]`
pub fn ping(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    context.session.reply(|output, _| match arguments.len() {
        1 => reply::simple(output, "PONG"),
        2 => reply::bulk(output, arguments.get(1)),
        _ => reply::error(output, &wrong_number("ping")),
    });
    Flow::Next
}

/// `ECHO text`
pub fn echo(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    context
        .session
        .reply(|output, _| reply::bulk(output, arguments.get(1)));
    Flow::Next
}

/// `AUTH [user] password`: there is one user, called default.
pub fn authenticate(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let (user, given) = match arguments.len() {
        2 => (&b"default"[..], arguments.get(1)),
        3 => (arguments.get(1), arguments.get(2)),
        _ => return refuse(context, &wrong_number("auth")),
    };
    match log_in(context, user, given) {
        Ok(()) => ok(context),
        Err(text) => refuse(context, text),
    }
}

fn log_in(context: &mut Context<'_>, user: &[u8], given: &[u8]) -> Result<(), &'static str> {
    let Some(expected) = &context.settings.password else {
        return Err(
            "ERR AUTH <password> called without any password configured for the default \
                    user. Are you sure your configuration is correct?",
        );
    };
    match user == b"default" && password::is_same(expected, given) {
        true => {
            context.session.authenticated = true;
            Ok(())
        }
        false => {
            (context.settings.log)("wrong password", &[]);
            Err("WRONGPASS invalid username-password pair or user is disabled.")
        }
    }
}

/// `HELLO [2 | 3 [AUTH user password] [SETNAME name]]`
pub fn hello(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let protocol = match arguments.get(1) {
        b"" if arguments.len() == 1 => context.session.protocol,
        b"2" => Protocol::Two,
        b"3" => Protocol::Three,
        _ => return refuse(context, "NOPROTO unsupported protocol version"),
    };
    let mut at = 2;
    while at < arguments.len() {
        let word = arguments.get(at).to_ascii_uppercase();
        match &word[..] {
            b"AUTH" if at + 2 < arguments.len() => {
                let (user, given) = (arguments.get(at + 1), arguments.get(at + 2));
                if let Err(text) = log_in(context, user, given) {
                    return refuse(context, text);
                }
                at += 3;
            }
            b"SETNAME" if at + 1 < arguments.len() => {
                context.session.name = arguments.get(at + 1).to_vec();
                at += 2;
            }
            other => {
                let text = format!("ERR Syntax error in HELLO option '{}'", printable(other));
                return refuse(context, &text);
            }
        }
    }
    if !context.session.authenticated {
        let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise \
                    the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the \
                    client and select the RESP protocol version at the same time";
        return refuse(context, text);
    }
    context.session.protocol = protocol;
    let id = context.serial;
    context.session.reply(|output, protocol| {
        let version = match protocol {
            Protocol::Two => 2,
            Protocol::Three => 3,
        };
        reply::map(output, protocol, 7);
        let texts = [
            ("server", "redis"),
            ("version", REDIS_VERSION),
            ("mode", "standalone"),
            ("role", "master"),
        ];
        for (name, value) in texts {
            reply::bulk(output, name.as_bytes());
            reply::bulk(output, value.as_bytes());
        }
        for (name, value) in [("proto", version), ("id", id as i64)] {
            reply::bulk(output, name.as_bytes());
            reply::integer(output, value);
        }
        reply::bulk(output, b"modules");
        reply::array(output, 1);
        reply::map(output, protocol, 2);
        reply::bulk(output, b"name");
        reply::bulk(output, b"bf");
        reply::bulk(output, b"ver");
        reply::integer(output, 20_600);
    });
    Flow::Next
}

/// `CLIENT ID | SETNAME | GETNAME | SETINFO | INFO | NO-EVICT | NO-TOUCH`
pub fn client(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let word = arguments.get(1).to_ascii_uppercase();
    match (&word[..], arguments.len()) {
        (b"ID", 2) => {
            let id = context.serial as i64;
            context
                .session
                .reply(|output, _| reply::integer(output, id));
        }
        (b"SETNAME", 3) => {
            context.session.name = arguments.get(2).to_vec();
            return ok(context);
        }
        (b"GETNAME", 2) => {
            let name = context.session.name.clone();
            context
                .session
                .reply(|output, _| reply::bulk(output, &name));
        }
        (b"INFO", 2) => {
            let name = String::from_utf8_lossy(&context.session.name).into_owned();
            let text = format!("id={} name={name} db=0\n", context.serial);
            context
                .session
                .reply(|output, _| reply::bulk(output, text.as_bytes()));
        }
        (b"SETINFO", 4) | (b"NO-EVICT" | b"NO-TOUCH", 3) => return ok(context),
        (b"ID" | b"SETNAME" | b"GETNAME" | b"INFO" | b"SETINFO" | b"NO-EVICT" | b"NO-TOUCH", _) => {
            let name = format!("client|{}", printable(&word).to_lowercase());
            return refuse(context, &wrong_number(&name));
        }
        _ => {
            let text = format!("ERR unknown subcommand '{}'", printable(arguments.get(1)));
            return refuse(context, &text);
        }
    }
    Flow::Next
}

/// `COMMAND [COUNT | DOCS | LIST | INFO name…]`
pub fn list_commands(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let word = arguments.get(1).to_ascii_uppercase();
    context.session.reply(|output, protocol| match &word[..] {
        b"COUNT" => reply::integer(output, COMMANDS.len() as i64),
        b"DOCS" => reply::map(output, protocol, 0),
        b"LIST" => {
            reply::array(output, COMMANDS.len());
            for command in COMMANDS {
                reply::bulk(output, command.name.as_bytes());
            }
        }
        b"INFO" if arguments.len() > 2 => {
            reply::array(output, arguments.len() - 2);
            for name in arguments.from(2) {
                let is_named =
                    |command: &&super::Command| name.eq_ignore_ascii_case(command.name.as_bytes());
                match COMMANDS.iter().find(is_named) {
                    Some(command) => describe(output, command),
                    None => reply::null(output, protocol),
                }
            }
        }
        b"" | b"INFO" => {
            reply::array(output, COMMANDS.len());
            COMMANDS
                .iter()
                .for_each(|command| describe(output, command));
        }
        _ => reply::error(output, "ERR unknown subcommand of COMMAND"),
    });
    Flow::Next
}

fn describe(output: &mut Vec<u8>, command: &super::Command) {
    reply::array(output, 6);
    reply::bulk(output, command.name.as_bytes());
    reply::integer(output, i64::from(command.arity));
    reply::array(output, 1);
    reply::simple(
        output,
        if command.is_write {
            "write"
        } else {
            "readonly"
        },
    );
    let first = i64::from(command.has_store);
    for position in [first, first, first] {
        reply::integer(output, position);
    }
}

/// `SELECT 0`: there is one database.
pub fn select(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match arguments.get(1) {
        b"0" => ok(context),
        _ => refuse(context, "ERR DB index is out of range"),
    }
}

/// `QUIT`
pub fn quit(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    context.session.closing = true;
    ok(context)
}

/// `RESET`
pub fn reset(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    context.session.transaction = None;
    context.session.protocol = Protocol::Two;
    context.session.name.clear();
    context.session.authenticated = context.settings.password.is_none();
    context
        .session
        .reply(|output, _| reply::simple(output, "RESET"));
    Flow::Next
}

/// `MULTI`: the following requests wait for EXEC.
pub fn begin(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    match context.session.transaction {
        Some(_) => refuse(context, "ERR MULTI calls can not be nested"),
        None => {
            context.session.transaction = Some(Transaction::default());
            ok(context)
        }
    }
}

/// Adds a request to the transaction.
pub fn enqueue(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let limits = &context.settings.limits;
    let Some(transaction) = &mut context.session.transaction else {
        return Flow::Next;
    };
    let bytes: usize = arguments.from(0).map(|argument| argument.len() + 16).sum();
    if transaction.bytes.len() + bytes > limits.request.request_bytes
        || transaction.count >= limits.pipeline
    {
        return refuse(context, "ERR the transaction is too large");
    }
    reply::array(&mut transaction.bytes, arguments.len());
    for argument in arguments.from(0) {
        reply::bulk(&mut transaction.bytes, argument);
    }
    transaction.count += 1;
    context
        .session
        .reply(|output, _| reply::simple(output, "QUEUED"));
    Flow::Next
}

/// `EXEC`: carries out the requests since MULTI, in order. Those of other clients may come in
/// between.
pub fn execute(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    match &context.session.transaction {
        None => refuse(context, "ERR EXEC without MULTI"),
        Some(transaction) if transaction.refused => {
            context.session.transaction = None;
            let text = "EXECABORT Transaction discarded because of previous errors.";
            context.session.error(text);
            Flow::Next
        }
        Some(_) => Flow::Execute,
    }
}

/// `DISCARD`: forgets the requests since MULTI.
pub fn discard(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    match context.session.transaction.take() {
        None => refuse(context, "ERR DISCARD without MULTI"),
        Some(_) => ok(context),
    }
}
