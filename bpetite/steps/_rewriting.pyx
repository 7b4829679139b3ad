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


cdef class Rewriter:
    """Rewrites text, between special tokens."""

    cdef Py_ssize_t closed(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil:
        return n

    cdef bint keeps(self, const uint8_t* text, Py_ssize_t n) noexcept nogil:
        return False

    cdef bint append(self, const uint8_t* text, Py_ssize_t n, bp_buffer* out) noexcept nogil:
        return False

    def beginning(self, bytes text not None, bint final=False):
        """(what the beginning of a text becomes whatever follows, its length in bytes); all of a `final` text."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text)
        cdef bp_buffer out = bp_buffer(NULL, 0, 0)
        cdef bint made
        try:
            with nogil:
                n = self.closed(data, n, final)
                made = self.append(data, n, &out)
            if not made:
                raise MemoryError()
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
        self.keeps_ascii = True
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

    cdef Py_ssize_t closed(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil:
        return bp_form_closed(&self.form, text, n, final)

    cdef bint keeps(self, const uint8_t* text, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t start, end
        return not bp_form_find(&self.form, text, 0, n, &start, &end)

    cdef bint append(self, const uint8_t* text, Py_ssize_t n, bp_buffer* out) noexcept nogil:
        return bp_form_rewrite(&self.form, text, n, out)

    def align(self, str text not None):
        """The text in the form, and for each of its characters the index of its origin in the text: it takes the place
        of the next unused character and of those that it joins; an added one shares the place of the one before.

        Sources: ``transform_range`` of ``normalizer.rs`` in https://github.com/huggingface/tokenizers, and ``recompose.rs``
        in https://github.com/n1t0/unicode-normalization

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
