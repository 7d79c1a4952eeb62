"""The calendar and the growth line, small enough to check by eye."""

from datetime import date, timedelta

from memory.views.charts import growth_line, level, year_calendar

TODAY = date(2026, 3, 4)  # a Wednesday


def test_the_calendar_ends_today_and_begins_on_a_monday() -> None:
    calendar = year_calendar({}, TODAY)
    assert calendar.days[-1].date == TODAY
    assert calendar.days[0].date.weekday() == 0
    assert len(calendar.days) == 52 * 7 + 3


def test_the_busiest_day_is_darkest_and_an_empty_one_is_blank() -> None:
    busy, quiet = TODAY, TODAY - timedelta(days=1)
    calendar = year_calendar({busy: 8, quiet: 1}, TODAY)
    levels = {day.date: day.level for day in calendar.days}
    assert levels[busy] == 4
    assert levels[quiet] == 1
    assert levels[TODAY - timedelta(days=2)] == 0


def test_the_legend_shows_only_the_shades_that_there_are() -> None:
    assert year_calendar({TODAY: 1}, TODAY).levels == [0, 4]
    assert year_calendar({TODAY: 2}, TODAY).levels == [0, 2, 4]
    assert year_calendar({TODAY: 9}, TODAY).levels == [0, 1, 2, 3, 4]


def test_every_second_weekday_is_named_beside_its_row() -> None:
    calendar = year_calendar({}, TODAY)
    tops = {day.date.weekday(): day.y for day in calendar.days}
    assert [(each.name, each.y) for each in calendar.weekdays] == [
        ("Mon", tops[0] + 9),
        ("Wed", tops[2] + 9),
        ("Fri", tops[4] + 9),
    ]


def test_levels_are_quarters_of_the_most() -> None:
    assert [level(n, 8) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8)] == [0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_line_runs_from_the_left_edge_to_the_right() -> None:
    line = growth_line([(TODAY - timedelta(days=10), 1.0), (TODAY, 4.0)], width=100, height=40)
    assert line is not None
    assert line.points == "0.0,30.0 100.0,0.0"
    assert line.area == "0,40 0.0,30.0 100.0,0.0 100,40"


def test_one_day_is_no_line() -> None:
    assert growth_line([(TODAY, 4.0)]) is None
