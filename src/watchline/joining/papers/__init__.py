"""`indexed.py`: SJ-Join as the paper has it, and its rival IBS-JS."""
