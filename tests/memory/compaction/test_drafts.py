"""Drafts: what a model makes of a text, without files, without the ledger."""

import pytest

from chat.errors import ModelError
from chat.models import AiModel
from memory.compaction.drafts import Draft, Drafter, Refusal
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import Cost
from memory.models import Claim, LedgerEntry, Proposal, Revision
from tests.memory.compaction.test_compactor import DUPLICATES, TIDY, large, memory
from tests.modelserver import ModelServer, Recorded, Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def drafter(model: AiModel) -> Drafter:
    return Drafter(model, Deadline.of(60.0))


def test_a_draft_leaves_no_trace_but_its_cost(drafter: Drafter, model_server: ModelServer):
    model_server.reply(TIDY, usage=(300, 90))
    model_server.reply(TIDY, usage=(200, 80))
    assert drafter.propose(DUPLICATES) == Draft(DUPLICATES, TIDY)
    assert drafter.propose(DUPLICATES) == Draft(DUPLICATES, TIDY)
    assert drafter.cost == Cost(500, 170)
    assert not any(kept.objects.exists() for kept in (LedgerEntry, Claim, Proposal, Revision))


def test_an_answer_that_can_not_be_taken_is_a_refusal(drafter: Drafter, model_server: ModelServer):
    model_server.reply("", usage=(300, 0))
    assert drafter.propose(DUPLICATES) == Refusal("The model returned nothing.")
    assert drafter.cost == Cost(300, 0)


def test_the_same_words_again_are_the_same_text(drafter: Drafter, model_server: ModelServer):
    model_server.reply(TIDY.replace("\n", "\n\n"))
    assert drafter.propose(TIDY) == Draft(TIDY, TIDY)


def test_a_model_that_fails_is_the_callers_to_handle(drafter: Drafter, model_server: ModelServer):
    model_server.error(401)
    with pytest.raises(ModelError):
        drafter.propose(DUPLICATES)


def test_two_drafts_of_a_large_text_tell_the_same_of_their_portions(
    drafter: Drafter, model_server: ModelServer
):
    entries = large(400)
    text = memory(*entries[:390]) + "\n## Projects\n- a shed\n- a shed\n"

    def answer(request: Recorded) -> str:
        return "- a shed" if "a shed" in request.last_user else "- Prefers dark mode"

    model_server.default = Script(function=answer)
    first, second = drafter.propose(text), drafter.propose(text)
    assert first == second
    assert isinstance(first, Draft)
    assert first.notes.startswith("Left unchanged: Preferences:")
    assert first.after == text.replace("- a shed\n- a shed\n", "- a shed\n")
