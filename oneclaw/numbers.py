"""Numbers that come from outside: in addresses, forms and names that pages hand back."""


def number(text: str, digits: int = 18) -> int | None:
    """A whole number that fits a row's id; None for anything else.

    `²` is a digit to Python but no number, and more than 4,300 digits are an error.
    """
    return int(text) if text.isdecimal() and len(text) <= digits else None
