"""Uses a server with redis-py, unchanged: python redis_py.py PORT [CERTIFICATE], with TLS if given."""

import sys

import redis

port = int(sys.argv[1])
tls = {"ssl": True, "ssl_ca_certs": sys.argv[2]} if len(sys.argv) > 2 else {}


def check(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def fails(call, words, what):
    try:
        found = call()
    except redis.ResponseError as error:
        check(words in str(error), True, f"{what}: {error}")
    else:
        sys.exit(f"{what}: expected an error, found {found!r}")


for protocol in (2, 3):
    client = redis.Redis(port=port, protocol=protocol, **tls)
    check(client.ping(), True, "ping")
    bloom, name = client.bf(), f"py{protocol}"
    check(bool(bloom.create(name, 0.001, 1000)), True, "bf.reserve")
    fails(lambda: bloom.create(name, 0.001, 1000), "item exists", "bf.reserve again")
    fails(lambda: bloom.create("x", 2, 1000), "error rate", "bad rate")
    check(bloom.add(name, "a"), 1, "bf.add new")
    check(bloom.add(name, "a"), 0, "bf.add seen")
    check(bloom.madd(name, "a", "b", b"\x00\xff"), [0, 1, 1], "bf.madd")
    check(bloom.exists(name, "b"), 1, "bf.exists")
    check(bloom.mexists(name, "b", "c"), [1, 0], "bf.mexists")
    check(bloom.exists("absent", "b"), 0, "bf.exists without a store")
    check(bloom.insert(name, ["c", "d"]), [1, 1], "bf.insert")
    fails(lambda: bloom.insert("absent", ["c"], noCreate=True), "not found", "nocreate")
    check(bloom.card(name), 5, "bf.card")
    information = bloom.info(name)
    if protocol == 2:
        check(information.insertedNum, 5, "bf.info items")
        check(information.capacity >= 1000, True, "bf.info capacity")
    else:
        check(information[b"Number of items inserted"], 5, "bf.info items")
    fails(lambda: bloom.info("absent"), "not found", "bf.info without a store")

    members = f"set{protocol}"
    check(client.sadd(members, "x", "y", "x"), 2, "sadd")
    check(client.sismember(members, "x"), 1, "sismember")
    check(client.smismember(members, "x", "z"), [1, 0], "smismember")
    check(client.scard(members), 2, "scard")
    check(client.exists(members, "absent"), 1, "exists")

    # A pipeline with and without MULTI and EXEC.
    for transaction in (False, True):
        pipeline = client.pipeline(transaction=transaction)
        for key in range(500):
            pipeline.bf().add(members, f"{transaction}{key}")
        check([int(it) for it in pipeline.execute()], [1] * 500, "pipeline")

    tickets = client.execute_command("DEDUP.CLAIM", name, "p", "q", "p", "a")
    check([ticket > 0 for ticket in tickets], [True, True, False, False], "dedup.claim")
    check(tickets[2:], [-1, 0], "pending and seen")
    committed = client.execute_command("DEDUP.COMMIT", name, tickets[0], 1)
    check(committed, [1, 0], "dedup.commit")
    check(client.execute_command("DEDUP.ABORT", name, tickets[1]), [1], "dedup.abort")
    check(bloom.mexists(name, "p", "q"), [1, 0], "after commit and abort")
    check(client.execute_command("WAITAOF", 1, 0, 0), [1, 0], "waitaof")
    check(client.info("server")["redis_mode"], "standalone", "info")
    check(client.client_id() > 0, True, "client id")
    check(client.command_count() > 30, True, "command count")
    fails(lambda: client.get("x"), "unknown command", "get")
    fails(lambda: client.delete(members), "allow-delete", "del")
    client.close()
print("redis-py", redis.__version__, "works")
