"""How well and how fast memory finds: recall, judgement, other languages, time."""
