"""The tool that tells a model what time it is where the user is."""

from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from oneclaw.toolkit import Tool, ToolContext, ToolResult


def tell(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    try:
        zone = ZoneInfo(arguments["time_zone"]) if arguments.get("time_zone") else context.user.zone
    except (ValueError, OSError, KeyError):
        return ToolResult.error(
            "validation_error",
            "time_zone must be an IANA name such as Europe/Lisbon: leave it out if unsure.",
        )
    now = timezone.now().astimezone(zone)
    return ToolResult(f"{now:%A, %Y-%m-%d %H:%M:%S} ({zone.key}, UTC{now.isoformat()[-6:]})")


GET_CURRENT_TIME = Tool(
    name="get_current_time",
    description=(
        "Tells the current date, time and weekday in the user's time zone, or in another one. "
        "Use it whenever an answer depends on what day or time it is."
    ),
    parameters={
        "type": "object",
        "properties": {
            "time_zone": {
                "type": "string",
                "maxLength": 64,
                "description": "An IANA time zone such as Asia/Tokyo; the user's own if left out.",
            }
        },
        "required": [],
    },
    run=tell,
    timeout=5.0,
)
