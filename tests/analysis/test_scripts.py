"""Scripts of characters."""
from bpetite.analysis.scripts import scripts_of
from bpetite.splitting.pattern.unicode_data import UNICODE


def test_scripts_have_the_unicode_version_of_split_patterns() -> None:
    """Whatever version the installed `regex` has."""
    assert UNICODE == "16.0"
    since_16, since_17 = "\u1c89", "\u0c5c"  # a Cyrillic and a Telugu letter
    assert scripts_of(since_16 + since_17 + "a\u0c15-") == {"\u1c89": "Cyrillic", "a": "Latin", "\u0c15": "Telugu"}
