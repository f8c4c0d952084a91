"""What every kernel is made of, and the only place with LLVM.

arrays.py    the types of the arrays that kernels take: one vocabulary for the whole package
buffers.py   arrays that grow while kernels write to them
slots.py     slots of arrays that are taken and given back
threads.py   how many threads share the work of a call
compiled.py  how kernels are compiled: those that Python calls, and those that only kernels call
simd.py      instructions that Numba does not offer: prefetch, bits, moves of sixteen elements
blocks.py    eight borders or boxes compared at once

Modules are imported by name: `arrays` needs NumPy alone, and who needs no kernel loads no compiler.
"""
