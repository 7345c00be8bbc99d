"""Plain NumPy twins of the compiled kernels: the same law from the same stream, written to be read.

One module a kernel, of the same name. Tests compare them draw by draw; nothing else but the benchmarks uses them.
Arguments and results are those of the kernel's function of the same name.
"""
