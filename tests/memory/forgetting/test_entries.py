"""What a request to forget is about."""

from memory import embedding
from memory.forgetting.entries import would_remove

MEMORY = """# Long-term Memory

## Preferences
- Prefers trains over planes
- User requested: never uses sugar in coffee

## Notes
- The kitchen's budget is 9,000 euros
- Sister Ana lives in Porto
"""


def found(words: str, text: str = MEMORY) -> list[str]:
    return [entry.content for entry in would_remove(text, words, embedding.engine().embed_many)]


def test_entries_that_hold_the_words_are_found_whatever_their_case():
    assert found("TRAINS over planes") == ["Prefers trains over planes"]


def test_where_the_words_stand_nothing_that_is_only_alike_is_shown():
    assert found("Ana") == ["Sister Ana lives in Porto"]


def test_other_words_for_it_are_understood():
    assert found("how I take my coffee") == ["User requested: never uses sugar in coffee"]


def test_headings_and_blank_words_find_nothing():
    assert found("## Notes") == []
    assert found("  ") == []
    assert found("trains", "") == []


def test_something_else_finds_nothing():
    assert found("quantum chromodynamics") == []


def test_without_the_embedding_model_shared_words_do():
    entries = would_remove(MEMORY, "planes, trains and cars", lambda texts: [None] * len(texts))
    assert [entry.content for entry in entries] == ["Prefers trains over planes"]


def test_no_more_than_five_are_shown():
    many = "# Long-term Memory\n\n## Notes\n" + "".join(f"- Train number {n}\n" for n in range(9))
    assert len(found("train", many)) == 5
