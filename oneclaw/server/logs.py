"""Log lines as JSON, one object each, for those who collect logs with a program."""

import json
import logging
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Time, level, logger, process and message; the traceback under `error`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def json_line(message: str, name: str) -> str:
    """A line that somebody said rather than logged."""
    return JsonLines().format(logging.LogRecord(name, logging.INFO, "", 0, "%s", (message,), None))
