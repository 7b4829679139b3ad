"""One long text over several threads.

The text is cut at any characters and every thread encodes its part, reading on past its end to the end of a pre-token.
A thread that starts inside a pre-token cuts wrongly at first, but a scan that stands at an end of one depends
on nothing before it: as soon as the thread of the part before ends where this part has an end too, both go on
alike. So each part keeps the first few hundred of its ends; behind them the ids are certain, what is before them is
encoded again from where the part before stopped. A part that never meets (one pre-token over several parts) is encoded
again as a whole. The ids are those of one thread, for any pattern that looks ahead only, which all compiled ones do.

Text that has to be rewritten to UTF-8 goes through this in rounds, so memory stays bounded.
"""
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memmove

from ._encode cimport Encoder, text_view
from ._scan cimport scan_cursor
from ._special cimport Specials
from ._types cimport token_t
from ._worker cimport BP_BLOCK, DONE, NO_MEMORY, NO_UTF8, Worker

import threading

cdef extern from "_utf8.h" nogil:
    enum:
        BP_UTF8_SLACK
    Py_ssize_t bp_utf8_from_units(int kind, const void* units, Py_ssize_t start, Py_ssize_t end, uint8_t* out,
                                  Py_ssize_t* bad) noexcept

cdef enum:
    PART_BYTES = 1 << 18       # a part is at least so long
    WINDOW = 1 << 16           # text that is looked at behind a part
    MEETINGS = 512             # ends that a part keeps
    ROUND = 1 << 21            # characters rewritten to UTF-8 for each thread in a round


cdef class _Part:
    """What one thread does: text[start:stop], to the first end of a pre-token at or behind stop."""
    cdef Worker worker
    cdef Specials specials
    cdef const uint8_t* text
    cdef Py_ssize_t length         # of the whole text
    cdef bint final                # more text follows behind length
    cdef Py_ssize_t start, stop
    cdef Py_ssize_t end            # where it has come to; behind stop, or as far as the text is certain
    cdef int status
    cdef Py_ssize_t places[MEETINGS]   # ends of pre-tokens, from start itself on
    cdef Py_ssize_t counts[MEETINGS]   # ids before each
    cdef Py_ssize_t kept

    cdef void keep(self, Py_ssize_t place) noexcept nogil:
        if self.kept < MEETINGS:
            self.places[self.kept] = place
            self.counts[self.kept] = self.worker.used
            self.kept += 1

    cdef void run(self, Py_ssize_t meetings) noexcept nogil:
        """Encode the part; keep the first `meetings` ends."""
        cdef Py_ssize_t at = self.start, window = self.stop + WINDOW, reached, limit, found, which = 0
        cdef bint last
        self.status = DONE
        self.kept = 0
        self.keep(at)
        while at < self.stop and self.status == DONE:
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
                at = self.stretch(at, found, True, meetings)
                if at == found and at < self.stop and self.status == DONE:
                    self.status = self.worker.put(self.specials.ids[which])
                    at += <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
                    self.keep(at)
                continue
            reached = at
            if limit > at:
                reached = self.stretch(at, limit, last, meetings)
            if reached < self.stop and window >= self.length:
                at = reached
                break                              # the rest is open
            # A stretch that closed no pre-token is looked at again, twice as far.
            window += (WINDOW if reached > at else window - at)
            at = reached
        self.end = at

    cdef Py_ssize_t stretch(self, Py_ssize_t at, Py_ssize_t end, bint final, Py_ssize_t meetings) noexcept nogil:
        """Encode text[at:end], ordinary text, until the part is done; returns how far it came."""
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef Py_ssize_t start = 0, n, i
        cdef const uint8_t* text = self.text + at
        self.worker.core.scanner.begin(&cursor, text, end - at, final)
        while self.status == DONE and at + start < self.stop:
            n = self.worker.core.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                break
            if at + ends[n - 1] >= self.stop:
                i = 0
                while at + ends[i] < self.stop:
                    i += 1
                n = i + 1
            if self.kept < meetings:
                n = 1 if n < 1 else n
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


cdef class LongEncoder(Encoder):
    """An Encoder that can give one text to several threads; the arguments are those of Encoder."""

    cdef int _encode_long(self, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1:
        cdef text_view view
        cdef Py_ssize_t filled = 0, at = 0, end, bad = -1, done = 0, round_units
        cdef Py_ssize_t widest
        self._view(text, &view)
        if not self._compiled or view.length < 2 * PART_BYTES:
            return self._encode(worker, text, specials)
        if view.utf8 != NULL:
            self._run_parts(worker, specials, view.utf8, view.length, True, threads, text)
            return 0
        widest = 2 if view.kind == 1 else 3 if view.kind == 2 else 4
        round_units = ROUND * threads
        while at < view.length:
            end = min(at + max(round_units, filled // widest), view.length)
            with nogil:
                if not worker.reserve_piece(filled + (end - at) * widest + BP_UTF8_SLACK):
                    bad = -2
                else:
                    filled += bp_utf8_from_units(view.kind, view.units, at, end, worker.piece + filled, &bad)
            if bad != -1:
                self._check(NO_MEMORY if bad == -2 else NO_UTF8, worker, text)
            at = end
            done = self._run_parts(worker, specials, worker.piece, filled, at == view.length, threads, text)
            filled -= done
            memmove(worker.piece, worker.piece + done, filled)
        return 0

    cdef Py_ssize_t _run_parts(self, Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length,
                               bint final, Py_ssize_t threads, object given) except -1:
        """Append the ids of a text, or of as much of it as is certain; returns how much."""
        cdef Py_ssize_t count = max(<Py_ssize_t> 1, min(threads, length // PART_BYTES)), i, cut = 0, place
        cdef _Part part, first
        cdef list parts = [], helpers = []
        for i in range(count):
            part = _Part()
            part.worker = worker if i == 0 else self._take()
            part.specials = specials
            part.text = text
            part.length = length
            part.final = final
            part.start = cut
            cut = length // count * (i + 1) if i + 1 < count else length
            while cut < length and text[cut] & 0xC0 == 0x80:
                cut += 1
            part.stop = cut
            parts.append(part)
        first = parts[0]
        for part in parts[1:]:
            helper = threading.Thread(target=_run_part, args=(part,))
            helper.start()
            helpers.append(helper)
        try:
            with nogil:
                first.run(0)
        finally:
            for helper in helpers:
                helper.join()
        self._check(first.status, worker, given)
        place = first.end
        for part in parts[1:]:
            place = _append(self, worker, first, part, place, given)
            self._give(part.worker)
        return place


cdef Py_ssize_t _append(LongEncoder encoder, Worker worker, _Part own, _Part part, Py_ssize_t place,
                        object given) except -1:
    """Go on from `place` until the part's ends are met, then take over its ids; returns where that leads."""
    cdef Py_ssize_t met = -1, skipped
    if part.status == DONE:
        met = part.meeting(place)
        while met < 0 and place < part.places[part.kept - 1]:
            own.start = place                  # one pre-token or special token further
            own.stop = place + 1
            with nogil:
                own.run(0)
            encoder._check(own.status, worker, given)
            if own.end == place:
                return place                   # the text is open from here on
            place = own.end
            met = part.meeting(place)
    if met < 0:
        own.start = place
        own.stop = part.stop
        if place < part.stop:
            with nogil:
                own.run(0)
            encoder._check(own.status, worker, given)
            place = own.end
        return place
    skipped = part.counts[met]
    if not worker.reserve(part.worker.used - skipped):
        raise MemoryError()
    with nogil:
        memcpy(worker.out + worker.used, part.worker.out + skipped,
               (part.worker.used - skipped) * sizeof(token_t))
    worker.used += part.worker.used - skipped
    return part.end


def _run_part(_Part part):
    with nogil:
        part.run(MEETINGS)
