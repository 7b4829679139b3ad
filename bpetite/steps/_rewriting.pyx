"""Text rewritten before it is encoded: only what changes is looked at, the rest is copied."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from ..headers.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

cdef extern from "headers/normal_form.h" nogil:
    enum:
        BP_FORM_CODES
        BP_FORM_FAILS
        BP_FORM_ENTRY
        BP_FORM_FEW
        BP_SYLLABLES
        BP_SYLLABLES_END
        BP_VOWELS
        BP_TRAILING

    ctypedef struct bp_form_char:
        uint32_t code
        int change

    void bp_form_let_pass(bp_form* form, uint32_t code) noexcept
    void bp_form_add_pair(bp_form* form, uint32_t first, uint32_t second, uint32_t joined) noexcept
    bint bp_form_find(const bp_form* form, const uint8_t* text, Py_ssize_t at, Py_ssize_t n, Py_ssize_t* start,
                      Py_ssize_t* end) noexcept
    bp_form_char* bp_form_chars(const bp_form* form, const uint8_t* text, Py_ssize_t n, bp_form_char* few,
                                Py_ssize_t* count) noexcept
    Py_ssize_t bp_form_closed(const bp_form* form, const uint8_t* text, Py_ssize_t n, bint final) noexcept
    bint bp_form_rewrite(const bp_form* form, const uint8_t* text, Py_ssize_t n, bp_buffer* out) noexcept


cdef extern from "headers/charsmap.h" nogil:
    ctypedef struct bp_replacement:
        Py_ssize_t start, end
        const uint8_t* made

    void bp_charsmap_begin(bp_charsmap* map) noexcept
    Py_ssize_t bp_charsmap_find(const bp_charsmap* map, const uint8_t* text, Py_ssize_t n, bint shortest,
                                const uint8_t** made) noexcept
    bint bp_charsmap_next(const bp_charsmap* map, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t n,
                          bp_replacement* found) noexcept
    Py_ssize_t bp_charsmap_rewrite(const bp_charsmap* map, const uint8_t* text, Py_ssize_t n, bint final,
                                   bp_buffer* out) noexcept
    Py_ssize_t bp_charsmap_trailing(const bp_charsmap* map, const bp_buffer* out) noexcept

cdef enum:
    LONGEST_MADE = 64      # bytes of a replacement


cdef class Rewriter:
    """Rewrites text, between special tokens."""

    cdef Py_ssize_t kept(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil:
        return -1

    cdef Py_ssize_t append(self, const uint8_t* text, Py_ssize_t n, bint final, bp_buffer* out) noexcept nogil:
        return -1

    cdef Py_ssize_t trailing(self, const bp_buffer* out) noexcept nogil:
        return 0

    def beginning(self, bytes text not None, bint final=False):
        """(what the beginning of a text becomes whatever follows, its length in bytes); all of a `final` text."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text)
        cdef bp_buffer out = bp_buffer(NULL, 0, 0)
        try:
            with nogil:
                n = self.append(data, n, final, &out)
            if n < 0:
                raise MemoryError()
            if final:
                out.filled -= self.trailing(&out)
            return PyBytes_FromStringAndSize(<const char*> out.bytes, out.filled), n
        finally:
            free(out.bytes)

    def __call__(self, str text not None):
        """Rewrite a whole text."""
        if self.keeps_ascii and text.isascii():
            return text
        return self.beginning(text.encode("utf-8"), True)[0].decode("utf-8")


cdef class NormalForm(Rewriter):
    """A normal form of Unicode.

    Args:
        composes: It composes characters, as NFC and NFKC do.
        marks: combining class -> the characters of this class.
        decomposed: character -> what it decomposes to, in the end.
        pairs: two characters -> the one that they compose to.
    """

    def __cinit__(self, bint composes, dict marks, dict decomposed, dict pairs):
        cdef uint32_t code
        cdef Py_ssize_t number = 0, at = 0
        cdef dict classes = {mark: mark_class for mark_class, some in marks.items() for mark in some}
        # those that the form does not change, but may after others, have an entry, too
        cdef dict entries = {pair[1]: pair[1] for pair in pairs} | decomposed if composes else decomposed
        cdef set kept = set(pairs.values()) if composes else set()
        self.keeps_ascii = self.in_place = True
        self.form.composes = composes
        self.form.values = <uint16_t*> calloc(BP_FORM_CODES, sizeof(uint16_t))
        self.form.starts = <uint32_t*> malloc((len(entries) + 1) * sizeof(uint32_t))
        self.form.decomposed = <uint32_t*> malloc(sum(map(len, entries.values())) * sizeof(uint32_t))
        if self.form.values == NULL or self.form.starts == NULL or self.form.decomposed == NULL:
            raise MemoryError()
        for char, mark_class in classes.items():
            self.form.values[ord(char)] = mark_class
        for char, made in entries.items():
            self.form.values[ord(char)] = (BP_FORM_ENTRY + number) | (0 if char in kept else BP_FORM_FAILS)
            self.form.starts[number] = at
            for one in made:
                self.form.decomposed[at] = ord(one) | <uint32_t> classes.get(one, 0) << 24
                at += 1
            number += 1
        self.form.starts[number] = at
        for first, last in [(BP_VOWELS, BP_VOWELS + 21), (BP_TRAILING + 1, BP_TRAILING + 28)] if composes else [
                (BP_SYLLABLES, BP_SYLLABLES_END)]:
            for code in range(first, last):
                self.form.values[code] = BP_FORM_FAILS
        if composes:
            for pair, char in pairs.items():
                bp_form_add_pair(&self.form, ord(pair[0]), ord(pair[1]), ord(char))
        for code in range(0x80, BP_FORM_CODES):
            if self.form.values[code] and (self.form.values[code] & BP_FORM_FAILS
                                           or self.form.values[code] < BP_FORM_ENTRY):
                bp_form_let_pass(&self.form, code)

    def __dealloc__(self):
        free(self.form.values)
        free(self.form.starts)
        free(self.form.decomposed)

    cdef Py_ssize_t kept(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil:
        cdef Py_ssize_t start, end
        n = bp_form_closed(&self.form, text, n, final)
        return -1 if bp_form_find(&self.form, text, 0, n, &start, &end) else n

    cdef Py_ssize_t append(self, const uint8_t* text, Py_ssize_t n, bint final, bp_buffer* out) noexcept nogil:
        n = bp_form_closed(&self.form, text, n, final)
        return n if bp_form_rewrite(&self.form, text, n, out) else -1

    def align(self, str text not None):
        """The text in the form, and for each of its characters the index of its origin in the text: it takes the place
        of the next unused character and of those that it joins; an added one shares the place of the one before.

        Sources: ``transform_range`` of ``normalizer.rs`` in https://github.com/huggingface/tokenizers, and
        ``recompose.rs`` in https://github.com/n1t0/unicode-normalization

        >>> from bpetite.steps.normalizers import normal_form
        >>> normal_form("NFC").align("cafe\\u0301s")
        ('cafés', [0, 1, 2, 3, 5])
        """
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t* given = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(data), at = 0, start, end, count, i, place = 0
        cdef bp_form_char few[BP_FORM_FEW]
        cdef bp_form_char* chars
        cdef list parts = [], sources = []
        while bp_form_find(&self.form, given, at, n, &start, &end):
            same = data[at:start].decode("utf-8")
            parts.append(same)
            sources += range(place, place + len(same))
            place += len(same)
            chars = bp_form_chars(&self.form, given + start, end - start, few, &count)
            if chars == NULL:
                raise MemoryError()
            first = place
            for i in range(count):
                parts.append(chr(chars[i].code & 0xFFFFFF))
                sources.append(max(place - 1, first) if chars[i].change > 0 else place)
                place += 1 - chars[i].change
            if chars != few:
                free(chars)
            at = end
        if not parts:
            return text, range(len(text))
        parts.append(data[at:].decode("utf-8"))
        return "".join(parts), [*sources, *range(place, len(text))]


cdef class CharsMap(Rewriter):
    """A map of SentencePiece.

    Args:
        data: The map as its files hold it: the size of the double array, its units, the replacements; empty for none.
        trims: Remove spaces from both ends of a text, and collapse runs of spaces.
        prefix_first: A prefix comes before a text, also if that becomes nothing.
        first: Rewrites a text before this map of single characters; or None.

    Raises:
        ValueError: It is no map, or damaged.
    """

    def __cinit__(self, bytes data, bint trims=False, bint prefix_first=False, Rewriter first=None):
        cdef Py_ssize_t i, size = int.from_bytes(data[:4], "little")
        cdef const uint8_t* unit
        self.data, self.map.trims, self.prefix_first, self.first = data, trims, prefix_first, first
        if data:
            made = data[4 + size:]
            if not 0 < size <= len(data) - 4 or size % 4 or (made and not made.endswith(b"\0")):
                raise ValueError(f"{len(data)} bytes, {size} of them the double array")
            made.decode("utf-8")
            if max(map(len, made.split(b"\0"))) > LONGEST_MADE:
                raise ValueError(f"a replacement of more than {LONGEST_MADE} bytes")
            self.units = <uint32_t*> malloc(size)
            if self.units == NULL:
                raise MemoryError()
            for i in range(size // 4):
                unit = <const uint8_t*> PyBytes_AS_STRING(data) + 4 + 4 * i
                self.units[i] = unit[0] | <uint32_t> unit[1] << 8 | <uint32_t> unit[2] << 16 | <uint32_t> unit[3] << 24
            self.map.units, self.map.count = self.units, size // 4
            self.map.made = <const uint8_t*> PyBytes_AS_STRING(data) + 4 + size
            self.map.length = len(made)
        bp_charsmap_begin(&self.map)

    def __dealloc__(self):
        free(self.units)

    cdef Py_ssize_t append(self, const uint8_t* text, Py_ssize_t n, bint final, bp_buffer* out) noexcept nogil:
        cdef bp_buffer made = bp_buffer(NULL, 0, 0)
        if self.first is None:
            return bp_charsmap_rewrite(&self.map, text, n, final, out)
        n = self.first.append(text, n, final, &made)
        if n >= 0 and bp_charsmap_rewrite(&self.map, made.bytes, made.filled, True, out) < 0:
            n = -1
        free(made.bytes)
        return n

    cdef Py_ssize_t trailing(self, const bp_buffer* out) noexcept nogil:
        return bp_charsmap_trailing(&self.map, out)

    def find(self, str text, bint shortest=False):
        """The replacement of the longest string, or the shortest, with which a text begins, and the characters of that
        string; None if there is none."""
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t* made
        cdef Py_ssize_t n = bp_charsmap_find(&self.map, <const uint8_t*> PyBytes_AS_STRING(data),
                                             PyBytes_GET_SIZE(data), shortest, &made)
        return ((<const char*> made).decode("utf-8"), len(data[:n].decode("utf-8"))) if n else None

    def replacements(self, str text, kept=None):
        """[(start, end, replacement), ...] of the strings that are replaced in a text, in characters. Matches of
        `kept`, a regular expression or None, stay as they are."""
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t* given = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(data), at = 0, place = 0, size
        cdef bp_replacement found
        cdef list made = []
        while bp_charsmap_next(&self.map, given, at, n, n, &found):
            stays = None if kept is None else kept.search(text, place)
            place += len(data[at:found.start].decode("utf-8"))
            if stays is not None and stays.start() <= place and stays.start() < stays.end():
                found.start += len(text[place:stays.end()].encode("utf-8"))
                at, place = max(found.start, at + 1), max(stays.end(), place)
                continue
            size = len(data[found.start:found.end].decode("utf-8"))
            made.append((place, place + size, (<const char*> found.made).decode("utf-8")))
            place += size
            at = found.end
        return made
