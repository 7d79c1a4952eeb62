"""Measures: what memory recalls, how long things take, and what the first day costs. No test asserts them."""
