"""Foreign text made fit for a terminal and a line-based file. Decides nothing but how a character is shown."""

#: Longest foreign text that is shown whole, in characters: about six lines of a terminal.
SHOWN = 500


def printable(text: str) -> str:
    """
    The text with every character that does not print as itself written as its escape.

    That takes in control characters, terminal escapes (the 8-bit ones too), line breaks, direction marks and halves of
    characters, so that what an agent says can neither move the cursor nor end a line nor fail to encode.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def excerpt(text: str, longest: int = SHOWN) -> str:
    """The text as `printable` gives it, cut where it is longer, with its length."""
    if len(text) <= longest:
        return printable(text)
    return f"{printable(text[:longest])}… ({len(text)} characters)"


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
