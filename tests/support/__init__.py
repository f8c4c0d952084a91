"""What tests share. The oracle, `tests/reference.py`, is not here: it imports nothing of ours."""
