"""Hostile texts: for columns, groups, predictors, classes, titles, file names and options of the command line."""

TEXTS: dict[str, str] = {
    "empty": "",
    "a space": " ",
    "spaces around": "  p  ",
    "quotes": 'it\'s "quoted" `so` [and] $so$',
    "SQL": '"; DROP TABLE t;--',
    "SQL with a backslash": "x\\' OR 1=1 --",
    "a comment of SQL": "p/*",
    "a percent sign": "%s%n%d",
    "braces": "{{7*7}}{0}{__class__}",
    "a script": "<script>alert(1)</script>",
    "an image": '"><img src=x onerror=alert(1)>',
    "the end of a script": "</script><!--",
    "an address": "javascript:alert(1)",
    "an entity": "&lt;&amp;&#x41;",
    "mathematics of TeX": "$x^$",
    "an underscore first": "_hidden",
    "a formula": '=cmd|"/c calc"!A1',
    "a path": "../../etc/passwd",
    "an option": "--help",
    "a pattern": "[a-z]*?",
    "a terminal's colour": "\x1b[31mred\x1b[0m",
    "a terminal's title": "\x1b]0;title\x07",
    "a bell and a backspace": "a\x07\x08b",
    "a line end": "two\nlines",
    "a line end of Windows": "two\r\nlines",
    "a tab": "a\tb",
    "a line separator": "a\u2028b\u2029c",
    "from right to left": "\u202egnp.exe",
    "zero width": "a\u200bb\ufeffc",
    "a letter composed": "\u00e9",
    "a letter decomposed": "e\u0301",
    "beyond the first plane": "😀𝕏",
    "a number": "1e5",
    "not a number": "nan",
    "none": "None",
    "long": "x" * 10_000,
    "a comma and a semicolon": "a,b;c",
}
# Not text that can be encoded, or not that a file system or a shell can pass on.
UNWRITABLE: dict[str, str] = {"a zero byte": "a\0b", "a lone surrogate": "a\ud800b"}
ALL = TEXTS | UNWRITABLE


def is_shown_safely(text: str) -> bool:
    """Whether what is printed holds no control character but line ends."""
    return all(letter.isprintable() or letter == "\n" for letter in text)
