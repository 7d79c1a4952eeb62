"""Thin views over the chat's functions: guard, load, act, render one template."""
