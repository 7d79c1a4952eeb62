"""Log lines as JSON."""

import json
import logging
import sys

from oneclaw.server.logs import JsonLines
from oneclaw.server.supervisor import Output


def test_a_line_is_one_object_whatever_it_says():
    try:
        raise ValueError("no\nsuch thing")
    except ValueError:
        record = logging.LogRecord(
            "chat", logging.ERROR, __file__, 1, "It %s: \n“{”", ("failed",), sys.exc_info()
        )
    line = JsonLines().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("ERROR", "chat", "It failed: \n“{”")
    assert "ValueError: no" in found["error"]
    assert found["time"].endswith("+00:00")


def test_where_logs_are_json_every_line_is():
    lines = list[str]()
    output = Output("json", lines.append)
    output.say("OneClaw is running:\n  http://127.0.0.1:8000")
    output.pass_on("web   ", '{"level": "INFO"}')
    output.pass_on("web   ", "Traceback (most recent call last):")
    said = [json.loads(line) for line in lines]
    assert [line.get("logger") for line in said] == ["up", None, "web"]
    assert said[0]["message"] == "OneClaw is running:\n  http://127.0.0.1:8000"
    assert said[2]["message"].startswith("Traceback")


def test_people_get_plain_lines():
    lines = list[str]()
    output = Output("plain", lines.append)
    output.say("OneClaw has stopped.")
    output.pass_on("web   ", "INFO chat: 5 % done")
    output.pass_on("web   ", '{"level": "INFO"}')
    assert lines == ["OneClaw has stopped.", "web    | INFO chat: 5 % done", '{"level": "INFO"}']
