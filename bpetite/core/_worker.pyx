"""UTF-8 in, token ids out: the tables of a tokenizer and the memory that one thread writes while it encodes.

Threads share the EncodingTables, which are read only. A Worker holds everything that encoding writes: word cache,
memory for merging, output. A call takes a worker from a pool, so two threads never write to the same one, and no lock
is held while text is read.

The loop goes by blocks of pre-tokens: the scanner gives their ends, bp_prepare loads and hashes their bytes and
prefetches, bp_emit puts out the ids of the pre-tokens that the cache knows. Of the rest, short pre-tokens wait, also
from one block to the next, until several can be merged in parallel; longer ones are merged at once. Then they enter the
cache (word_cache.h). Compared with merging one after the other, 10 MB of English with an empty cache take a tenth less
time with GPT-2's merges, a third less with cl100k.

The cache begins empty. Filling it at first use with the tokens that are whole words took 8 ms for GPT-2 and 6 ms for
cl100k, which needs no merging. A first text of 2,000 characters then takes 0.02 ms less, one of 100,000 0.1 to 0.5 ms,
one of a megabyte 0 to 2 ms, and one of 10 MB gains about as much as the filling took.

Where tokens span words, pre-tokens are phrases, and the cache knows few of them. Then a second worker, with a cache of
its own, applies the merges that stay within words (_word_cuts.pyx). Its result is cut again, between two tokens that
are neighbours in no token. This leaves single tokens, two thirds of the result in English, and runs of two or three. So
phrases take a tenth of the time that merging from their bytes takes. Long phrases do not enter the cache: a cache of
all phrases takes a tenth longer.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from .._merge cimport (
    BP_WORD_IDS, BP_WORD_WIDTHS, BP_WORDS, MergeTable, bp_words, space_free, space_reserve,
)
from ..headers cimport (
    BP_KEY_READ, SPACE, bp_free, bp_key, bp_resize, bp_secret, bp_work, draw_secret, token_t,
)
from ..splitting.scan._scan cimport SCAN_SHORT, scan_cursor
from ..vocabulary._alphabet cimport AlphabetTable, character_at
from ..vocabulary._tokens cimport TokenTable
from ._text cimport DONE, INTERRUPTED, NO_MEMORY, NO_TOKEN

cdef enum:
    KEEP_OUTPUT = 1 << 22      # ids whose memory a worker keeps for the next call
    KEEP_WINDOW = 1 << 20      # bytes of its window that it keeps
    KEEP_SPACE = 1 << 18       # ids, the capacity for merging that it keeps
    MUCH = 4                   # times as many words as a worker knows are worth a copy of a cache

from array import array as new_array

cdef bp_secret secret = draw_secret()


cdef class EncodingTables:
    """The tables that encoding reads.

    Args:
        tokens: All tokens, special ones included.
        merges: The merge table.
        special_only: Ids that ordinary text never gives by looking up bytes.
        scanner: A compiled split pattern, or None.
        whole: A pre-token that is a token is taken whole.
        alphabet: The characters that merges begin from; None where these are bytes.
        prefix: A space is put before the first pre-token of a text and of each part after a special token: "" never,
            "always", "missing" where it does not begin with one; "first" is "missing" before the text alone.
        dropped: A pre-token that begins with one of these characters gives no ids.
    """

    def __cinit__(self, TokenTable tokens not None, MergeTable merges not None, special_only, scanner, bint whole,
                  AlphabetTable alphabet=None, str prefix="", str dropped=""):
        cdef Py_ssize_t slot
        cdef int value
        cdef uint8_t byte
        self.tokens = tokens
        self.merges = merges
        self.scanner = scanner
        self.whole = whole
        self.alphabet = alphabet
        self.dropped, self.dropped_points = dropped, new_array("I", map(ord, dropped))
        self.dropped_at, self.dropped_count = self.dropped_points.data.as_uints, len(dropped)
        self.prefixed = prefix != ""
        self.prefixed_always = prefix == "always"
        self.restarts = self.prefixed and prefix != "first"
        self.batched = merges.size > 0
        self.excluded = <uint8_t*> calloc(tokens.size + 1, 1)
        if self.excluded == NULL:
            raise MemoryError()
        for token_id in special_only:
            slot = tokens.slot(token_id)
            if slot >= 0:
                self.excluded[slot] = 1
        self.narrow = tokens.size == 0 or tokens.ids[tokens.size - 1] < 1 << 16    # merges may give special tokens, too
        for value in range(256):
            byte = <uint8_t> value
            slot = tokens.find(&byte, 1)
            self.byte_known[value] = slot >= 0 and not self.excluded[slot]
            self.byte_ids[value] = tokens.ids[slot] if slot >= 0 else 0

    def __dealloc__(self):
        free(self.excluded)


cdef class Worker:
    """The memory that one thread writes while it encodes.

    Args:
        tables: What encoding reads.
        cache_bytes: Bound of the word cache; 0 for none.
    """

    def __cinit__(self, EncodingTables tables not None, size_t cache_bytes):
        self.tables = tables
        if not bp_cache_init(&self.cache, cache_bytes, tables.narrow, &secret):
            raise MemoryError()

    def __dealloc__(self):
        bp_cache_free(&self.cache)
        space_free(&self.space)
        bp_free(self.out)
        free(self.window.bytes)

    cdef size_t known(self) noexcept nogil:
        return self.cache.short_used + self.cache.long_used

    cdef bint lacks(self, Worker other) noexcept nogil:
        return self.known() < other.known() // MUCH

    cdef void learn(self, Worker other) noexcept nogil:
        if self.lacks(other):
            bp_cache_copy(&self.cache, &other.cache)       # without memory it goes on with what it knows

    cdef bint reserve(self, Py_ssize_t more) noexcept nogil:
        cdef Py_ssize_t wanted = self.used + more + self.used // 4 + 256
        cdef token_t* grown
        if self.used + more <= self.capacity:
            return True
        grown = <token_t*> bp_resize(self.out, wanted * sizeof(token_t))
        if grown == NULL:
            return False
        self.out, self.capacity = grown, wanted
        return True

    cdef void shrink(self) noexcept nogil:
        if self.capacity > KEEP_OUTPUT:
            bp_free(self.out)
            self.out = NULL
            self.capacity = 0
        if self.window.capacity > KEEP_WINDOW:
            free(self.window.bytes)
            self.window.bytes = NULL
            self.window.capacity = 0
        if max(self.space.capacity, self.space.rank_capacity) > KEEP_SPACE:
            space_free(&self.space)

    cdef int put(self, token_t token_id) noexcept nogil:
        if not self.reserve(1):
            return NO_MEMORY
        self.out[self.used] = token_id
        self.used += 1
        return DONE

    cdef int encode_span(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final, Py_ssize_t stop,
                         Py_ssize_t* done) noexcept nogil:
        self.waiting = 0
        cdef int status = self.encode_split(text, length, readable, final, stop, done)
        return self.finish(text, done) if status == DONE else status

    cdef int finish(self, const uint8_t* text, Py_ssize_t* done) noexcept nogil:
        cdef bint moved
        return _encode_waiting(self, text, &moved, done) if self.waiting else DONE

    cdef int encode_split(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
                          Py_ssize_t stop, Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef Py_ssize_t start = 0, n
        cdef int status
        stop = min(stop, length)
        if self.wants_prefix and length:
            self.wants_prefix = False
            status = self.finish(text, &start)
            if status == DONE:
                status = _encode_first(self, text, length, final, &start)
            done[0] = start
            if status != DONE or self.wants_prefix or start >= stop > 0:
                return status
            if start:
                status = self.encode_split(text + start, length - start, readable - start, final, stop - start, done)
                done[0] += start
                return status
        if final and 0 < length < SCAN_SHORT and stop == length:
            n = self.tables.scanner.short_ends(text, length, ends)
            if n:
                done[0] = length
                return _encode_block(self, text, 0, ends, n, readable, done)
        self.tables.scanner.begin(&cursor, text, length, final)
        while start < stop:
            n = self.tables.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                break
            if ends[n - 1] > stop:
                n = 1
                while ends[n - 1] < stop:
                    n += 1
            status = _encode_block(self, text, start, ends, n, readable, done)
            if status != DONE:
                return status
            start = ends[n - 1]
        done[0] = start
        return DONE

    cdef int encode_pretokens(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                              Py_ssize_t readable, Py_ssize_t* done) noexcept nogil:
        self.waiting = 0
        cdef int status = _encode_block(self, text, start, ends, n, readable, done)
        return self.finish(text, done) if status == DONE else status


cdef int _encode_first(Worker worker, const uint8_t* text, Py_ssize_t length, bint final,
                       Py_ssize_t* done) noexcept nogil:
    """Encode the first pre-token of a text with a space before it, if it wants one. OUT: *done: bytes encoded."""
    cdef scan_cursor cursor
    cdef Py_ssize_t end, offset = 0
    cdef uint8_t* copy
    cdef int status
    if not worker.tables.prefixed_always and (
            text[0] == SPACE or starts_with_space(worker.tables.alphabet, text, length)):
        return DONE
    worker.tables.scanner.begin(&cursor, text, length, final)
    if worker.tables.scanner.next_ends(&cursor, &end, 1) == 0:
        worker.wants_prefix = True
        return DONE
    copy = <uint8_t*> malloc(end + 1 + BP_KEY_READ)
    if copy == NULL:
        return NO_MEMORY
    copy[0] = SPACE
    memcpy(copy + 1, text, end)
    done[0] = end
    end += 1
    status = worker.encode_pretokens(copy, 0, &end, 1, end + BP_KEY_READ, &offset)
    free(copy)
    if status == NO_TOKEN:
        done[0] = offset - 1
    return status


cdef inline bint starts_with_space(AlphabetTable alphabet, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    cdef uint32_t first
    character_at(text, length, &first)
    return first == alphabet.space


cdef int _encode_block(Worker worker, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                       Py_ssize_t readable, Py_ssize_t* done) noexcept nogil:
    """Put out the ids of known pre-tokens. Those that the cache lacks may wait for _encode_waiting."""
    cdef bp_keys keys
    cdef Py_ssize_t i = 0
    cdef int status = DONE
    cdef bint starved, moved = False
    if bp_work(&worker.watch, ends[n - 1] - start):
        return INTERRUPTED
    if worker.dropout is not None:                     # past the cache
        while i < n and status == DONE:
            status = _encode_part(worker, text, ends[i - 1] if i else start, ends[i], done)
            i += 1
        return status
    bp_prepare(&worker.cache, text, start, ends, n, readable, &keys)
    while True:
        if not worker.reserve(BP_NARROW_IDS * (n - i) + BP_SLACK + BP_LONGEST):
            return NO_MEMORY
        i = bp_emit(&worker.cache, &keys, text, start, ends, i, n, worker.out, worker.capacity, &worker.used, &starved)
        if i == n:
            break
        if not starved:
            status = _encode_missing(worker, text, ends[i - 1] if i else start, ends[i], keys.bytes[i], &moved, done)
            if status != DONE:
                return status
            i += 1
            if i == n:
                break
            if moved:
                bp_prepare(&worker.cache, text, start, ends, n, readable, &keys)
                moved = False
    if worker.waiting and worker.used - worker.queue[0].at > BP_WAITING_SPAN:
        return _encode_waiting(worker, text, &moved, done)
    return DONE


cdef int _encode_missing(Worker worker, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, const uint64_t* key,
                         bint* moved, Py_ssize_t* done) noexcept nogil:
    """Encode a pre-token that the cache does not know: it waits, or is merged and enters the cache.

    OUT: *moved is set where keys prepared before have to be prepared again.
    """
    cdef Py_ssize_t used
    cdef int status, earlier
    if worker.tables.batched and end - start <= BP_WORD_IDS:
        bp_wait(worker.queue, worker.waiting, key, text + start, end - start, worker.used)
        worker.waiting += 1
        return _encode_waiting(worker, text, moved, done) if worker.waiting == BP_WORDS else DONE
    used = worker.used
    status = _encode_part(worker, text, start, end, done)
    if status == DONE:
        moved[0] = bp_remember(&worker.cache, key, text + start, end - start, worker.out + used, worker.used - used)
    if status == NO_TOKEN and worker.waiting:        # the first one in the text is to be reported
        earlier = _merge_waiting(worker, text, done)
        return earlier if earlier != DONE else status
    return status


cdef int _encode_waiting(Worker worker, const uint8_t* text, bint* moved, Py_ssize_t* done) noexcept nogil:
    """Merge the waiting pre-tokens, remember them, and put their ids to their places."""
    cdef Py_ssize_t count = worker.waiting, total
    cdef int status = _merge_waiting(worker, text, done)
    worker.waiting = 0
    if status != DONE:
        return status
    moved[0] = bp_remember_waiting(&worker.cache, worker.queue, count)
    total = bp_count_waiting(worker.queue, count)
    if not worker.reserve(total):
        return NO_MEMORY
    bp_put_waiting(worker.queue, count, total, worker.out, worker.used)
    worker.used += total
    return DONE


cdef int _merge_waiting(Worker worker, const uint8_t* text, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t slots[BP_WORDS]
    cdef bp_words words
    cdef bp_waiting* one
    cdef Py_ssize_t k, i, n
    for i in range(BP_WORD_WIDTHS):
        words.counts[i] = 0
    _find_waiting(worker, slots)
    for k in range(worker.waiting):
        one = &worker.queue[k]
        if one.same != k:
            continue
        if is_dropped(worker.tables, one.text, one.length):
            one.word.size = 0
            continue
        if slots[k] >= 0 and not worker.tables.excluded[slots[k]]:
            one.word.ids[0] = worker.tables.tokens.ids[slots[k]]
            one.word.size = 1
            continue
        n = begin_ids(worker.tables, one.text, one.length, one.word.ids, &i)
        if n < 0:
            done[0] = one.text + i - text
            return NO_TOKEN
        one.word.size = 0
        if n:
            worker.tables.merges.add_word(&words, &one.word, n)
    worker.tables.merges.merge_words(&words)
    return DONE


cdef inline Py_ssize_t begin_ids(EncodingTables tables, const uint8_t* text, Py_ssize_t n, token_t* ids,
                                 Py_ssize_t* bad) noexcept nogil:
    """OUT: ids, the ids that the merges of text[0:n] begin from. Returns their number; -1 without, at *bad."""
    cdef Py_ssize_t i
    if tables.alphabet is not None:
        return tables.alphabet.begin(text, n, ids, NULL, bad)
    for i in range(n):
        if not tables.byte_known[text[i]]:
            bad[0] = i
            return -1
        ids[i] = tables.byte_ids[text[i]]
    return n


cdef inline bint is_dropped(EncodingTables tables, const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """True for a pre-token that gives no ids."""
    cdef uint32_t character
    cdef Py_ssize_t i
    if tables.dropped_count == 0:
        return False
    character_at(text, n, &character)
    for i in range(tables.dropped_count):
        if tables.dropped_at[i] == character:
            return True
    return False


cdef void _find_waiting(Worker worker, Py_ssize_t* slots) noexcept nogil:
    """OUT: slots, the token of each waiting pre-token that is one, else -1."""
    cdef bp_key keys[BP_WORDS]
    cdef Py_ssize_t k
    if not worker.tables.whole:
        for k in range(worker.waiting):
            slots[k] = -1
        return
    for k in range(worker.waiting):
        keys[k] = bp_key(worker.queue[k].key[0], worker.queue[k].key[1])
    worker.tables.tokens.find_keys(keys, worker.waiting, slots)
    for k in range(worker.waiting):
        if worker.queue[k].key[1] == BP_IS_LONG:
            slots[k] = worker.tables.tokens.find(worker.queue[k].text, worker.queue[k].length)


cdef int _encode_part(Worker worker, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
                      Py_ssize_t* done) noexcept nogil:
    """Append the ids of bytes that are merged as a whole."""
    cdef Py_ssize_t n = end - start, i, slot
    cdef token_t* ids
    if is_dropped(worker.tables, text + start, n):
        return DONE
    slot = worker.tables.tokens.find(text + start, n) if worker.tables.whole and worker.dropout is None else -1
    if slot >= 0 and not worker.tables.excluded[slot]:
        return worker.put(worker.tables.tokens.ids[slot])
    if not space_reserve(&worker.space, n):
        return NO_MEMORY
    ids = worker.space.ids
    n = begin_ids(worker.tables, text + start, n, ids, &i)
    if n < 0:
        done[0] = start + i
        return NO_TOKEN
    if worker.dropout is None:
        n = worker.tables.merges.merge(&worker.space, n, &worker.watch)
    else:
        n = worker.dropout.merge(worker.tables.merges, &worker.space, n, worker.text_number, worker.position,
                                 &worker.watch)
        worker.position += end - start
    if n < 0 or not worker.reserve(n):
        return INTERRUPTED if worker.watch.interrupted else NO_MEMORY
    memcpy(worker.out + worker.used, ids, n * sizeof(token_t))
    worker.used += n
    return DONE
