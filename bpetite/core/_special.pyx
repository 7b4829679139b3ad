"""Special tokens: the set that a call recognises or refuses, and their search in UTF-8.

The leftmost occurrence counts, and at one offset the longest. A sieve on two bytes (sieve.h) passes over ordinary text;
where it stops, a binary search finds the literals that the text begins with. Loading only sorts, so 100,000 literals
take a fraction of a second. Rejected: one regular expression of all literals (seconds to compile, and slower with their
number); a trie of hash tables (fast, but a hundred bytes for each byte of the literals).
"""
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from ..headers cimport token_t
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from ..errors import not_a_text, short_repr

cdef extern from "headers/sieve.h" nogil:
    void bp_sieve_add(bp_sieve* sieve, uint8_t first, uint8_t second) noexcept
    Py_ssize_t bp_sieve_next(const bp_sieve* sieve, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop,
                             Py_ssize_t length) noexcept

cdef enum:
    SUBSETS = 16           # sets of special tokens whose finders are kept


cdef class Specials:
    """Special tokens, ready to be found.

    Args:
        special_tokens: literal -> id; no literal is empty or holds a lone surrogate.
    """

    def __cinit__(self, special_tokens):
        cdef Py_ssize_t total = 0, i
        cdef bytes data
        cdef int second
        self.literals = tuple(sorted(special_tokens))  # in the order of their bytes
        self.size = len(self.literals)
        for literal in self.literals:
            data = str.encode(literal, "utf-8")
            total += PyBytes_GET_SIZE(data)
            self.longest = max(self.longest, PyBytes_GET_SIZE(data))
            self.shortest = min(self.shortest or self.longest, PyBytes_GET_SIZE(data))
        if self.size and not self.shortest:
            raise ValueError("a special token must not be empty")
        self.blob = <uint8_t*> malloc(total + 1)
        self.starts = <uint64_t*> malloc((self.size + 1) * sizeof(uint64_t))
        self.ids = <token_t*> malloc((self.size + 1) * sizeof(token_t))
        self.sieve = <bp_sieve*> calloc(1, sizeof(bp_sieve))
        if self.blob == NULL or self.starts == NULL or self.ids == NULL or self.sieve == NULL:
            raise MemoryError()
        self.starts[0] = 0
        for i in range(self.size):
            data = str.encode(self.literals[i], "utf-8")
            total = self.starts[i]
            self.starts[i + 1] = total + PyBytes_GET_SIZE(data)
            self.ids[i] = special_tokens[self.literals[i]]
            memcpy(self.blob + total, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            second = self.blob[total + 1] if PyBytes_GET_SIZE(data) > 1 else -1
            for second in range(max(second, 0), second + 1 if second >= 0 else 256):
                bp_sieve_add(self.sieve, self.blob[total], <uint8_t> second)
            self.firsts[self.blob[total] + 1] = i + 1
        for second in range(256):
            self.firsts[second + 1] = max(self.firsts[second], self.firsts[second + 1])

    def __dealloc__(self):
        free(self.blob)
        free(self.starts)
        free(self.ids)
        free(self.sieve)

    def __len__(self):
        return self.size

    def cut(self, const uint8_t[::1] text not None):
        """[(start, end, id), ...] of the special tokens in a text, in bytes.

        >>> Specials({"<s>": 7}).cut(b"a<s><s")
        [(1, 4, 7)]
        """
        return self.cut_beginning(text, True)[0]

    def cut_beginning(self, const uint8_t[::1] text not None, bint final=False):
        """The certain special tokens of a text that may go on, as for :meth:`cut`, and the end of the certain part.

        >>> Specials({"<s>": 7}).cut_beginning(b"a<s><s")
        ([(1, 4, 7)], 4)
        """
        cdef Py_ssize_t at = 0, start, limit = -1, which = 0, length = text.shape[0]
        cdef const uint8_t* data = &text[0] if length else NULL
        cdef list tokens = []
        while True:
            start = self.find_certain(data, at, length, final, &limit, &which)
            if start < 0:
                return tokens, limit
            at = start + size_of(self, which)
            tokens.append((start, at, self.ids[which]))

    def spans(self, str text not None):
        """[(start, end, id), ...] of the special tokens in a text, in characters.

        >>> Specials({"<s>": 7}).spans("é<s><s")
        [(1, 4, 7)]
        """
        cdef bytes data = text.encode("utf-8")
        cdef list tokens = self.cut(data), spans = []
        cdef Py_ssize_t at = 0, chars = 0, length
        if PyBytes_GET_SIZE(data) == len(text):
            return tokens
        for start, end, token_id in tokens:
            chars += len(data[at:start].decode("utf-8"))
            length = len(data[start:end].decode("utf-8"))
            spans.append((chars, chars + length, token_id))
            chars += length
            at = end
        return spans

    cpdef int refuse(self, object text, Py_ssize_t base=0, str unit="offset") except -1:
        """Raise ValueError if one of these is in a str or bytes, with its offset from `base`."""
        cdef bytes data
        cdef Py_ssize_t at, which = 0
        if not isinstance(text, (str, bytes)):
            raise not_a_text(text)
        data = str.encode(text, "utf-8") if isinstance(text, str) else bytes(text)
        at = PyBytes_GET_SIZE(data)
        at = find_before(self, <const uint8_t*> PyBytes_AS_STRING(data), 0, at, at, &which)
        if at < 0:
            return 0
        at = len(data[:at].decode("utf-8")) if isinstance(text, str) else at
        raise ValueError(f"the text holds the disallowed special token {self.literals[which]!r} at {unit} {base + at}; "
                         f"allow it (allowed_special) or take the text as it is (disallowed_special=())")

    cdef Py_ssize_t find_certain(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, bint final,
                                 Py_ssize_t* limit, Py_ssize_t* which) noexcept nogil:
        if final:
            limit[0] = length
        elif limit[0] < at:
            limit[0] = open_from(self, text, at, length)
        return find_before(self, text, at, limit[0], length, which)


cdef inline Py_ssize_t size_of(Specials specials, Py_ssize_t which) noexcept nogil:
    return <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which])


cdef Py_ssize_t open_from(Specials specials, const uint8_t* text, Py_ssize_t at, Py_ssize_t length) noexcept nogil:
    """The first offset in text[at:length] from which on all of it is the beginning of a literal, which more text may
    complete; or length."""
    cdef Py_ssize_t behind
    at = max(at, length - specials.longest + 1)
    while (at := bp_sieve_next(specials.sieve, text, at, length, length)) < length:
        behind = count_up_to(specials, text + at, length - at)
        if (behind < specials.size and size_of(specials, behind) > length - at
                and memcmp(specials.blob + specials.starts[behind], text + at, length - at) == 0):
            return at
        at += 1
    return length


cdef inline Py_ssize_t find_before(Specials specials, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop,
                                   Py_ssize_t length, Py_ssize_t* which) noexcept nogil:
    """The first literal in text[at:length], the longest of those that start there: returns its offset, if that is
    before `stop`, and sets *which to its number, or returns -1."""
    stop = min(stop, length - specials.shortest + 1)       # no literal starts there or later
    if specials.size == 0:
        return -1
    while True:
        at = bp_sieve_next(specials.sieve, text, at, stop, length)
        if at >= stop:
            return -1
        which[0] = longest_of(specials, text + at, length - at)
        if which[0] >= 0:
            return at
        at += 1


cdef Py_ssize_t count_up_to(Specials specials, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    """The number of literals that are not behind text[0:length] in the order of their bytes."""
    cdef Py_ssize_t low = specials.firsts[text[0]], high = specials.firsts[text[0] + 1], step = 0, middle, size
    cdef int order
    while low < high:
        middle = min(low + step, (low + high) >> 1)    # a literal that others begin with, such as a newline, at once
        size = size_of(specials, middle)
        order = memcmp(specials.blob + specials.starts[middle], text, min(size, length))
        if order < 0 or (order == 0 and size <= length):
            low = middle + 1
            step = 4 * step + 1
        else:
            high = middle
    return low


cdef Py_ssize_t longest_of(Specials specials, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    """The longest literal that text[0:length] begins with, or -1."""
    # Literals are sorted, and all literals between a prefix of the text and the text share that prefix. So the answer
    # is the last literal <= text, or a prefix of it.
    cdef Py_ssize_t which, size, common
    while length:
        which = count_up_to(specials, text, length) - 1
        if which < specials.firsts[text[0]]:
            break
        common, size = 1, size_of(specials, which)
        while common < min(size, length) and specials.blob[specials.starts[which] + common] == text[common]:
            common += 1
        if common == size:
            return which
        length = common
    return -1


cdef class SpecialSets:
    """All special tokens of a tokenizer, and the subsets that calls have asked for.

    Args:
        special_tokens: literal -> id.
    """

    def __cinit__(self, dict special_tokens not None):
        self.ids, self.literals = special_tokens, frozenset(special_tokens)
        self.every = Specials(special_tokens)
        self.subsets = {}

    cdef tuple choose(self, object allowed, object disallowed):
        if isinstance(allowed, str) and allowed == "all" and disallowed is ():
            return self.every, None
        recognised = _names(allowed, self.literals, "allowed_special")
        refused = _names(disallowed, self.literals, "disallowed_special")
        if refused is self.literals:           # "all"
            refused -= recognised
        return subset(self, recognised), subset(self, refused) if refused else None


cdef Specials subset(SpecialSets sets, frozenset literals):
    if len(literals) == sets.every.size:
        return sets.every
    specials = sets.subsets.get(literals)
    if specials is None:
        specials = Specials({literal: sets.ids[literal] for literal in literals})
        if len(sets.subsets) >= SUBSETS:
            sets.subsets.clear()
        sets.subsets[literals] = specials
    return specials


cdef frozenset _names(object names, frozenset every, str keyword):
    """The literals of an argument; `every` itself for "all"."""
    cdef set chosen = set()
    if isinstance(names, str) and names == "all":
        return every
    if isinstance(names, (set, frozenset)) and names <= every:
        return frozenset(names)
    hint = f"; [{short_repr(names)}] is a collection of one" if isinstance(names, str) else ""
    if names is None:
        hint = '; () is none of them' + (', "all" all of them' if keyword == "allowed_special" else "")
    try:
        if isinstance(names, (str, bytes)):
            raise TypeError()
        for name in names:                         # the first unknown one ends it: range(2**62) is a collection, too
            if name not in every:
                break
            chosen.add(name)
        else:
            return frozenset(chosen)
    except TypeError:                              # no iterable, or of what has no hash
        found = f"{short_repr(names)}{hint}"
        raise TypeError(f'{keyword} is "all" or a collection of special tokens, not {found}') from None
    if isinstance(names, (set, frozenset)):        # the same one whatever the order of a set is
        name = min(set(names) - every, key=repr)
    known = ", ".join(map("{!r:.40}".format, sorted(every)[:8])) + (", ..." if len(every) > 8 else "")
    raise ValueError(f"{keyword}: {short_repr(name)} is not a special token of this tokenizer, which has "
                     f"{known or 'none'}")
