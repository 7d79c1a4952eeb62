"""How often a token may be used, and how often an address may fail with one.

Counted in the process where there is one, and in the database where several web processes share one.
"""

import threading
import time

from django.db import connection

from oneclaw.postgres import is_postgres

COUNT = """
    INSERT INTO connect_tally AS known (key, began_at, count) VALUES (%(key)s, clock_timestamp(), 1)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN known.began_at > clock_timestamp() - make_interval(secs => %(seconds)s)
                THEN known.count + 1 ELSE 1 END,
        began_at = CASE WHEN known.began_at > clock_timestamp() - make_interval(secs => %(seconds)s)
                   THEN known.began_at ELSE clock_timestamp() END
    RETURNING count
"""
LEFT = """
    SELECT extract(epoch FROM began_at + make_interval(secs => %s) - clock_timestamp())
    FROM connect_tally WHERE key = %s
"""


class Window:
    """So many of a kind within so many seconds, for each key.

    One with a name is every web process's, where several share a database.
    """

    MOST_KEYS = 10_000

    def __init__(self, seconds: float, name: str = "") -> None:
        self.seconds = seconds
        self.name = name
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, int]] = {}

    def count(self, key: str) -> int:
        """Count one more; how many that makes."""
        if self._is_shared():
            with connection.cursor() as cursor:
                cursor.execute(COUNT, {"key": self._shared(key), "seconds": self.seconds})
                return int(cursor.fetchone()[0])
        now = time.monotonic()
        with self._lock:
            if len(self._counts) >= self.MOST_KEYS:
                self._counts = {name: seen for name, seen in self._counts.items() if self._holds(seen, now)}
                if len(self._counts) >= self.MOST_KEYS:
                    self._counts.clear()
            began, so_far = self._counts.get(key, (now, 0))
            if not self._holds((began, so_far), now):
                began, so_far = now, 0
            self._counts[key] = began, so_far + 1
            return so_far + 1

    def left(self, key: str) -> int:
        """Seconds until the key begins anew."""
        if self._is_shared():
            with connection.cursor() as cursor:
                cursor.execute(LEFT, [self.seconds, self._shared(key)])
                found = cursor.fetchone()
            return max(1, round(found[0])) if found else 1
        began, _ = self._counts.get(key, (time.monotonic(), 0))
        return max(1, round(began + self.seconds - time.monotonic()))

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()

    def _is_shared(self) -> bool:
        return bool(self.name) and is_postgres()

    def _shared(self, key: str) -> str:
        return f"{self.name}:{key}"[:120]

    def _holds(self, seen: tuple[float, int], now: float) -> bool:
        return seen[0] + self.seconds > now


# Wrong tokens of one address, as wrong passwords are counted; right ones work all the same.
MOST_FAILURES = 30
failures = Window(15 * 60, "failures")
requests = Window(60, "requests")
