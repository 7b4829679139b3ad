"""One long text over several threads.

The text is cut at arbitrary characters into sections. Threads take one section after the other and encode it, reading
on past its stop to the end of a pre-token. A section that starts inside a pre-token is cut wrongly at first, but a scan
that is at the end of a pre-token depends on nothing before it: as soon as the section before ends where this section
has an end too, both go on alike. So each section keeps a few ends near its start; after a common end the ids are
certain, and what is before it is encoded again from where the section before stopped. A section that never meets the
one before (one pre-token over several sections) is encoded again as a whole. The ids are those of one thread, for any
pattern that looks ahead only, as all compiled ones do.

Each thread rewrites its sections to UTF-8 itself, window by window, where the text is not in UTF-8 already.
"""
from libc.stdint cimport uint8_t

from ..headers cimport bp_stop, bp_watch_begin, bp_watch_check
from ..headers.vectors cimport bp_utf8_count
from ..splitting.scan._scan cimport Scanner, scan_cursor
from ._encode cimport Encoder, check
from ._gather cimport Buffer, Gather, Share
from ._id_memory cimport ids_free
from ._special cimport Specials
from ._text cimport DONE, guess_ids, text_view, utf8_window, view_text, window_drop, window_extend
from ._worker cimport BP_BLOCK, Worker

from functools import partial

from ._threads import next_share, together, worthwhile

cdef enum:
    ALONE = 1 << 19            # bytes or characters; a second thread is not worth its start below this
    LARGEST_SECTION = 1 << 18  # its ids stay in the second-level cache until they are copied
    LOOK_AHEAD = 1 << 16       # text that is looked at after a section
    MEETINGS = 8               # ends that a section keeps, up to 127 pre-tokens after its start
    TAIL = 1 << 10             # units that are rewritten after a section at first, then twice as many
    READ_ON = 1 << 20          # how far after its stop a section looks for the end of a pre-token


cdef class _Section:
    """What one thread encodes: from start on to the first end of a pre-token at or after stop.

    Positions are bytes of a text in UTF-8, else characters.
    """
    cdef Worker worker
    cdef Specials specials
    cdef const text_view* view
    cdef Py_ssize_t start, stop
    cdef Py_ssize_t end                    # up to where it has been encoded
    cdef int status
    cdef Py_ssize_t bad                    # on NO_TOKEN, the byte in `text` that has none
    cdef Py_ssize_t positions[MEETINGS]    # ends of pre-tokens, from start itself on
    cdef Py_ssize_t counts[MEETINGS]       # ids before each
    cdef Py_ssize_t kept
    cdef Buffer made                       # its ids; None until it is done
    # The text in UTF-8 that is read at the moment, all or a window.
    cdef const uint8_t* text
    cdef Py_ssize_t length
    cdef bint final                        # nothing follows after length

    cdef void keep(self, Py_ssize_t position) noexcept nogil:
        if self.kept < MEETINGS:
            self.positions[self.kept] = position
            self.counts[self.kept] = self.worker.used
            self.kept += 1

    cdef void encode(self, Py_ssize_t meetings) noexcept nogil:
        """Encode the section; keep up to `meetings` ends near its start."""
        self.status = DONE
        self.kept = 0
        self.keep(self.start)
        if self.view.utf8 == NULL:
            self.encode_units(meetings)
            return
        self.text = self.view.utf8
        self.length = self.view.length
        self.final = True
        self.end = self.encode_bytes(self.start, self.stop, meetings)

    cdef void encode_units(self, Py_ssize_t meetings) noexcept nogil:
        # Invariant: the window holds the units from self.end to window.read; stop is self.stop in its bytes, or, as
        # long as it has not been read, how many bytes there are.
        cdef utf8_window* window = &self.worker.window
        cdef Py_ssize_t stop = 0, done, first
        window.filled = 0
        window.read = self.end = self.start
        while self.end < self.stop:
            # A window ends at self.stop, so that it is known which of its bytes that is.
            first = window.read
            self.status = window_extend(window, self.view, self.stop if first < self.stop else min(
                self.view.length, self.stop + max(<Py_ssize_t> TAIL, 2 * (first - self.stop))))
            if self.status != DONE:
                return
            if first < self.stop:
                stop = window.filled
            self.text = window.bytes
            self.length = window.filled
            self.final = window.read == self.view.length
            first = self.kept
            done = self.encode_bytes(0, stop, meetings)
            if self.status != DONE:
                return
            while first < self.kept:
                self.positions[first] = self.end + bp_utf8_count(window.bytes, self.positions[first])
                first += 1
            stop -= done
            window_drop(window, done)
            self.end = window.read - bp_utf8_count(window.bytes, window.filled)
            if meetings and window.read - self.stop > READ_ON:
                return

    cdef Py_ssize_t encode_bytes(self, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t meetings) noexcept nogil:
        """Encode text[at:] up to the first end at or after stop, or as far as it is certain; returns how far."""
        cdef Py_ssize_t ahead = stop + LOOK_AHEAD, reached, limit, found, which = 0
        cdef bint last
        while at < stop and self.status == DONE:
            last = ahead >= self.length
            limit = self.length if last else ahead
            last = last and self.final
            found = -1
            if self.specials is not None and self.specials.size:
                found = self.specials.find(self.text, at, limit, &which)
                if not last:
                    limit -= self.specials.longest
                    if found >= limit:
                        found = -1
            if not last and found < 0:
                while limit > at and self.text[limit] & 0xC0 == 0x80:
                    limit -= 1
            if found >= 0:
                at = self.encode_ordinary(self.worker, self.worker.core.scanner, at, found, True, stop, meetings)
                if at == found and at < stop and self.status == DONE:
                    self.status = self.worker.put(self.specials.ids[which])
                    at += <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
                    self.keep(at)
                continue
            reached = at
            if limit > at:
                reached = self.encode_ordinary(self.worker, self.worker.core.scanner, at, limit, last, stop, meetings)
            if reached < stop and (ahead >= self.length or (meetings and self.text == self.view.utf8
                                                            and ahead - stop > READ_ON)):
                at = reached
                break                              # the rest is open, or left to the sections that follow
            # Text that closed no pre-token is looked at again, twice as far.
            ahead += (LOOK_AHEAD if reached > at else ahead - at)
            at = reached
        return at

    cdef Py_ssize_t encode_ordinary(self, Worker worker, Scanner scanner, Py_ssize_t at, Py_ssize_t end, bint final,
                                    Py_ssize_t stop, Py_ssize_t meetings) noexcept nogil:
        """Encode text[at:end], ordinary text, until the section is done; returns how far it came.

        Worker and scanner are arguments, since each step to them would wait for the second-level cache, block by block.
        """
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef Py_ssize_t start = 0, n, i, size
        cdef const uint8_t* text = self.text + at
        scanner.begin(&cursor, text, end - at, final)
        while self.status == DONE and at + start < stop:
            n = scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                break
            if at + ends[n - 1] >= stop:
                i = 0
                while at + ends[i] < stop:
                    i += 1
                n = i + 1
            i = 0
            while self.kept < meetings and i < n and self.status == DONE:
                size = min(<Py_ssize_t> 1 << (self.kept - 1), n - i)
                self.status = worker.encode_block(text, ends[i - 1] if i else start, ends + i, size, self.length - at,
                                                  &self.bad)
                i += size
                if self.status == DONE:
                    self.keep(at + ends[i - 1])
            if i < n and self.status == DONE:
                self.status = worker.encode_block(text, ends[i - 1] if i else start, ends + i, n - i, self.length - at,
                                                  &self.bad)
            if self.status != DONE:
                self.bad += at
            start = ends[n - 1]
        return at + start

    cdef Py_ssize_t meeting(self, Py_ssize_t position) noexcept nogil:
        """The index of a kept end, or -1."""
        cdef Py_ssize_t low = 0, high = self.kept, middle
        while low < high:
            middle = (low + high) >> 1
            if self.positions[middle] < position:
                low = middle + 1
            else:
                high = middle
        return low if low < self.kept and self.positions[low] == position else -1


cdef class _Job:
    """The sections of one text, and how far their ids have been joined."""
    cdef text_view view
    cdef object text
    cdef list sections
    cdef Py_ssize_t next_section           # to be encoded
    cdef Py_ssize_t next_join
    cdef bint joining                      # by some thread
    cdef Py_ssize_t position               # up to where the ids have been joined
    cdef _Section own                      # encodes again what other sections have cut wrongly
    cdef Share share                       # of the thread that does
    cdef Gather gather
    cdef object error
    cdef int stop                          # not 0 when the threads are to end

    def fail(self, error):
        """Let the threads end: one of them has met an error."""
        if self.error is None:
            self.error = error
        bp_stop(&self.stop)

    cdef int cut(self, Specials specials, Py_ssize_t threads) except -1:
        cdef _Section section
        cdef Py_ssize_t cut = 0, length = self.view.length, size
        self.sections = []
        while cut < length:
            section = _Section()
            section.specials = specials
            section.view = &self.view
            section.start = cut
            size = next_share(length - cut, threads, LARGEST_SECTION)
            cut = length if length - cut < 2 * size else cut + size
            while self.view.utf8 != NULL and cut < length and self.view.utf8[cut] & 0xC0 == 0x80:
                cut += 1
            section.stop = cut
            self.sections.append(section)
        self.own = _Section()
        self.own.specials = specials
        self.own.view = &self.view
        return 0

    cdef int encode(self, Worker worker) except -1:
        """Encode sections until none is left: what one thread does."""
        cdef _Section section
        cdef Share share = self.gather.share()
        while self.next_section < len(self.sections) and self.error is None:
            section = self.sections[self.next_section]
            self.next_section += 1
            section.worker = worker
            with nogil:
                section.encode(MEETINGS)
            bp_watch_check(&worker.watch)
            section.worker = None
            section.made = self.gather.take(worker, share)
            self.join_done(worker, share)
            self.gather.copy(share)
        return 0

    cdef int join_done(self, Worker worker, Share share) except -1:
        cdef _Section section
        if self.joining:
            return 0                               # the thread that joins looks for this section too
        self.joining = True
        self.own.worker, self.share = worker, share    # the worker has given away its output
        while self.next_join < len(self.sections):
            section = self.sections[self.next_join]
            if section.made is None:
                break
            self.join(section)
            self.sections[self.next_join] = None
            self.next_join += 1
        self.own.worker = self.share = None
        self.joining = False
        return 0

    cdef int join(self, _Section section) except -1:
        """Go on until the section's ends are met, then take over its ids."""
        cdef Py_ssize_t met = -1
        if section.status == DONE:
            met = section.meeting(self.position)
            while met < 0 and self.position < section.positions[section.kept - 1]:
                self.encode_again(self.position + 1)   # one pre-token or special token further
                met = section.meeting(self.position)
        if met >= 0:
            self.join_own()
            self.gather.put(section.made, section.counts[met])
            self.position = section.end
        else:
            self.gather.drop(section.made)
        if self.position < section.stop:           # not met, or the section did not come so far
            self.encode_again(section.stop)
        self.join_own()
        return 0

    cdef int join_own(self) except -1:
        if self.own.worker.used:
            self.gather.put(self.gather.take(self.own.worker, self.share), 0)
        return 0

    cdef int encode_again(self, Py_ssize_t stop) except -1:
        cdef _Section own = self.own
        own.start, own.stop = self.position, stop
        with nogil:
            own.encode(0)
        bp_watch_check(&own.worker.watch)
        if own.status != DONE:
            if self.view.utf8 == NULL:
                own.bad += len((<str> self.text)[:own.end].encode("utf-8", "surrogatepass"))
            check(own.status, self.text, own.bad)
        self.position = own.end
        return 0


def _encode_sections(_Job job, Worker worker):
    """What the thread that called does."""
    job.encode(worker)


def _help(Encoder encoder, _Job job):
    """What another thread does."""
    cdef Worker worker = None
    try:
        worker = encoder.take_taught()
        bp_watch_begin(&worker.watch, &job.stop)
        job.encode(worker)
    except BaseException as error:                 # raised by the thread that called
        job.fail(error)
    finally:
        if worker is not None:
            encoder.give(worker)


cdef int encode_long(Encoder encoder, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1:
    cdef _Job job = _Job()
    cdef Buffer made
    view_text(text, &job.view)
    if not encoder.compiled or job.view.length < ALONE:
        return encoder.encode(worker, text, specials)
    threads = worthwhile(threads, job.view.length)
    job.text = text
    job.cut(specials, threads)
    job.gather = Gather(guess_ids(&job.view))
    threads = min(threads, <Py_ssize_t> len(job.sections))
    if threads > 1:
        encoder.teach(worker, threads - 1)
    together(partial(_encode_sections, job, worker), partial(_help, encoder, job), threads - 1, job.fail)
    if job.error is not None:
        raise job.error
    made = job.gather.finish()
    ids_free(worker.out, worker.capacity)
    worker.out, worker.used, worker.capacity = made.ids, made.used, made.capacity
    made.ids, made.capacity = NULL, 0
    return 0
