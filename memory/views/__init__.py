"""Thin views of the memory pages: guard, load, act, render one template."""
