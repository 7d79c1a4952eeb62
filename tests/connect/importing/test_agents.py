"""Agents that come in, each from where it was."""

import json

import pytest

from chat.models import Agent
from connect.models import Imported
from tests.connect import exports

pytestmark = pytest.mark.django_db


def test_an_agent_made_of_claudes_project_is_claudes(ada, tmp_path, bring):
    project = {"uuid": "p1", "name": "Bakery", "description": "", "docs": [], "prompt_template": "Know rye."}
    path = tmp_path / "a.zip"
    path.write_bytes(exports.zipped({"projects.json": json.dumps([project])}))
    assert bring(ada, path).added["agents"] == 1
    came = Imported.objects.get(what=Imported.What.AGENT)
    assert (came.kind, came.foreign_id, came.last_message) == (
        "claude",
        "Bakery",
        Agent.objects.get(owner=ada).pk,
    )
