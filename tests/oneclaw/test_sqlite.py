"""Vector and full-text tables work through Django's own connection."""

import pytest
from django.db import connection

from oneclaw.sqlite.vectors import has_vectors


@pytest.mark.django_db
def test_vec0_and_fts5_work_through_djangos_connection() -> None:
    assert has_vectors()
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIRTUAL TABLE v USING vec0(embedding float[2])")
        cursor.execute("INSERT INTO v(rowid, embedding) VALUES (1, '[1,0]'), (2, '[0,1]')")
        cursor.execute("SELECT rowid FROM v WHERE embedding MATCH %s AND k = 1", ["[0.1,0.9]"])
        assert cursor.fetchall() == [(2,)]
        cursor.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
        cursor.execute("INSERT INTO t VALUES ('trains to Lisbon')")
        cursor.execute("SELECT body FROM t WHERE t MATCH %s", ["lisbon"])
        assert cursor.fetchall() == [("trains to Lisbon",)]
