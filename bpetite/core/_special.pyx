"""Special tokens: the set that a call recognises or refuses, and their search in UTF-8.

The leftmost occurrence counts, and at one offset the longest. A sieve on two bytes (sieve.h) passes over ordinary text;
where it stops, a search byte by byte narrows the sorted literals to those that the text goes on with. Loading only
sorts, so 100,000 literals take a fraction of a second. Rejected: one regular expression of all literals (seconds to
compile, and slower with their number); a trie of hash tables (fast, but a hundred bytes for each byte of the literals).
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from ..headers cimport token_t
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from ..errors import not_a_text, short_repr

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
        cdef int byte, second, at = 0
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
        self.firsts = <uint32_t*> calloc(257, sizeof(uint32_t))
        self.sieve = <bp_sieve*> calloc(1, sizeof(bp_sieve))
        if (self.blob == NULL or self.starts == NULL or self.ids == NULL or self.firsts == NULL
                or self.sieve == NULL):
            raise MemoryError()
        total = 0
        for i in range(self.size):
            literal = self.literals[i]
            data = str.encode(literal, "utf-8")
            self.starts[i] = total
            self.ids[i] = special_tokens[literal]
            memcpy(self.blob + total, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            byte = self.blob[total]
            while at <= byte:
                self.firsts[at] = <uint32_t> i
                at += 1
            if PyBytes_GET_SIZE(data) > 1:
                bp_sieve_add(self.sieve, <uint8_t> byte, self.blob[total + 1])
            else:
                for second in range(256):
                    bp_sieve_add(self.sieve, <uint8_t> byte, <uint8_t> second)
            total += PyBytes_GET_SIZE(data)
        self.starts[self.size] = total
        while at <= 256:
            self.firsts[at] = <uint32_t> self.size
            at += 1

    def __dealloc__(self):
        free(self.blob)
        free(self.starts)
        free(self.ids)
        free(self.firsts)
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
            at = start + <Py_ssize_t> (self.starts[which + 1] - self.starts[which])
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

    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, Py_ssize_t* which) noexcept nogil:
        return find_before(self, text, at, length, length, which)

    cdef Py_ssize_t find_certain(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, bint final,
                                 Py_ssize_t* limit, Py_ssize_t* which) noexcept nogil:
        if final:
            limit[0] = length
        elif limit[0] < at:
            limit[0] = self.open_from(text, at, length)
        return find_before(self, text, at, limit[0], length, which)

    cdef Py_ssize_t open_from(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length) noexcept nogil:
        cdef Py_ssize_t low, high, middle, size, rest
        cdef int order
        at = max(at, length - self.longest + 1)
        while at < length:
            low, high, rest = self.firsts[text[at]], self.firsts[text[at] + 1], length - at
            while low < high:                      # the first literal behind the rest of the text
                middle = (low + high) >> 1
                size = <Py_ssize_t> (self.starts[middle + 1] - self.starts[middle])
                order = memcmp(self.blob + self.starts[middle], text + at, min(size, rest))
                if order < 0 or (order == 0 and size <= rest):
                    low = middle + 1
                else:
                    high = middle
            if low < <Py_ssize_t> self.firsts[text[at] + 1]:
                size = <Py_ssize_t> (self.starts[low + 1] - self.starts[low])
                if size > rest and memcmp(self.blob + self.starts[low], text + at, rest) == 0:
                    return at
            at += 1
        return length


cdef inline Py_ssize_t find_before(Specials specials, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop,
                                   Py_ssize_t length, Py_ssize_t* which) noexcept nogil:
    """Specials.find, restricted to a start before `stop`."""
    stop = min(stop, length - specials.shortest + 1)       # no literal starts there or later
    if specials.size == 0:
        return -1
    while True:
        at = bp_sieve_next(specials.sieve, text, at, stop, length)
        if at >= stop:
            return -1
        which[0] = longest_at(specials, text + at, length - at)
        if which[0] >= 0:
            return at
        at += 1


cdef Py_ssize_t longest_at(Specials specials, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    """The number of the longest literal that text[0:length] begins with, or -1."""
    # Literals low:high share the first `depth` bytes of the text; a literal that ends there is the first of them.
    cdef Py_ssize_t low = specials.firsts[text[0]], high = specials.firsts[text[0] + 1], depth = 1, longest = -1
    cdef Py_ssize_t left, right, middle
    cdef uint8_t byte
    while low < high:
        if <Py_ssize_t> (specials.starts[low + 1] - specials.starts[low]) == depth:
            longest = low
            low += 1
        if low >= high or depth >= length:
            break
        if low + 1 == high:
            left = <Py_ssize_t> (specials.starts[low + 1] - specials.starts[low])
            if left <= length and memcmp(specials.blob + specials.starts[low], text, left) == 0:
                longest = low
            break
        byte = text[depth]
        left, right = low, high
        while left < right:
            middle = (left + right) >> 1
            if specials.blob[specials.starts[middle] + depth] < byte:
                left = middle + 1
            else:
                right = middle
        low, right = left, high
        while left < right:
            middle = (left + right) >> 1
            if specials.blob[specials.starts[middle] + depth] <= byte:
                left = middle + 1
            else:
                right = middle
        high = left
        depth += 1
    return longest


cdef class SpecialSets:
    """All special tokens of a tokenizer, and the subsets that calls have asked for.

    Args:
        special_tokens: literal -> id.
    """

    def __cinit__(self, dict special_tokens not None):
        self.ids = special_tokens
        self.every = Specials(special_tokens)
        self.subsets = {}

    cdef Specials subset(self, object chosen):
        if len(chosen) == self.every.size:
            return self.every
        specials = self.subsets.get(chosen)
        if specials is None:
            specials = Specials({literal: self.ids[literal] for literal in chosen})
            if len(self.subsets) >= SUBSETS:
                self.subsets.clear()
            self.subsets[chosen] = specials
        return specials

    cdef tuple resolve(self, object allowed, object disallowed):
        if is_all(allowed) and disallowed is ():
            return self.every, None
        recognised, refused = choose(self.ids, allowed, disallowed)
        return self.subset(recognised), self.subset(refused) if refused else None


cdef int refuse(Specials refused, object text) except -1:
    cdef bytes data
    cdef Py_ssize_t offset, which = 0
    if not isinstance(text, (str, bytes)):
        raise not_a_text(text)
    data = str.encode(text, "utf-8") if isinstance(text, str) else bytes(text)
    offset = refused.find(<const uint8_t*> PyBytes_AS_STRING(data), 0, PyBytes_GET_SIZE(data), &which)
    if offset < 0:
        return 0
    literal = (<bytes> refused.blob[refused.starts[which]:refused.starts[which + 1]]).decode("utf-8")
    raise ValueError(f"the text holds the disallowed special token {literal!r} at offset "
                     f"{len(data[:offset].decode('utf-8')) if isinstance(text, str) else offset}; allow it "
                     f"(allowed_special) or take the text as it is (disallowed_special=())")


cdef bint is_all(object names):
    return isinstance(names, str) and names == "all"


def choose(special_tokens, allowed, disallowed):
    """The literals to recognise and the literals to refuse.

    Args:
        special_tokens: literal -> id of a tokenizer.
        allowed: "all" or a collection of its literals.
        disallowed: "all", which means every other one, or a collection of its literals.

    Raises:
        ValueError: A name is no special token of the tokenizer.
        TypeError: A value that is neither "all" nor a collection, such as one literal, or None.

    >>> choose({"<s>": 1, "</s>": 2}, {"<s>"}, "all")
    (frozenset({'<s>'}), frozenset({'</s>'}))
    """
    every = frozenset(special_tokens)
    recognised = every if is_all(allowed) else _names(allowed, every, "allowed_special")
    refused = every - recognised if is_all(disallowed) else _names(disallowed, every, "disallowed_special")
    return recognised, refused


cdef object _names(object names, object every, str keyword):
    cdef set chosen = set()
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
