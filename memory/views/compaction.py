"""The compaction page: how MEMORY.md stands, a preview before anything is written, past runs."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from memory.jobs import claims, ledger
from memory.jobs.ledger import Kind, Outcome
from memory.manager import MemoryManager
from memory.models import LedgerEntry, Proposal
from memory.triggers import MemoryTriggers
from memory.views import diff, frame
from memory.views.gauges import gauges
from people.access import UserRequest
from people.models import User


@login_required
@require_safe
def compaction(request: UserRequest) -> HttpResponse:
    """The page, or its changing part while a proposal is being made."""
    template = "memory/_compaction.html" if request.htmx else "memory/compaction.html"
    return render(request, template, state(request.user))


def state(user: User) -> dict[str, object]:
    text = MemoryManager(user).read_long_term_memory()
    proposal = Proposal.objects.filter(owner=user, applied_at=None).first()
    rows = LedgerEntry.objects.filter(owner=user, kind=Kind.COMPACTION)[:10]
    busy = claims.waiting(claims.compaction_proposal(user)) or any(
        row.outcome == Outcome.RUNNING for row in rows
    )
    return {
        "gauge": gauges(text)[-1],
        "empty": not text.strip(),
        "busy": busy,
        "last": ledger.last(user, Kind.COMPACTION),
        "rows": rows,
        "proposal": None if busy else proposal,
        "lines": diff.lines(proposal.before, proposal.after) if proposal else [],
    }


@login_required
@require_POST
def propose(request: UserRequest) -> HttpResponse:
    """Ask the model for a tidier text; nothing is written until its owner says yes."""
    Proposal.objects.filter(owner=request.user, applied_at=None).delete()
    MemoryTriggers(request.user).propose_compaction()
    if request.htmx:
        return frame.announced(render(request, "memory/_compaction.html", state(request.user)))
    return redirect("memory:compaction")


@login_required
@require_POST
def apply(request: UserRequest, proposal_id: int) -> HttpResponse:
    proposal = get_object_or_404(Proposal, owner=request.user, pk=proposal_id, applied_at=None)
    result = MemoryManager(request.user).apply_compaction(proposal)
    if result.outcome == Outcome.WRITTEN:
        messages.success(request, "Compacted. A backup of the old text is in the history.")
    else:
        messages.error(request, result.detail or "The text could not be written.")
    return redirect("memory:compaction")


@login_required
@require_POST
def discard(request: UserRequest, proposal_id: int) -> HttpResponse:
    get_object_or_404(Proposal, owner=request.user, pk=proposal_id, applied_at=None).delete()
    messages.success(request, "Discarded. MEMORY.md is unchanged.")
    return redirect("memory:compaction")
