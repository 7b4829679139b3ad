"""Many texts at once."""

# The error of text i of n, to be raised.
cdef object of_text(object error, Py_ssize_t i, Py_ssize_t n)
