"""Text to token ids by one thread: special tokens out first, then the split pattern, then merges.

In the order of reading: the tables, which threads share, since they are read only; a Worker, which holds everything
that one thread writes; the loop; the text as the loop reads it; the Encoder, which keeps workers for the next calls.

**The loop** goes by blocks of pre-tokens: the scanner gives their ends, bp_prepare loads and hashes their bytes and
prefetches, bp_emit puts out the ids of the pre-tokens that the cache knows. Of the rest, short pre-tokens wait, also
from one block to the next, until several can be merged in parallel; longer ones are merged at once. Then they enter the
cache (word_cache.h). Compared with merging one after the other, 10 MB of English with an empty cache take a tenth less
time with GPT-2's merges, a third less with cl100k. The cache begins empty. Filling it at first use with the tokens that
are whole words took 6 to 8 ms; a first text of a megabyte gains up to 2 ms by that, and one of 10 MB about as much as
the filling takes.

**The text** is read without the interpreter lock. The characters of an ASCII str are read where they are, and so is the
UTF-8 that an earlier reader left inside a str. Other text is rewritten to UTF-8 in a window: it stays in the
processor's cache, and no copy of the whole text is made or left attached to the caller's str, as
PyUnicode_AsUTF8AndSize would. A pre-token that is open at the end of a window is moved to its front before more is
rewritten; a window without a closed one doubles, so long pre-tokens cost linear time too.

What a normalizer changes is rewritten block by block. Work that needs Python (a pattern that only `regex` can split,
the steps of a pipeline) is done span by span; merging is compiled there, too.
"""
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from .._merge cimport (
    BP_WORD_IDS, BP_WORD_WIDTHS, BP_WORDS, Dropout, MergeTable, bp_words, merge_with_dropout, space_free, space_reserve,
)
from ..headers cimport (
    BP_KEY_READ, SPACE, bp_free, bp_key, bp_resize, bp_secret, bp_utf8_character, bp_watch_begin, bp_work, draw_secret,
    token_t,
)
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE, PyObject, Py_DECREF, Py_INCREF
from ..headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ..headers.vectors cimport (
    bp_known_utf8, bp_utf8_count, bp_utf8_valid, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND,
)
from ..splitting.scan._scan cimport SCAN_SHORT, scan_cursor
from ..steps._rewriting cimport Rewriter, bp_buffer, bp_buffer_add, bp_buffer_drop
from ..vocabulary._alphabet cimport AlphabetTable
from ..vocabulary._tokens cimport TokenTable
from ._special cimport Specials, SpecialSets

from array import array as new_array

from ..errors import not_a_text
from ._threads import thread_count

cdef extern from "core/word_cache.h" nogil:
    enum: BP_BLOCK
    enum: BP_SLACK
    enum: BP_NARROW_IDS
    enum: BP_LONGEST
    enum: BP_WAITING_SPAN
    const uint64_t BP_IS_LONG

    ctypedef struct bp_prepared:
        uint64_t key[2]

    bint bp_cache_init(bp_cache* cache, size_t bytes, bint narrow, const bp_secret* secret) noexcept
    void bp_cache_free(bp_cache* cache) noexcept
    void bp_prepare(const bp_cache* cache, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                    Py_ssize_t readable, bp_prepared* prepared) noexcept
    Py_ssize_t bp_emit(bp_cache* cache, const bp_prepared* prepared, const uint8_t* text, Py_ssize_t start,
                       const Py_ssize_t* ends, Py_ssize_t i, Py_ssize_t n, void* out, Py_ssize_t capacity,
                       Py_ssize_t* used, bint* starved, int width) noexcept
    void bp_store_ids(void* to, const token_t* ids, size_t count, bint narrow) noexcept
    bint bp_remember(bp_cache* cache, const uint64_t* key, const uint8_t* p, size_t length, const token_t* ids,
                     size_t count) noexcept
    void bp_wait(bp_waiting* waiting, Py_ssize_t count, const uint64_t* key, const uint8_t* text, Py_ssize_t length,
                 Py_ssize_t at) noexcept
    bint bp_remember_waiting(bp_cache* cache, const bp_waiting* waiting, Py_ssize_t count) noexcept
    Py_ssize_t bp_count_waiting(const bp_waiting* waiting, Py_ssize_t count) noexcept
    void bp_put_waiting(const bp_waiting* waiting, Py_ssize_t count, Py_ssize_t total, void* out, Py_ssize_t used,
                        int width) noexcept

cdef extern from "core/worker_slots.h":
    PyObject* bp_take_worker(bp_slots* slots)
    PyObject* bp_give_worker(bp_slots* slots, PyObject* worker)

cdef enum:
    CHECK_LOCKED = 1 << 15     # bytes, checked in 2 to 10 us; handing the interpreter lock over takes as long
    COPIED = 240               # bytes; shorter texts are copied to where sixteen bytes can be read at any offset
    WINDOW = 1 << 15           # units rewritten to UTF-8 at a time
    RUN = 1 << 16              # bytes that are searched for special tokens, then encoded, in the second-level cache
    AFTER_STOP = 1 << 6        # bytes or units that are read after the stop of a range at first, then twice as many
    KEEP_OUTPUT = 1 << 22      # ids whose memory a worker keeps for the next call
    KEEP_WINDOW = 1 << 20      # bytes of its window that it keeps
    KEEP_SPACE = 1 << 18       # ids, the capacity for merging that it keeps

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
        rewriter: Rewrites the text between special tokens; or None.
        late: Ids of special tokens that belong to the text where that gets a space before it: the space may come before
            such a token, and none comes after it.
        dropped: A pre-token that begins with one of these characters gives no ids.
    """

    def __cinit__(self, TokenTable tokens not None, MergeTable merges not None, special_only, scanner, bint whole,
                  AlphabetTable alphabet=None, str prefix="", Rewriter rewriter=None,
                  late=frozenset(), str dropped=""):
        cdef Py_ssize_t slot
        cdef int value
        cdef uint8_t byte
        self.tokens = tokens
        self.merges = merges
        self.scanner = scanner
        self.rewriter = rewriter
        self.whole = whole
        self.alphabet = alphabet
        self.dropped = new_array("I", map(ord, dropped))
        self.dropped_at, self.dropped_count = self.dropped.data.as_uints, len(dropped)
        self.prefixed = prefix != ""
        self.prefixed_always = prefix == "always"
        self.restarts = self.prefixed and prefix != "first"
        self.has_late = len(late) > 0
        self.excluded = <uint8_t*> calloc(tokens.size + 1, 1)
        if self.excluded == NULL:
            raise MemoryError()
        for token_id in special_only:
            slot = tokens.slot(token_id)
            if slot >= 0:
                self.excluded[slot] = 2 if token_id in late else 1
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
        self.tables, self.width = tables, sizeof(token_t)
        if not bp_cache_init(&self.cache, cache_bytes, tables.narrow, &secret):
            raise MemoryError()

    def __dealloc__(self):
        bp_cache_free(&self.cache)
        space_free(&self.space)
        bp_free(self.out)
        free(self.window.bytes)
        free(self.rewritten.bytes)

    cdef bint reserve(self, Py_ssize_t more) noexcept nogil:
        cdef Py_ssize_t wanted = self.used + more + self.used // 4 + 256
        cdef token_t* grown
        if self.used + more <= self.capacity:
            return True
        grown = <token_t*> bp_resize(self.out, wanted * self.width)
        if grown == NULL:
            return False
        self.out, self.capacity = grown, wanted
        return True

    cdef int put(self, const token_t* ids, Py_ssize_t n) noexcept nogil:
        if not self.reserve(n):
            return NO_MEMORY
        if n:                                      # else there may be no memory
            bp_store_ids(<uint8_t*> self.out + self.used * self.width, ids, n, self.width == 2)
            self.used += n
        return DONE

    cdef int encode_span(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* bad) noexcept nogil:
        self.waiting = 0
        cdef int status = encode_split(self, text, length, length, True, length, bad)
        return finish(self, text, bad) if status == DONE else status


# ---- the loop: special tokens, split, cache, merge

cdef int encode_between_specials(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length,
                                 Py_ssize_t readable, bint final, Py_ssize_t stop, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t at = 0, special, which = 0, inside = 0, limit = length
    cdef int status = DONE
    worker.waiting = 0
    if specials is not None and specials.size:
        limit = -1
        while at < stop:
            special = specials.find_certain(text, at, length, final, &limit, &which)
            if special < 0:
                break
            status = encode_ordinary(worker, text + at, special - at, readable - at, True, stop - at, &inside)
            at += inside
            if status != DONE or at < special or special >= stop:
                done[0] = at
                return status if status != DONE else finish(worker, text, done)
            status = put_special(worker, text, specials.ids[which], done)
            if status != DONE:
                return status
            at = special + <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which])
    if at < min(limit, stop):
        status = encode_ordinary(worker, text + at, limit - at, readable - at, final, stop - at, &inside)
        at += inside
    done[0] = at
    return finish(worker, text, done) if status == DONE and worker.waiting else status


cdef int encode_ordinary(Worker worker, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
                         Py_ssize_t stop, Py_ssize_t* done) noexcept nogil:
    """As encode_split, of text that a rewriter may change.

    Text that the rewriter keeps is encoded where it is. Other text is rewritten into `worker.rewritten` and encoded
    there, whatever `stop` is; its open pre-token waits in that buffer for the next call. OUT: *done counts what waits
    as encoded. A pre-token that the rewriter left as it was does not wait: the caller gives it again.
    """
    cdef bp_buffer* made = &worker.rewritten
    cdef Py_ssize_t inside = 0, waiting, read
    cdef int status
    if not worker.rewrites:
        return encode_split(worker, text, length, readable, final, stop, done)
    if made.filled == 0 and worker.tables.rewriter.in_place:
        read = worker.tables.rewriter.kept(text, length, final)
        if read >= 0:
            return encode_split(worker, text, read, readable, final, read, done)
    status = finish(worker, text, done)
    done[0] = 0
    if status != DONE:
        return status
    if worker.tables.rewriter.prefix_first and worker.wants_prefix and length:
        worker.wants_prefix = False
        if not bp_buffer_add(made, <const uint8_t*> b" ", 1):
            return NO_MEMORY
    read = worker.tables.rewriter.append(text, length, final, made)
    if read < 0:
        return NO_MEMORY
    done[0] = read
    waiting = worker.tables.rewriter.trailing(made)
    if final:
        made.filled -= waiting
        waiting = 0
    status = encode_split(worker, made.bytes, made.filled - waiting, made.filled + 16, final, made.filled, &inside)
    if status == DONE:
        status = finish(worker, made.bytes, &inside)
    if status != DONE:
        return status
    bp_buffer_drop(made, inside)
    if (worker.tables.rewriter.in_place and made.filled <= read
            and memcmp(made.bytes, text + read - made.filled, made.filled) == 0):
        done[0] -= made.filled
        made.filled = 0
    return DONE


cdef int put_special(Worker worker, const uint8_t* text, token_t token_id, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t one = 1, inside = 0
    cdef int status = DONE
    cdef bint late = worker.tables.has_late and worker.tables.excluded[worker.tables.tokens.slot(token_id)] == 2
    if late and worker.wants_prefix:
        status = finish(worker, text, done)
        if status == DONE:
            status = encode_pretokens(worker, <const uint8_t*> b"                 ", 0, &one, 1, 17, &inside)
            status = NO_PREFIX if status == NO_TOKEN else status
    worker.wants_prefix = worker.tables.restarts and not late
    return worker.put(&token_id, 1) if status == DONE else status


# Append the ids of text[0:length], ordinary text, up to the first end of a pre-token at or after `stop`. Pre-tokens may
# wait until `finish` to be merged with those of further spans of the same memory. OUT: *done: see above; on NO_TOKEN it
# is negative if the byte is before `text`.
cdef int encode_split(Worker worker, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
                      Py_ssize_t stop, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t ends[BP_BLOCK]
    cdef scan_cursor cursor
    cdef Py_ssize_t start = 0, n
    cdef int status
    stop = min(stop, length)
    if worker.wants_prefix and length:
        worker.wants_prefix = False
        status = finish(worker, text, &start)
        if status == DONE:
            status = _encode_first(worker, text, length, final, &start)
        done[0] = start
        if status != DONE or worker.wants_prefix or start >= stop > 0:
            return status
        if start:
            status = encode_split(worker, text + start, length - start, readable - start, final, stop - start, done)
            done[0] += start
            return status
    if final and 0 < length < SCAN_SHORT and stop == length:
        n = worker.tables.scanner.short_ends(text, length, ends)
        if n:
            done[0] = length
            return _encode_block(worker, text, 0, ends, n, readable, done)
    worker.tables.scanner.begin(&cursor, text, length, final)
    while start < stop:
        n = worker.tables.scanner.next_ends(&cursor, ends, BP_BLOCK)
        if n == 0:
            break
        if ends[n - 1] > stop:
            n = 1
            while ends[n - 1] < stop:
                n += 1
        status = _encode_block(worker, text, start, ends, n, readable, done)
        if status != DONE:
            return status
        start = ends[n - 1]
    done[0] = start
    return DONE


cdef int finish(Worker worker, const uint8_t* text, Py_ssize_t* done) noexcept nogil:
    cdef bint moved
    return _encode_waiting(worker, text, &moved, done) if worker.waiting else DONE


# Append the ids of known pre-tokens: text[start:ends[0]], text[ends[0]:ends[1]], ...
# OUT: *done is set on NO_TOKEN only.
cdef int encode_pretokens(Worker worker, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                          Py_ssize_t readable, Py_ssize_t* done) noexcept nogil:
    worker.waiting = 0
    cdef int status = _encode_block(worker, text, start, ends, n, readable, done)
    return finish(worker, text, done) if status == DONE else status


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
    status = encode_pretokens(worker, copy, 0, &end, 1, end + BP_KEY_READ, &offset)
    free(copy)
    if status == NO_TOKEN:
        done[0] = offset - 1
    return NO_PREFIX if status == NO_TOKEN and offset == 0 else status


cdef inline bint starts_with_space(AlphabetTable alphabet, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    cdef uint32_t first
    bp_utf8_character(text, length, &first)
    return first == alphabet.space


cdef int _encode_block(Worker worker, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                       Py_ssize_t readable, Py_ssize_t* done) noexcept nogil:
    """Put out the ids of known pre-tokens. Those that the cache lacks may wait for _encode_waiting."""
    cdef bp_prepared prepared[BP_BLOCK]
    cdef Py_ssize_t i = 0, merged = 0
    cdef int status = DONE
    cdef bint starved, moved = False
    if bp_work(&worker.watch, ends[n - 1] - start):
        return INTERRUPTED
    if worker.dropout is not None:                     # past the cache
        while i < n and status == DONE:
            status = _merge_alone(worker, text, ends[i - 1] if i else start, ends[i], &merged, done)
            if status == DONE:
                status = worker.put(worker.space.ids, merged)
            i += 1
        return status
    bp_prepare(&worker.cache, text, start, ends, n, readable, prepared)
    while True:
        if not worker.reserve(BP_NARROW_IDS * (n - i) + BP_SLACK + BP_LONGEST):
            return NO_MEMORY
        i = bp_emit(&worker.cache, prepared, text, start, ends, i, n, worker.out, worker.capacity, &worker.used,
                    &starved, worker.width)
        if i == n:
            break
        if not starved:
            status = _encode_missing(worker, text, ends[i - 1] if i else start, ends[i], prepared[i].key, &moved, done)
            if status != DONE:
                return status
            i += 1
            if i == n:
                break
            if moved:
                bp_prepare(&worker.cache, text, start, ends, n, readable, prepared)
                moved = False
    if worker.waiting and worker.used - worker.queue[0].at > BP_WAITING_SPAN:
        return _encode_waiting(worker, text, &moved, done)
    return DONE


cdef int _encode_missing(Worker worker, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, const uint64_t* key,
                         bint* moved, Py_ssize_t* done) noexcept nogil:
    """Encode a pre-token that the cache does not know: it waits, or is merged and enters the cache.

    OUT: *moved is set where keys prepared before have to be prepared again.
    """
    cdef Py_ssize_t n = 0
    cdef int status, earlier
    if worker.tables.merges.size and end - start <= BP_WORD_IDS:
        bp_wait(worker.queue, worker.waiting, key, text + start, end - start, worker.used)
        worker.waiting += 1
        return _encode_waiting(worker, text, moved, done) if worker.waiting == BP_WORDS else DONE
    status = _merge_alone(worker, text, start, end, &n, done)
    if status == DONE:
        moved[0] = bp_remember(&worker.cache, key, text + start, end - start, worker.space.ids, n)
        return worker.put(worker.space.ids, n)
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
    bp_put_waiting(worker.queue, count, total, worker.out, worker.used, worker.width)
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
    bp_utf8_character(text, n, &character)
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


cdef int _merge_alone(Worker worker, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* merged,
                      Py_ssize_t* done) noexcept nogil:
    """OUT: worker.space.ids[0:*merged], the ids of bytes that are merged as a whole."""
    cdef Py_ssize_t n = end - start, i, slot
    if not space_reserve(&worker.space, n):
        return NO_MEMORY
    if is_dropped(worker.tables, text + start, n):
        merged[0] = 0
        return DONE
    slot = worker.tables.tokens.find(text + start, n) if worker.tables.whole and worker.dropout is None else -1
    if slot >= 0 and not worker.tables.excluded[slot]:
        worker.space.ids[0] = worker.tables.tokens.ids[slot]
        merged[0] = 1
        return DONE
    n = begin_ids(worker.tables, text + start, n, worker.space.ids, &i)
    if n < 0:
        done[0] = start + i
        return NO_TOKEN
    if worker.dropout is None:
        n = worker.tables.merges.merge(&worker.space, n, &worker.watch)
    else:
        n = merge_with_dropout(worker.dropout, worker.tables.merges, &worker.space, n, worker.text_number,
                               worker.position, &worker.watch)
        worker.position += end - start
    merged[0] = n
    return DONE if n >= 0 else INTERRUPTED if worker.watch.interrupted else NO_MEMORY


# ---- the text as the loop reads it

cdef int view_text(object text, text_view* view) except -1:
    cdef Py_ssize_t bad
    view.units = NULL
    view.width = 1
    if isinstance(text, str):
        view.utf8 = <const uint8_t*> bp_known_utf8(text, &view.length)
        if view.utf8 == NULL:
            view.units = PyUnicode_DATA(text)
            view.width = PyUnicode_KIND(text)
            view.length = PyUnicode_GET_LENGTH(text)
        return 0
    if not isinstance(text, bytes):
        raise not_a_text(text)
    view.utf8 = <const uint8_t*> PyBytes_AS_STRING(text)
    view.length = PyBytes_GET_SIZE(text)
    if view.length > CHECK_LOCKED:
        with nogil:
            bad = bp_utf8_valid(view.utf8, view.length)
    else:
        bad = bp_utf8_valid(view.utf8, view.length)
    if bad < view.length:
        try:
            (<bytes> text)[bad:bad + 4].decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", text, bad, bad + error.end, error.reason) from None
    return 0


cdef Py_ssize_t guess_ids(const text_view* view) noexcept nogil:
    return view.length if view.utf8 == NULL else view.length // 2


# Rewrite further units after those in the window, up to `limit` at most: a fixed number, or as many as the window holds
# already and wait elsewhere, so that a window that closed no pre-token doubles. Returns DONE or an error.
cdef inline int window_extend(utf8_window* window, const text_view* view, Py_ssize_t limit,
                              Py_ssize_t waiting) noexcept nogil:
    cdef Py_ssize_t widest = 4 if view.width == 4 else view.width + 1      # bytes of UTF-8 that a unit makes at most
    cdef Py_ssize_t end = min(window.read + max(<Py_ssize_t> WINDOW, (window.filled + waiting) // widest), limit)
    cdef Py_ssize_t needed = window.filled + (end - window.read) * widest + BP_UTF8_SLACK
    cdef Py_ssize_t bad = -1
    cdef void* grown
    if needed > window.capacity:
        grown = realloc(window.bytes, needed)
        if grown == NULL:
            return NO_MEMORY
        window.bytes = <uint8_t*> grown
        window.capacity = needed
    window.filled += bp_utf8_from_units(view.width, view.units, window.read, end, window.bytes + window.filled, &bad)
    window.read = end
    return DONE if bad < 0 else NO_UTF8


# Remove bytes from the front of the window.
cdef inline void window_drop(utf8_window* window, Py_ssize_t bytes) noexcept nogil:
    window.filled -= bytes
    memmove(window.bytes, window.bytes + bytes, window.filled)


cdef int encode_text(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil:
    cdef uint8_t copy[COPIED + BP_KEY_READ]
    cdef view_range whole
    cdef int status
    worker.wants_prefix = worker.tables.prefixed
    worker.rewrites = worker.tables.rewriter is not None and not (
        worker.tables.rewriter.keeps_ascii and view.utf8 != NULL
        and bp_utf8_count(view.utf8, view.length) == view.length)
    worker.rewritten.filled = 0
    if view.utf8 != NULL and view.length <= COPIED:
        memcpy(copy, view.utf8, view.length)
        return encode_between_specials(worker, specials, copy, view.length, view.length + BP_KEY_READ, True,
                                       view.length, offset)
    worker.reserve(guess_ids(view))
    whole.start, whole.stop = 0, view.length
    status = encode_windows(worker, specials, view, &whole)
    offset[0] = whole.bytes
    return status


cdef int encode_windows(Worker worker, Specials specials, const text_view* view, view_range* wanted) noexcept nogil:
    # Invariant: text[0:length] has been read and not encoded; it is the text from wanted.end to `read`. `stop` is the
    # offset of wanted.stop in it, or `length` until the text up to there has been read. A window ends at wanted.stop,
    # so that its offset in bytes is known. An open pre-token stays, and the next window is as long as it.
    cdef utf8_window* window = &worker.window
    cdef const uint8_t* text = view.utf8
    cdef Py_ssize_t read = wanted.start, length = 0, readable, stop = 0, done = 0, limit
    cdef int status
    window.filled, window.read = 0, read
    wanted.end, wanted.bytes = read, 0
    while wanted.end < wanted.stop:
        limit = wanted.stop
        if read >= limit:
            limit = min(limit + max(<Py_ssize_t> AFTER_STOP, 2 * (read - limit)), view.length)
        if view.utf8 != NULL:
            read = min(read + max(<Py_ssize_t> RUN, length + worker.rewritten.filled), limit)
            while read < view.length and (view.utf8[read] & 0xC0) == 0x80:
                read += 1                      # to where a character ends
            text, length = view.utf8 + wanted.end, read - wanted.end
            readable, stop = view.length - wanted.end, wanted.stop - wanted.end
        else:
            status = window_extend(window, view, limit, worker.rewritten.filled)
            if status != DONE:
                return status
            text, length, read = window.bytes, window.filled, window.read
            readable = length + BP_KEY_READ
            if read <= wanted.stop:
                stop = length
        status = encode_between_specials(worker, specials, text, length, readable, read == view.length, stop, &done)
        wanted.bytes += done
        if status != DONE:
            return status
        length -= done
        stop -= done
        if view.utf8 != NULL:
            wanted.end += done
        else:
            window_drop(window, done)
            wanted.end = read - bp_utf8_count(window.bytes, length)
        if read == view.length:
            break
    return DONE


cdef int encode_range(Worker worker, Specials specials, object text, const text_view* view,
                      view_range* wanted) except -1:
    cdef Py_ssize_t before = wanted.start
    cdef int status
    worker.rewrites = False
    worker.rewritten.filled = 0
    with nogil:
        status = encode_windows(worker, specials, view, wanted)
    if status != DONE:
        if view.utf8 == NULL:
            before = len((<str> text)[:before].encode("utf-8", "surrogatepass"))
        check_status(status, text, before + wanted.bytes)
    return 0


cdef int check_status(int status, object text, Py_ssize_t offset, Py_ssize_t base=0, bint rewritten=False) except -1:
    if status == INTERRUPTED:
        return -1                              # the exception is set
    if status == NO_MEMORY:
        raise MemoryError("no memory for encoding this text")
    if status == NO_TOKEN:
        data = str.encode(text, "utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        what = "rewritten text" if rewritten else "text"
        raise ValueError(f"byte 0x{data[offset]:02x}, at offset {base + offset} of the {what} in UTF-8, has no token "
                         f"in this vocabulary")
    if status == NO_PREFIX:
        raise ValueError("the space that is put before a text has no token in this vocabulary")
    if status == NO_UTF8:
        (<str> text).encode("utf-8")           # raises, with the position
    return 0


cdef class Encoder:
    """Encodes texts, one thread each, and keeps the workers that they take."""

    def __cinit__(self):
        self.specials = SpecialSets({})

    def __dealloc__(self):
        cdef PyObject* idle = bp_take_worker(&self._idle)
        while idle != NULL:
            Py_DECREF(<object> idle)
            idle = bp_take_worker(&self._idle)

    def set_up(self, EncodingTables tables not None, SpecialSets specials not None, pretokenizer, pipeline,
               Py_ssize_t cache_bytes):
        if self.tables is not None:
            raise TypeError("a tokenizer is immutable: it is set up once")
        self.specials = specials
        self.scanned_alone = tables.scanner is not None and (pipeline is None or pipeline.scanned_alone)
        self._pretokenizer = pretokenizer
        self._pipeline = pipeline
        self._cache_bytes = cache_bytes
        self._pool = []
        self.tables = tables

    def certain_cuts(self):
        """The CertainCuts of the scanner; None if it has none."""
        from ..splitting.certain_cuts import certain_cuts  # not at the top: few texts are so long

        if self._cuts is None:
            normalizes = self.tables.rewriter is not None
            self._cuts = certain_cuts(self._pretokenizer, tuple(self.specials.literals), normalizes) or False
        return self._cuts or None

    # A critical section is the interpreter lock, or without that a lock of this object. No Python code runs between a
    # look at the pool and the change that follows from it (see _batch.pyx). A worker is read by its owner alone: one
    # that is in the pool, by whoever is in the section.

    cdef Worker take(self, Dropout dropout=None, uint64_t position=0, int width=4):
        cdef PyObject* idle = bp_take_worker(&self._idle)
        cdef Worker worker = None
        if self.tables is None:
            raise TypeError("this tokenizer has not been set up")
        if idle != NULL:
            worker = <Worker> idle
            Py_DECREF(worker)                          # the reference of the slot
        else:
            with cython.critical_section(self):
                if self._pool:
                    worker = self._pool.pop()
            if worker is None:
                worker = Worker(self.tables, self._cache_bytes)
        worker.used, worker.text_number, worker.position, worker.dropout = 0, 0, position, dropout
        worker.capacity = worker.capacity * worker.width // width
        worker.width = width
        worker.wants_prefix = self.tables.prefixed
        bp_watch_begin(&worker.watch, NULL)
        return worker

    cdef void give(self, Worker worker):
        cdef PyObject* before
        cdef Worker other
        cdef Py_ssize_t most
        shrink(worker)
        worker.dropout = None
        Py_INCREF(worker)
        before = bp_give_worker(&self._idle, <PyObject*> worker)
        if before != NULL:
            other = <Worker> before
            Py_DECREF(other)                           # the reference of the slot
            most = thread_count(None) - 1              # each keeps a cache, and more can hardly work at once
            with cython.critical_section(self):
                if len(self._pool) < most:
                    self._pool.append(other)

    cdef int encode(self, Worker worker, object text, Specials specials) except -1:
        cdef text_view view
        cdef Py_ssize_t offset = 0
        cdef int status
        view_text(text, &view)
        if not self.scanned_alone:
            return _encode_in_python(self, worker, text, specials)
        if view.length <= KEEP_LOCK:
            status = encode_text(worker, specials, &view, &offset)
        else:
            with nogil:
                bp_cache_loosen(&worker.cache)
                status = encode_text(worker, specials, &view, &offset)
        return self.check(status, worker, text, specials, offset) if status != DONE else 0

    cdef int check(self, int status, Worker worker, object text, Specials specials, Py_ssize_t offset) except -1:
        if status == NO_TOKEN and worker.rewrites:     # the offset is in rewritten text: the error has to say so
            _encode_in_python(self, worker, text, specials)
        return check_status(status, text, offset)

    cdef object scanned(self, object text, text_view* view):
        cdef bint kept = self.scanned_alone
        view_text(text, view)
        if kept and self.tables.rewriter is not None:
            if view.utf8 == NULL:
                text = str.encode(text, "utf-8")
                view_text(text, view)
            with nogil:
                kept = self.tables.rewriter.kept(view.utf8, view.length, True) >= 0
        return text if kept else None

    def encode_items(self, Worker worker not None, items):
        """Append the ids of the items that a pipeline yields."""
        cdef token_t special
        for item in items:
            worker.wants_prefix = False            # a space before the text is in it already
            if isinstance(item, bytes):
                _encode_span_in_python(self, worker, item, 0, True)
            elif isinstance(item, tuple):
                encode_cut(worker, item[0], item[1], 0, True)
            else:
                special = item
                check_status(worker.put(&special, 1), "", 0)


cdef void shrink(Worker worker) noexcept nogil:
    """Free what a single large text has taken."""
    if worker.capacity > KEEP_OUTPUT:
        bp_free(worker.out)
        worker.out = NULL
        worker.capacity = 0
    if worker.window.capacity > KEEP_WINDOW:
        free(worker.window.bytes)
        worker.window.bytes = NULL
        worker.window.capacity = 0
    if worker.rewritten.capacity > KEEP_WINDOW:
        free(worker.rewritten.bytes)
        worker.rewritten.bytes = NULL
        worker.rewritten.capacity = 0
    if max(worker.space.capacity, worker.space.rank_capacity) > KEEP_SPACE:
        space_free(&worker.space)


cdef int _encode_in_python(Encoder encoder, Worker worker, object text, Specials specials) except -1:
    cdef bytes data = str.encode(text, "utf-8") if isinstance(text, str) else bytes(text)
    cdef Py_ssize_t at = 0
    cdef token_t special
    worker.wants_prefix = worker.tables.prefixed
    if encoder._pipeline is not None:
        encoder.encode_items(worker, encoder._pipeline.items(data.decode("utf-8"), specials))
        return 0
    if specials is not None:
        for start, end, token_id in specials.cut(data):
            _encode_span_in_python(encoder, worker, data[at:start], at)
            special = token_id
            check_status(worker.put(&special, 1), text, 0)
            worker.wants_prefix = worker.tables.restarts
            at = end
    return _encode_span_in_python(encoder, worker, data[at:] if at else data, at)


# Append the ids of UTF-8 text.
# IN: ends: the end of each pre-token, in bytes, ascending; base, rewritten: as for check_status.
cdef int encode_cut(Worker worker, bytes data, const long long[::1] ends, Py_ssize_t base, bint rewritten) except -1:
    cdef Py_ssize_t block[BP_BLOCK]
    cdef Py_ssize_t n = ends.shape[0], i, size, at = 0, start = 0, length = PyBytes_GET_SIZE(data), offset = 0
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef int status = DONE
    with nogil:
        while at < n and status == DONE:
            size = min(<Py_ssize_t> BP_BLOCK, n - at)
            for i in range(size):
                block[i] = ends[at + i]
            status = encode_pretokens(worker, text, start, block, size, length, &offset)
            start = block[size - 1]
            at += size
    return check_status(status, data, offset, base, rewritten)


cdef int _encode_span_in_python(Encoder encoder, Worker worker, bytes data, Py_ssize_t base,
                                bint rewritten=False) except -1:
    cdef Py_ssize_t offset = 0, length
    cdef const uint8_t* text
    cdef int status
    if encoder.tables.rewriter is not None and encoder._pipeline is None:
        given, data = data, encoder.tables.rewriter.beginning(data, True)[0]
        rewritten = data != given
    if not data:
        return 0
    if encoder.tables.scanner is None:
        return encode_cut(worker, data, encoder._pretokenizer.ends(data), base, rewritten)
    text = <const uint8_t*> PyBytes_AS_STRING(data)
    length = PyBytes_GET_SIZE(data)
    with nogil:
        status = worker.encode_span(text, length, &offset)
    return check_status(status, data, offset, base, rewritten)
