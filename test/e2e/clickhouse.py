"""Runs SQL by ClickHouse as a library: reads one JSON object from standard input, writes the rows of each query that is asked."""

import json
import sys

given = json.load(sys.stdin)
sys.path[:0] = given["wheels"]

from chdb import session

database = session.Session()
for statement in given["done"]:
    database.query(statement)


def rows(query):
    answer = str(database.query(query, "JSONEachRow", params=given["parameters"]))
    return [json.loads(line) for line in answer.splitlines() if line]


print(json.dumps([rows(query) for query in given["asked"]]))
