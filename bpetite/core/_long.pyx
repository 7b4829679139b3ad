"""One long text over several threads.

The text is cut at arbitrary characters into sections. Threads take one section after the other and encode it, reading
on past its stop to the end of a pre-token. A section that starts inside a pre-token is cut wrongly at first. But a scan
at the end of a pre-token depends on nothing before it: as soon as the previous section and this one have an end in
common, the two scans agree. So each section keeps a few ends near its start. After a common end its ids are certain;
the part before it is encoded again, from the stop of the previous section. A section that never meets the previous one
(a pre-token over several sections) is encoded again as a whole. The ids are the ids of one thread for any pattern
that only looks ahead, as all compiled patterns do.

Each thread rewrites its sections to UTF-8 itself, window by window, where the text is not in UTF-8 already.
"""
from ..headers cimport bp_free, bp_watch_check
from ._batch cimport Gather, Job, SectionIds, taken
from ._encode cimport Encoder, encode_checked, encode_stretch
from ._ids cimport IdMemory
from ._special cimport Specials
from ._text cimport DONE, guess_ids, text_stretch, text_view, view_text
from ._worker cimport Worker

from ._threads import next_size, worthwhile

cdef enum:
    ALONE = 1 << 19            # bytes or characters; a second thread is not worth its start below this
    LARGEST_SECTION = 1 << 18  # its ids stay in the second-level cache until they are copied
    READ_ON = 1 << 20          # reach of the search for the end of a pre-token after the stop of a section
    MEETINGS = 9               # ends that a section keeps: its start, and eight after it
    FIRST_MEETING = 16         # so many bytes or units, 32, 64, ... 2048 after it


cdef class _Section:
    """The work of one thread: from start to the first end of a pre-token at or after stop.

    Positions are bytes of a text in UTF-8, else units.
    """
    cdef Py_ssize_t start, stop
    cdef Py_ssize_t end                    # of the encoded part
    cdef int status
    cdef Py_ssize_t positions[MEETINGS]    # ends of pre-tokens, from start itself on
    cdef Py_ssize_t counts[MEETINGS]       # ids before each
    cdef bint at_starts[MEETINGS]          # at each: Worker.at_start
    cdef Py_ssize_t kept
    cdef bint at_start                     # the same at its end


cdef class _Text(Job):
    """One text, its sections, and the progress of joining their ids."""
    cdef text_view view
    cdef object text
    cdef Specials specials
    cdef list sections
    cdef Py_ssize_t position               # end of the joined part
    cdef bint at_start                     # Worker.at_start there

    cdef int cut(self, Py_ssize_t threads) except -1:
        cdef _Section section
        cdef Py_ssize_t cut = 0, length = self.view.length, size
        self.sections = []
        while cut < length:
            section = _Section()
            section.start = cut
            size = next_size(length - cut, threads, LARGEST_SECTION)
            cut = length if length - cut < 2 * size else cut + size
            while self.view.utf8 != NULL and cut < length and self.view.utf8[cut] & 0xC0 == 0x80:
                cut += 1
            section.stop = cut
            self.sections.append(section)
        self.count = len(self.sections)
        return 0

    cdef int encode(self, Worker worker, Py_ssize_t number) except -1:
        cdef _Section section = self.sections[number]
        with nogil:
            _encode_section(section, worker, self.specials, &self.view)
        bp_watch_check(&worker.watch)
        return 0

    cdef int join(self, Worker worker, list waiting, SectionIds made, Py_ssize_t number) except -1:
        """Go on until the section's ends are met, then take over its ids."""
        cdef _Section section = self.sections[number]
        cdef Py_ssize_t met = -1
        if section.status == DONE:
            met = _meeting(section, self.position, self.at_start)
            while met < 0 and self.position < section.positions[section.kept - 1]:
                self.encode_again(worker, self.position + 1)   # one pre-token or special token further
                met = _meeting(section, self.position, self.at_start)
        if met >= 0:
            self.join_own(worker, waiting)
            self.gather.put(made, section.counts[met])
            self.position, self.at_start = section.end, section.at_start
        else:
            self.gather.put(made, made.used)       # none of them
        if self.position < section.stop:           # not met, or the section did not come so far
            self.encode_again(worker, section.stop)
        return self.join_own(worker, waiting)

    cdef int join_own(self, Worker worker, list waiting) except -1:
        cdef SectionIds own
        if worker.used:
            own = taken(worker)
            waiting.append(own)
            self.gather.put(own, 0)
        return 0

    cdef int encode_again(self, Worker worker, Py_ssize_t stop) except -1:
        cdef text_stretch again
        again.start, again.stop, again.behind = self.position, stop, self.view.length
        worker.at_start = self.at_start
        encode_checked(worker, self.specials, self.text, &self.view, &again)
        self.position, self.at_start = again.end, worker.at_start
        return 0


cdef void _encode_section(_Section section, Worker worker, Specials specials, const text_view* view) noexcept nogil:
    """Encode a section, at first from each end that it keeps to the next one."""
    cdef text_stretch stretch
    cdef Py_ssize_t step
    section.kept = 0
    section.status = DONE
    section.end = stretch.start = section.start
    stretch.behind = READ_ON
    worker.at_start = worker.core.prefixed and section.start == 0
    for step in range(MEETINGS):
        section.positions[section.kept] = section.end
        section.counts[section.kept] = worker.used
        section.at_starts[section.kept] = worker.at_start
        section.kept += 1
        stretch.stop = section.stop
        if step < MEETINGS - 1:
            stretch.stop = min(section.stop, max(section.start + (FIRST_MEETING << step), section.end + 1))
        section.status = encode_stretch(worker, specials, view, &stretch)
        section.end = stretch.start = stretch.end
        if section.status != DONE or section.end < stretch.stop or section.end >= section.stop:
            break
    section.at_start = worker.at_start


cdef Py_ssize_t _meeting(_Section section, Py_ssize_t position, bint at_start) noexcept:
    """The index of the kept end at a position, or -1."""
    cdef Py_ssize_t i
    for i in range(section.kept):
        if section.positions[i] == position and section.at_starts[i] == at_start:
            return i
    return -1


cdef int encode_long(Encoder encoder, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1:
    cdef _Text job
    cdef IdMemory made
    cdef text_view view
    view_text(text, &view)
    if not encoder.compiled or view.length < ALONE:
        return encoder.encode(worker, text, specials)
    job = _Text()
    job.encoder, job.text, job.view, job.specials = encoder, text, view, specials
    threads = worthwhile(threads, view.length)
    job.at_start = encoder.core.prefixed
    job.cut(threads)
    job.gather = Gather(guess_ids(&view))
    job.run(worker, threads)
    made = job.gather.finish()
    bp_free(worker.out)
    worker.out, worker.used, worker.capacity = made.ids, made.used, made.used
    made.ids = NULL
    return 0
