"""Log lines as JSON."""

import json
import logging
import sys

from oneclaw.server.logs import JsonLines


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
