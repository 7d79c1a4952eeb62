"""How many tokens a message may cost, near enough to decide what fits into a model's window."""

from chat.adapters import Turn
from oneclaw.tokens import estimate

__all__ = ["PER_TURN", "estimate", "of_turn"]

# What the frame of one message costs in any protocol.
PER_TURN = 4


def of_turn(turn: Turn) -> int:
    calls = sum(estimate(call.name) + estimate(str(call.arguments)) for call in turn.tool_calls)
    results = sum(estimate(result.content) for result in turn.tool_results)
    return PER_TURN + estimate(turn.text) + calls + results
