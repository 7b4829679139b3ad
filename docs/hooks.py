"""What mkdocs takes from elsewhere: the home page is README.md, the changelog CHANGELOG.md."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/bpetite/bpetite/blob/main/"

#: A page -> the file of the repository that it shows.
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}

#: The start of a link or picture of a file in the repository.
LINK = re.compile(r"\]\((?!https?:|#)(docs/)?")


def target(link: re.Match[str]) -> str:
    """A page of the site stays one; any other file is in the repository."""
    return "](" if link[1] else f"]({REPOSITORY}"


def on_page_markdown(markdown: str, *, page: Any, **kwargs: Any) -> str:
    source = PAGES.get(page.file.src_uri)
    if source is not None:
        return LINK.sub(target, (ROOT / source).read_text(encoding="utf-8"))
    # GitHub's tables need a backslash before a pipe in code, which Python-Markdown would print
    return re.sub(r"^\|.*$", lambda row: row[0].replace(r"\|", "|"), markdown, flags=re.M)
