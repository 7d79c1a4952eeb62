"""The times that a question names: dates, months, "last spring", "three days ago", "where did we leave off?".

Six languages, their words in languages.toml. Nothing is guessed: a word that may be something else ("may",
"second") counts only where its neighbours make it a date. Seasons are northern ones.
"""

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

from memory.search.languages import Language, language_of, languages
from oneclaw.text import WORD, fold, words_in

# A question is short. The dates of a long pasted text are not what it asks for.
LONGEST = 600
DAY, WEEK, MONTH, SEASON, YEAR = "day", "week", "month", "season", "year"
# What a chunk of a named time gains, by how closely the time is named.
BONUS = {DAY: 0.20, WEEK: 0.20, MONTH: 0.10, SEASON: 0.06, YEAR: 0.03}
# Whole months, the first of them March: a question says "last spring", and no calendar is consulted for it.
MONTHS_A_SEASON, FIRST_SEASON = 3, 3

ISO = re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)")
NUMERIC = re.compile(r"(?<!\d)(?P<a>\d{1,2})(?P<sign>[./])(?P<b>\d{1,2})[./](?P<y>\d{4})(?!\d)")
HAN_DATE = re.compile(
    r"(?:(?P<y>\d{4})年の?)?(?P<m>\d{1,2}|十[一二]?|[一二三四五六七八九])月(?:の?(?P<d>\d{1,2})[日号號])?(?![間间曜前])"
)
YEAR_ALONE = re.compile(
    r"\b(?:in|of|during|since|year|jahr|en|de|desde|ano|annee|depuis) (?P<y>(?:19|20)\d\d)\b(?![-./:])"
    r"|(?<!\d)(?P<h>(?:19|20)\d\d)年"
)
DIGIT = re.compile(r"\d")
# Whole as patterns see them: between two \b.
WHOLE_WORD = re.compile(r"\w+")
HAN_NUMBERS = {sign: number for number, sign in enumerate("一二三四五六七八九十", 1)} | {
    "十一": 11,
    "十二": 12,
}


@dataclass(frozen=True, slots=True)
class Period:
    """From one day to another; `yearly` was named without a year and is also the same time of other years."""

    first: date
    last: date
    grain: str
    yearly: bool = False

    def holds(self, day: date) -> bool:
        if not self.yearly:
            return self.first <= day <= self.last
        if self.grain == SEASON:
            return (day.month - self.first.month) % 12 < MONTHS_A_SEASON
        return day.month == self.first.month and (self.grain == MONTH or day.day == self.first.day)


@dataclass(frozen=True, slots=True)
class Times:
    """What a question says of time. `only` asks for nothing else: "what did we do yesterday?"."""

    periods: tuple[Period, ...] = ()
    # The last time there was anything: "where did we leave off?".
    left_off: bool = False
    only: bool = False
    # The question, folded, without its times: what else it is about.
    rest: str = ""

    def __bool__(self) -> bool:
        return bool(self.periods) or self.left_off

    def bonus(self, day: date | None) -> float:
        """What a chunk of this day gains."""
        if day is None:
            return 0.0
        return max((BONUS[period.grain] for period in self.periods if period.holds(day)), default=0.0)

    def names(self, day: date) -> bool:
        """Whether a day is of the time itself, and not only of the same time in another year."""
        return any(period.first <= day <= period.last for period in self.periods)

    @property
    def asks_for_a_time(self) -> bool:
        """Whether that time's log is the answer. A year alone is too long for that."""
        return self.only and (self.left_off or any(period.grain != YEAR for period in self.periods))


def times_of(question: str, today: date) -> Times:
    """The times that a question names, seen from the user's own today."""
    if len(question) > LONGEST:
        return Times()
    text = fold(question)
    language = languages().get(language_of(text))
    if language is None:
        return Times()
    others = (other for other in languages().values() if other is not language)
    words, has_digits = frozenset(WHOLE_WORD.findall(text)), DIGIT.search(text) is not None
    # A bare "gestern?" holds no word that is surely of a language.
    is_sure = language.dense or any(word in language.small for word in words_in(text))
    for each in (language, *others):
        if each.dense and text.isascii():
            # It has no words of theirs, and numbers are written alike in all.
            continue
        if each.dense or has_digits or time_words(each.code).may_be_in(words):
            found, left_off, rest = _read(text, each, today)
            if found or left_off:
                periods = tuple(dict.fromkeys(_within_weeks(found)))
                return Times(periods, left_off, only=_asks_for_nothing_else(rest, each), rest=rest)
        if is_sure:
            break
    return Times()


@dataclass(frozen=True, slots=True)
class TimeWords:
    """What stands in every text that names a time without a digit, in a language with spaces.

    Trying all patterns takes a quarter of a millisecond, and hardly any question names a time.
    """

    names: frozenset[str]
    phrases: tuple[frozenset[str], ...]

    def may_be_in(self, words: frozenset[str]) -> bool:
        return not self.names.isdisjoint(words) or any(phrase <= words for phrase in self.phrases)


@cache
def time_words(code: str) -> TimeWords:
    told = languages()[code].times
    lists = [*told["months"], *told["weekdays"], *told["seasons"]["names"], *told["units"].values()]
    phrases = [phrase for said in told["phrases"].values() for phrase in said.split(",")]
    return TimeWords(
        frozenset(word for said in lists for word in fold(said).split()),
        tuple(frozenset(WHOLE_WORD.findall(fold(phrase))) for phrase in phrases),
    )


def _read(text: str, language: Language, today: date) -> tuple[list[Period], bool, str]:
    """The periods, whether the last time is meant, and what is left of the text without them."""
    found, left_off = list[Period](), False
    for pattern, periods in grammar(language.code):

        def take(match: re.Match[str], periods: Reader = periods) -> str:
            nonlocal left_off
            said = periods(match, today)
            if said is None:
                return match[0]
            left_off = left_off or said == []
            found.extend(said)
            return " "

        text = pattern.sub(take, text)
    return found, left_off, text


def _asks_for_nothing_else(rest: str, language: Language) -> bool:
    left = language.without(rest, language.small_talk | language.talk)
    return not WORD.search(left)


def _within_weeks(found: list[Period]) -> list[Period]:
    """ "Monday last week" is one day: a weekday named together with its week."""
    weeks = [period for period in found if period.grain == WEEK]
    days = [period for period in found if period.grain == DAY]
    if len(weeks) != 1 or not days or len(days) + 1 != len(found):
        return found
    monday = weeks[0].first - timedelta(days=weeks[0].first.weekday())
    return [_day(monday + timedelta(days=period.first.weekday())) for period in days]


# A match to its periods: none for "the last time", None where it is no time after all.
Reader = Callable[["re.Match[str]", date], list[Period] | None]


@cache
def grammar(code: str) -> list[tuple[re.Pattern[str], Reader]]:
    """A language's patterns in the order in which they are tried; what one takes, the next doesn't see."""
    language = languages()[code]
    named = [*_dates(language), *_seasons(language), *_counted(language)]
    # Without spaces, "last week" is a part of "Monday last week".
    phrases = (
        [_weekdays(language), _phrases(language)]
        if language.dense
        else [_phrases(language), _weekdays(language)]
    )
    return [*named, *phrases, (YEAR_ALONE, _year)]


def _dates(language: Language) -> Iterator[tuple[re.Pattern[str], Reader]]:
    yield ISO, _written
    yield NUMERIC, _numeric
    if language.dense:
        yield HAN_DATE, _written_in_han
        return
    told = language.times
    months = {fold(name): at for at, names in enumerate(told["months"], 1) for name in names.split()}
    doubtful = set(fold(told["doubtful"]).split())
    name = f"(?P<name>{_any(months)})"

    def read(match: re.Match[str], today: date) -> list[Period] | None:
        parts = match.groupdict()
        year = int(parts["y"]) if parts.get("y") else None
        return _named(year, months[parts["name"]], int(parts["d"]) if parts.get("d") else None, today)

    year = r"(?:,? (?:de |del |of )?(?P<y>\d{4})(?!\d))?"
    yield (
        re.compile(rf"(?<![\d.:])(?P<d>\d{{1,2}})(?:\.|st|nd|rd|th|er|o)?,? (?:of |de )?{name}\b\.?{year}"),
        read,
    )
    yield re.compile(rf"\b{name}\.? (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]){year}"), read
    yield re.compile(rf"\b{name}\.?,? (?:de |del |of )?(?P<y>\d{{4}})(?!\d)"), read
    yield re.compile(rf"\b(?:{_any(fold(told['at']).split())}) {name}\b(?! \d)"), read
    sure = f"(?P<name>{_any(set(months) - doubtful)})"
    yield re.compile(rf"{_not_after(told, spaced=True)}\b{sure}\b"), read


def _seasons(language: Language) -> Iterator[tuple[re.Pattern[str], Reader]]:
    """A season with its year, the last one, this one, or the one that was last begun."""
    told = language.times["seasons"]
    names = {fold(name): at for at, said in enumerate(told["names"]) for name in said.split()}
    doubtful = set(fold(told.get("doubtful", "")).split())
    edge = "" if language.dense else r"\b"
    parts = {
        "season": f"(?P<name>{_any(names)})",
        "sure": f"(?P<name>{_any(set(names) - doubtful)})",
        "y": r"(?P<y>\d{4})(?!\d)",
    }

    def reader(meaning: str) -> Reader:
        def read(match: re.Match[str], today: date) -> list[Period] | None:
            year = int(match["y"]) if meaning == "year" else today.year
            if meaning.startswith("year "):
                year += int(meaning.removeprefix("year "))
            return _season(names[match["name"]], year, meaning, today)

        return read

    for meaning, said in told["phrases"].items():
        for phrase in said.split(" | "):
            yield re.compile(f"{edge}{fold(phrase.strip()).format(**parts)}{edge}"), reader(meaning)


def _season(number: int, year: int, meaning: str, today: date) -> list[Period] | None:
    """By its year; without one the last that is over, or that has begun. "This summer" in May is to come."""
    years = (year,) if meaning.startswith("year") else (year, year - 1, year - 2)
    for each in years:
        try:
            first, last = _months_of(number, each)
        except ValueError:
            return None
        begun, over = first <= today, last < today
        fits = {"last": over, "any": begun, "this": begun and (not over or each == today.year)}
        if fits.get(meaning, True):
            return [Period(first, last, SEASON, yearly=meaning == "any")]
    return None


def _months_of(number: int, year: int) -> tuple[date, date]:
    """A season's first and last day; winter ends in the year after the one it is named by."""
    first = date(year, FIRST_SEASON + MONTHS_A_SEASON * number, 1)
    months = year * 12 + first.month - 1 + MONTHS_A_SEASON - 1
    return first, _month_end(date(months // 12, months % 12 + 1, 1))


def _counted(language: Language) -> Iterator[tuple[re.Pattern[str], Reader]]:
    """So many days ago, and the last so many."""
    told = language.times
    numbers = {
        fold(word): number for number, words in enumerate(told["numbers"], 1) for word in words.split()
    }
    units = {fold(word): unit for unit, words in told["units"].items() for word in words.split()}

    def steps(match: re.Match[str]) -> tuple[int, str]:
        said = match["n"].strip()
        return int(said) if said.isdecimal() else numbers[said], units[match["unit"]]

    def ago(match: re.Match[str], today: date) -> list[Period] | None:
        number, unit = steps(match)
        return _stepped(today, unit, -number)

    def past(match: re.Match[str], today: date) -> list[Period] | None:
        number, unit = steps(match)
        back = _stepped(today, DAY, -number * {DAY: 1, WEEK: 7, MONTH: 30, YEAR: 365}[unit])
        grain = DAY if unit == DAY and number <= 7 else WEEK if number * (unit == WEEK) <= 2 else MONTH
        return back and [Period(back[0].first, today, grain)]

    gap, edge = ("", "") if language.dense else (r"(?: of)?", r"\b")
    parts = {
        "n": rf"(?P<n>\d{{1,3}}|{_any(numbers)}){gap}",
        "unit": f"(?P<unit>{_any(units)})",
    }
    for name, read in (("past", past), ("ago", ago)):
        yield re.compile(rf"{edge}{fold(told[name]).format(**parts)}{edge}"), read


def _phrases(language: Language) -> tuple[re.Pattern[str], Reader]:
    meanings = {
        fold(phrase.strip()): meaning
        for meaning, said in language.times["phrases"].items()
        for phrase in said.split(",")
    }
    edge = "" if language.dense else r"\b"

    def read(match: re.Match[str], today: date) -> list[Period] | None:
        meaning = meanings[match[0]]
        if meaning == "left off":
            return []
        unit, _, steps = meaning.partition(" ")
        return _stepped(today, unit, int(steps))

    return re.compile(f"{edge}(?:{_any(meanings)}){edge}"), read


def _weekdays(language: Language) -> tuple[re.Pattern[str], Reader]:
    days = {
        fold(word): number
        for number, words in enumerate(language.times["weekdays"])
        for word in words.split()
    }
    edge = "" if language.dense else r"\b"

    def read(match: re.Match[str], today: date) -> list[Period]:
        if match["week"]:
            return [_day(_monday(today, -1) + timedelta(days=days[match["name"]]))]
        # Asked on a Monday, "on Monday" was a week ago.
        back = (today.weekday() - days[match["name"]] - 1) % 7 + 1
        return [_day(today - timedelta(days=back))]

    week = _any(language.times.get("last_week", "").split()) or "(?!)"
    not_after = _not_after(language.times, spaced=not language.dense)
    return re.compile(f"{not_after}{edge}(?P<week>{week})?(?P<name>{_any(days)}){edge}"), read


def _not_after(told: dict[str, Any], *, spaced: bool) -> str:
    return "".join(f"(?<!{re.escape(word)}{' ' * spaced})" for word in fold(told["not_after"]).split())


def _any(words: Any) -> str:
    """One of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def _written(match: re.Match[str], today: date) -> list[Period] | None:
    return _named(int(match["y"]), int(match["m"]), int(match["d"]), today)


def _written_in_han(match: re.Match[str], today: date) -> list[Period] | None:
    month = HAN_NUMBERS.get(match["m"]) or int(match["m"])
    return _named(
        int(match["y"]) if match["y"] else None, month, int(match["d"]) if match["d"] else None, today
    )


def _numeric(match: re.Match[str], today: date) -> list[Period] | None:
    """3.5.2026 has its day first; 3/5/2026 has it first in one country and last in another, so it is both."""
    first, second, year = int(match["a"]), int(match["b"]), int(match["y"])
    orders = [(second, first)] if match["sign"] == "." else [(second, first), (first, second)]
    found = [period for month, day in orders for period in _named(year, month, day, today) or []]
    return found or None


def _year(match: re.Match[str], today: date) -> list[Period] | None:
    year = int(match["y"] or match["h"])
    return [Period(date(year, 1, 1), date(year, 12, 31), YEAR)]


def _named(year: int | None, month: int, day: int | None, today: date) -> list[Period] | None:
    """A day or a month by its name, without a year the latest that has begun; None for no day at all."""
    try:
        first = date(year or today.year, month, day or 1)
        if year is None and first > today:
            first = date(today.year - 1, month, day or 1)
    except ValueError:
        return None
    if day:
        return [Period(first, first, DAY, yearly=year is None)]
    return [Period(first, _month_end(first), MONTH, yearly=year is None)]


def _stepped(today: date, unit: str, steps: int) -> list[Period] | None:
    """The day, week, month or year so many steps from the present one."""
    try:
        if unit == DAY:
            return [_day(today + timedelta(days=steps))]
        if unit == YEAR:
            return [Period(date(today.year + steps, 1, 1), date(today.year + steps, 12, 31), YEAR)]
        if unit == MONTH:
            months = today.year * 12 + today.month - 1 + steps
            first = date(months // 12, months % 12 + 1, 1)
            return [Period(first, _month_end(first), MONTH)]
        monday = _monday(today, steps)
    except (ValueError, OverflowError):
        return None
    if unit == WEEK:
        # To some, last week is the seven days before today.
        last = today - timedelta(days=1) if steps == -1 else monday + timedelta(days=6)
        return [Period(monday, max(last, monday), WEEK)]
    saturday = monday + timedelta(days=5)
    return [Period(saturday, saturday + timedelta(days=1), DAY)]


def _monday(today: date, steps: int) -> date:
    return today - timedelta(days=today.weekday()) + timedelta(weeks=steps)


def _day(day: date) -> Period:
    return Period(day, day, DAY)


def _month_end(first: date) -> date:
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])
