def plain_texts(data: bytes, start: int, end: int, key: bytes, texts: list[bytes]) -> tuple[int, int]:
    """Append the texts of lines up to the first that is not a JSON object with a string at a key, or is unusual in any
    other way, such as one with that key twice.

    Args:
        data: JSON lines.
        start, end: Where they start and end in it.
        key: In UTF-8.
        texts: Takes the texts, in UTF-8; blank lines have none.

    Returns:
        The number of lines that were read, and where the next one starts.
    """
