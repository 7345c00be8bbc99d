# cython: language_level=3
"""NumPy's C interface to the bit generator of a Generator. Hold ``rng.bit_generator.lock`` while using the pointer."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport fmax
from numpy.random cimport bitgen_t


cdef inline bitgen_t *c_bitgen(object rng) except NULL:
    return <bitgen_t *> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")


cdef inline double c_uniform(bitgen_t *bits) noexcept nogil:
    return bits.next_double(bits.state)


cdef inline double c_open(bitgen_t *bits) noexcept nogil:
    """Return a uniform number that is never 0."""
    return fmax(c_uniform(bits), 5.5511151231257827e-17)
