"""Answers that owe nothing to the code under test."""
