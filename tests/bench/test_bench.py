"""The benchmark runs in a place of its own and prints a table and JSON."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django.fixtures import Settings

from people.models import User

pytestmark = pytest.mark.django_db(transaction=True)

CONVERSATION = {
    "id": "one",
    "speakers": ["Ann", "Bob"],
    "sessions": [
        {
            "n": 1,
            "date_time": "1:56 pm on 8 May, 2023",
            "turns": [
                {"id": "D1:1", "speaker": "Ann", "text": "I adopted a grey cat yesterday."},
                {"id": "D1:2", "speaker": "Bob", "text": "Great! I am building a wooden boat."},
            ],
            "observations": [{"text": "Ann adopted a grey cat.", "evidence": ["D1:1"]}],
        }
    ],
    "questions": [
        {"question": "Which animal did Ann adopt?", "category": 1, "evidence": ["D1:1"]},
        {"question": "What is Bob building?", "category": 1, "evidence": ["D1:2"]},
    ],
}


@pytest.mark.sqlite  # which it measures
def test_recall_is_measured_from_logs_alone_and_with_chats(tmp_path: Path):
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([CONVERSATION]))
    own = connections["default"].settings_dict["NAME"]
    out = StringIO()
    call_command("bench", "--only", "recall", "--locomo", str(file), stdout=out)
    measured = json.loads(out.getvalue().splitlines()[-1])
    found = measured["recall"]
    assert found["logs"]["block"] == 0.5
    both = found["logs and chats"]
    assert {name: both[name] for name in ("R@5", "R@10", "session R@5", "MRR", "block")} == {
        "R@5": 1,
        "R@10": 1,
        "session R@5": 1,
        "MRR": 1,
        "block": 1,
    }
    assert both["characters"] == len(
        "".join(["I adopted a grey cat yesterday.", "Great! I am building a wooden boat."])
    ) + len("Ann: Bob: Ann adopted a grey cat.")
    assert 0 < both["tokens"] < 300
    assert measured["kinds"]["logs and chats: several facts"] == both
    assert measured["judgement"] == {"idle": {"left alone": 1, "tokens": 0}, "time": {"share of lines": 1}}
    assert "session R@5" in out.getvalue().splitlines()[2]
    assert connections["default"].settings_dict["NAME"] == own
    assert not User.objects.exists()


@pytest.mark.sqlite
def test_speed_is_measured_beside_the_bare_model(settings: Settings):
    settings.RESIDENT_MB = 64
    out = StringIO()
    call_command("bench", "--quick", "--only", "speed", "--sizes", "40", stdout=out)
    found = json.loads(out.getvalue().splitlines()[-1])
    (row,) = found["latency"]
    assert row["chunks"] == 40
    assert row["search / bare"] > 0
    assert found["throughput"]["share of bare"] > 0
    assert found["loading"]["megabytes"] > 1


@pytest.mark.parametrize("wrong", [["--locomo", "nowhere.json"], ["--sizes", "many"]])
@pytest.mark.sqlite
def test_a_wrong_argument_is_said(wrong: list[str]):
    with pytest.raises(CommandError):
        call_command("bench", *wrong)


@pytest.mark.postgres
def test_a_measurement_on_sqlite_is_not_begun_on_postgres():
    with pytest.raises(CommandError, match="run it with ONECLAW_DATABASE_URL="):
        call_command("bench", "--only", "speed")
