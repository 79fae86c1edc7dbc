"""What matrix units would give: products of bfloat16 numbers with sums in float32.

    python -m benchmarks.matrix_units speed      # one kernel, the normaliser, against torch
    python -m benchmarks.matrix_units costs      # what the rounding does to scores and winners

A weight is rounded to bfloat16 once; an activation is split into two bfloat16 parts, high and low,
so that two products of the units give what one in float32 gives. docs/performance.md has the
figures and what was decided.
"""
