"""`diff.py`: DiffRmq, the rival of BMQ-Index, which searches both values and subtracts."""
