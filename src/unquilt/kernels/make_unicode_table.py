"""Write unicode_words.npz: which characters make words, and what each folds to.

The table is made once and shipped, so that every Python finds the same words. Remaking it with another
Unicode version changes the words of existing corpora:

    python -m unquilt.kernels.make_unicode_table
"""

import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt

CODE_POINTS = 0x110000
NOT_WORD, WORD, MARK, SINGLE = 0, 1, 2, 3

UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x0F00, 0x109F),
    (0x1780, 0x17FF),
    (0x19E0, 0x19FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303B),
    (0x3040, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
"""Scripts written without spaces, first and last code point: each of their characters is a word."""


def character_class(character: str) -> int:
    """NOT_WORD, WORD (joins its neighbors), MARK (continues a word only) or SINGLE (a word of its own)."""
    if character.isalnum():
        code = ord(character)
        return SINGLE if any(first <= code <= last for first, last in UNSPACED) else WORD
    return MARK if unicodedata.category(character).startswith("M") else NOT_WORD


def fold(character: str) -> str:
    """The character without its case, always one character."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def runs(values: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Lengths and values of the runs of equal values."""
    begins = np.flatnonzero(np.diff(values, prepend=255 - values[0]))
    return np.diff(begins, append=len(values)).astype(np.int32), values[begins]


def write_table(path: Path) -> None:
    """Write the table of the running Python's Unicode version to path."""
    characters = [chr(code) for code in range(CODE_POINTS)]
    classes = np.array([character_class(character) for character in characters], np.uint8)
    assigned = np.array([unicodedata.category(character) != "Cn" for character in characters], np.uint8)
    folded = np.array([ord(fold(character)) for character in characters], np.int32)
    cased = np.flatnonzero(folded != np.arange(CODE_POINTS)).astype(np.int32)
    class_lengths, class_values = runs(classes)
    assigned_lengths, assigned_values = runs(assigned)
    np.savez_compressed(
        path,
        unicode_version=np.array(unicodedata.unidata_version),
        class_lengths=class_lengths,
        class_values=class_values,
        assigned_lengths=assigned_lengths,
        assigned_values=assigned_values,
        cased=cased,
        folded=folded[cased],
    )


if __name__ == "__main__":
    write_table(Path(__file__).with_name("unicode_words.npz"))
