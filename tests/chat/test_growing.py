"""A growing text: finished blocks are drawn once and never change, however the text arrives."""

import random

from chat import markdown
from chat.markdown import Growing
from chat.replies.running import whole

TEXT = """# Bridges

They **stand** on `piers`:

- one
- two

  with more

1. first
2. second

```python
def span():

    return 1
```

| a | b |
|---|---|
| 1 | 2 |

> quoted
> twice

The end, with a [link](https://example.org).
"""


def test_blocks_once_closed_never_change_and_nothing_is_lost():
    chooser = random.Random(7)
    for _ in range(20):
        growing, text, before = Growing(), "", list[str]()
        while text != TEXT:
            text = TEXT[: len(text) + chooser.randint(1, 25)]
            growing.update(text)
            assert growing.closed[: len(before)] == before
            before = list(growing.closed)
        assert "".join([*growing.closed, growing.tail]).split() == str(markdown.render(TEXT)).split()


def test_line_ends_of_other_systems_close_blocks_too():
    growing = Growing()
    for text in ("One.\r", "One.\r\n\r\nTwo", "One.\r\n\r\nTwo.\r\n\r\nThree"):
        growing.update(text)
    assert len(growing.closed) == 2
    assert "Three" in growing.tail


def test_an_unchanged_text_is_not_drawn_again():
    growing = Growing()
    growing.update("One.\n\nTwo")
    growing.update("One.\n\nTwo")
    assert len(growing.closed) == 1


def test_halves_of_a_character_are_joined():
    assert whole(["a\ud83d", "\ude00b"]) == "a😀b"
    assert whole(["a\ud83d", "b"]) == "a\ufffdb"
