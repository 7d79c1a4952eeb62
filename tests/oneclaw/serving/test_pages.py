"""Pages go first, and what makes replies goes on all the same."""

import threading
import time

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from oneclaw.serving import pages
from oneclaw.serving.pages import Line, PagesFirst


def test_other_work_waits_until_the_page_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "COURTESY", 60)
    line, order = Line(), list[str]()
    line.enter()

    def work() -> None:
        line.let_pages_pass()
        order.append("work")

    thread = threading.Thread(target=work)
    thread.start()
    order.append("page")
    line.leave()
    thread.join(60)
    assert order == ["page", "work"]


def test_however_many_pages_there_are_other_work_goes_on() -> None:
    line = Line()
    line.enter()
    line.let_pages_pass()
    with line.turn():
        pass


def test_a_few_messages_are_taken_in_at_once() -> None:
    line, together, most = Line(), list[int](), list[int]()

    def send(number: int) -> None:
        with line.turn():
            together.append(number)
            most.append(len(together))
            time.sleep(0.01)
            together.remove(number)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(most) == 12
    assert max(most) <= pages.SENDING


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(pages.line._pages))


async def stream(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@pytest.mark.parametrize(
    ("method", "view", "counted"), [("GET", page, 1), ("POST", page, 0), ("GET", stream, 0)]
)
def test_pages_are_counted_while_they_are_made(
    monkeypatch: pytest.MonkeyPatch, method: str, view: object, counted: int
) -> None:
    monkeypatch.setattr(pages, "line", Line())
    request = RequestFactory().generic(method, "/")

    def answer(request: HttpRequest) -> HttpResponse:
        first.process_view(request, view, (), {})  # type: ignore[arg-type]
        return page(request)

    first = PagesFirst(answer)
    assert first(request).content == str(counted).encode()  # type: ignore[attr-defined]
    assert pages.line._pages == 0


def test_a_page_that_fails_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "line", Line())

    def fail(request: HttpRequest) -> HttpResponse:
        first.process_view(request, page)
        raise ValueError

    first = PagesFirst(fail)
    with pytest.raises(ValueError):
        first(RequestFactory().get("/"))
    assert pages.line._pages == 0
