"""One long text over several threads.

The text is cut at any characters into parts. Threads take one part after the other and encode it, reading on past its
end to the end of a pre-token. A part that starts inside a pre-token is cut wrongly at first, but a scan that stands at
an end of one depends on nothing before it: as soon as the part before ends where this part has an end too, both go on
alike. So each part keeps its first few ends; behind them the ids are certain, what is before them is encoded again from
where the part before stopped. A part that never meets (one pre-token over several parts) is encoded again as a whole.
The ids are those of one thread, for any pattern that looks ahead only, which all compiled ones do.

Each thread rewrites its parts to UTF-8 itself, piece by piece, where the text is not in UTF-8 already.
"""
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memmove

from ..headers.utf8 cimport BP_UTF8_SLACK, bp_utf8_count, bp_utf8_from_units
from ..splitting._scan cimport scan_cursor
from ._encode cimport Encoder, guess_ids, text_view
from ._gather cimport Buffer, Gather, Share
from ._special cimport Specials
from ._worker cimport BP_BLOCK, DONE, NO_MEMORY, NO_UTF8, Worker

from functools import partial

from ._threads import together

cdef enum:
    ALONE = 1 << 19            # bytes or characters; a second thread is not worth its start below this
    SMALLEST_PART = 1 << 17
    LARGEST_PART = 1 << 19     # its ids stay in the second-level cache until they are copied
    WINDOW = 1 << 16           # text that is looked at behind a part
    MEETINGS = 64              # ends that a part keeps
    READ_ON = 1 << 20          # how far behind its stop a part looks for the end of a pre-token
    PIECE = 1 << 15            # characters rewritten to UTF-8 at a time


cdef class _Part:
    """What one thread does: from start on to the first end of a pre-token at or behind stop.

    Places are bytes of a text in UTF-8, else characters.
    """
    cdef Worker worker
    cdef Specials specials
    cdef const text_view* view
    cdef Py_ssize_t start, stop
    cdef Py_ssize_t end                # where it has come to
    cdef int status
    cdef Py_ssize_t places[MEETINGS]   # ends of pre-tokens, from start itself on
    cdef Py_ssize_t counts[MEETINGS]   # ids before each
    cdef Py_ssize_t kept
    cdef Buffer made                   # its ids, or None as long as it is not done
    # The text in UTF-8 that is read at the moment, all or a piece.
    cdef const uint8_t* text
    cdef Py_ssize_t length
    cdef bint final                    # nothing follows behind length

    cdef void keep(self, Py_ssize_t place) noexcept nogil:
        if self.kept < MEETINGS:
            self.places[self.kept] = place
            self.counts[self.kept] = self.worker.used
            self.kept += 1

    cdef void run(self, Py_ssize_t meetings) noexcept nogil:
        """Encode the part; keep the first `meetings` ends."""
        self.status = DONE
        self.kept = 0
        self.keep(self.start)
        if self.view.utf8 == NULL:
            self.run_units(meetings)
            return
        self.text = self.view.utf8
        self.length = self.view.length
        self.final = True
        self.end = self.run_bytes(self.start, self.stop, meetings)

    cdef void run_units(self, Py_ssize_t meetings) noexcept nogil:
        cdef Py_ssize_t base = self.start, read = base, filled = 0, stop = 0, bad = -1, done, to, first
        cdef Py_ssize_t widest = 2 if self.view.kind == 1 else 3 if self.view.kind == 2 else 4
        while base < self.stop and self.status == DONE:
            # A piece that closed no pre-token is followed by one of twice the size. One ends where the part stops, so
            # that it is known which byte of a piece that is.
            to = min(read + max(<Py_ssize_t> PIECE, filled // widest), self.view.length)
            if read < self.stop:
                to = min(to, self.stop)
            if not self.worker.reserve_piece(filled + (to - read) * widest + BP_UTF8_SLACK):
                self.status = NO_MEMORY
                break
            filled += bp_utf8_from_units(self.view.kind, self.view.units, read, to, self.worker.piece + filled, &bad)
            if bad >= 0:
                self.status = NO_UTF8
                break
            if read < self.stop:
                stop = filled
            read = to
            self.text = self.worker.piece
            self.length = filled
            self.final = read == self.view.length
            first = self.kept
            done = self.run_bytes(0, stop, meetings)
            if self.status != DONE:
                break
            while first < self.kept:
                self.places[first] = base + bp_utf8_count(self.worker.piece, self.places[first])
                first += 1
            filled -= done
            base = read - bp_utf8_count(self.worker.piece + done, filled)
            stop -= done
            memmove(self.worker.piece, self.worker.piece + done, filled)
            if meetings and read - self.stop > READ_ON:
                break
        self.end = base

    cdef Py_ssize_t run_bytes(self, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t meetings) noexcept nogil:
        """Encode text[at:] up to the first end at or behind stop, or as far as it is certain; returns how far."""
        cdef Py_ssize_t window = stop + WINDOW, reached, limit, found, which = 0
        cdef bint last
        while at < stop and self.status == DONE:
            last = window >= self.length
            limit = self.length if last else window
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
                at = self.stretch(at, found, True, stop, meetings)
                if at == found and at < stop and self.status == DONE:
                    self.status = self.worker.put(self.specials.ids[which])
                    at += <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
                    self.keep(at)
                continue
            reached = at
            if limit > at:
                reached = self.stretch(at, limit, last, stop, meetings)
            if reached < stop and (window >= self.length or (meetings and self.text == self.view.utf8
                                                             and window - stop > READ_ON)):
                at = reached
                break                              # the rest is open, or for the parts that follow to see
            # A stretch that closed no pre-token is looked at again, twice as far.
            window += (WINDOW if reached > at else window - at)
            at = reached
        return at

    cdef Py_ssize_t stretch(self, Py_ssize_t at, Py_ssize_t end, bint final, Py_ssize_t stop,
                            Py_ssize_t meetings) noexcept nogil:
        """Encode text[at:end], ordinary text, until the part is done; returns how far it came."""
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef Py_ssize_t start = 0, n, i
        cdef const uint8_t* text = self.text + at
        self.worker.core.scanner.begin(&cursor, text, end - at, final)
        while self.status == DONE and at + start < stop:
            n = self.worker.core.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                break
            if at + ends[n - 1] >= stop:
                i = 0
                while at + ends[i] < stop:
                    i += 1
                n = i + 1
            if self.kept < meetings:
                for i in range(n):
                    self.status = self.worker.encode_block(text, ends[i - 1] if i else start, ends + i, 1,
                                                           self.length - at)
                    if self.status != DONE:
                        break
                    self.keep(at + ends[i])
            else:
                self.status = self.worker.encode_block(text, start, ends, n, self.length - at)
            start = ends[n - 1]
        self.worker.bad += at
        return at + start

    cdef Py_ssize_t meeting(self, Py_ssize_t place) noexcept nogil:
        """The number of a kept end, or -1."""
        cdef Py_ssize_t low = 0, high = self.kept, middle
        while low < high:
            middle = (low + high) >> 1
            if self.places[middle] < place:
                low = middle + 1
            else:
                high = middle
        return low if low < self.kept and self.places[low] == place else -1


cdef class _Job:
    """The parts of one text, and how far they have been put together."""
    cdef text_view view
    cdef object text
    cdef list parts
    cdef Py_ssize_t next_part
    cdef Py_ssize_t next_put
    cdef bint putting              # some thread is at it
    cdef Py_ssize_t place          # up to where the ids have been put
    cdef _Part own                 # encodes again what parts have cut wrongly
    cdef Share share               # of the thread that does
    cdef Gather gather
    cdef object error

    def fail(self, error):
        """Let the threads end: somebody has seen an error."""
        if self.error is None:
            self.error = error


cdef class LongEncoder(Encoder):
    """An Encoder that can give one text to several threads; the arguments are those of Encoder."""

    cdef int _encode_long(self, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1:
        cdef _Job job = _Job()
        cdef _Part part
        cdef Buffer made
        cdef Py_ssize_t size, cut = 0, length
        self._view(text, &job.view)
        length = job.view.length
        if not self._compiled or length < ALONE:
            return self._encode(worker, text, specials)
        size = min(<Py_ssize_t> LARGEST_PART, max(<Py_ssize_t> SMALLEST_PART, length // (4 * threads)))
        job.text = text
        job.parts = []
        while cut < length:
            part = _Part()
            part.specials = specials
            part.view = &job.view
            part.start = cut
            cut = length if length - cut < 2 * size else cut + size
            while job.view.utf8 != NULL and cut < length and job.view.utf8[cut] & 0xC0 == 0x80:
                cut += 1
            part.stop = cut
            job.parts.append(part)
        job.own = _Part()
        job.own.specials = specials
        job.own.view = &job.view
        job.gather = Gather(guess_ids(&job.view))
        together(partial(self._work_long, job, worker), partial(self._work_long, job, None),
                 min(threads, <Py_ssize_t> len(job.parts)) - 1, job.fail)
        if job.error is not None:
            raise job.error
        made = job.gather.finish()
        free(worker.out)
        worker.out, worker.used, worker.capacity = made.ids, made.used, made.used
        made.ids = NULL
        return 0

    def _work_long(self, _Job job, Worker worker):
        """Encode parts until none is left: what one thread does. Without a worker it takes one."""
        cdef bint own = worker is not None
        try:
            if not own:
                worker = self._take()
            work(self, job, worker)
        except BaseException as error:             # raised by the thread that called
            job.fail(error)
            return
        if not own and job.error is None:
            self._give(worker)


cdef int work(LongEncoder encoder, _Job job, Worker worker) except -1:
    cdef _Part part
    cdef Share share = job.gather.share()
    while job.next_part < len(job.parts) and job.error is None:
        part = job.parts[job.next_part]
        job.next_part += 1
        part.worker = worker
        with nogil:
            part.run(MEETINGS)
        part.worker = None
        part.made = job.gather.take(worker, share)
        put_done(encoder, job, worker, share)
        job.gather.copy(share)
    return 0


cdef int put_done(LongEncoder encoder, _Job job, Worker worker, Share share) except -1:
    cdef _Part part
    if job.putting:
        return 0                               # the thread that does looks for this part too
    job.putting = True
    job.own.worker, job.share = worker, share      # the worker has given away what it made
    while job.next_put < len(job.parts):
        part = job.parts[job.next_put]
        if part.made is None:
            break
        put(encoder, job, part)
        job.parts[job.next_put] = None
        job.next_put += 1
    job.own.worker = job.share = None
    job.putting = False
    return 0


cdef int put(LongEncoder encoder, _Job job, _Part part) except -1:
    """Go on until the part's ends are met, then take over its ids."""
    cdef Py_ssize_t met = -1
    if part.status == DONE:
        met = part.meeting(job.place)
        while met < 0 and job.place < part.places[part.kept - 1]:
            again(encoder, job, job.place + 1)    # one pre-token or special token further
            met = part.meeting(job.place)
    if met >= 0:
        put_own(job)
        job.gather.put(part.made, part.counts[met])
        job.place = part.end
    else:
        job.gather.drop(part.made)
    if job.place < part.stop:                  # not met, or the part did not come so far
        again(encoder, job, part.stop)
    put_own(job)
    return 0


cdef int put_own(_Job job) except -1:
    if job.own.worker.used:
        job.gather.put(job.gather.take(job.own.worker, job.share), 0)
    return 0


cdef int again(LongEncoder encoder, _Job job, Py_ssize_t stop) except -1:
    cdef _Part own = job.own
    own.start, own.stop = job.place, stop
    with nogil:
        own.run(0)
    if own.status != DONE and job.view.utf8 == NULL:
        own.worker.bad += len((<str> job.text)[:own.end].encode("utf-8", "surrogatepass"))
    encoder._check(own.status, own.worker, job.text)
    job.place = own.end
    return 0
